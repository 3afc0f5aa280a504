/** An age rule as a setting has it. */
export interface ListedAge {
  mode: 'up_to' | 'not_from'
  years: number
  /** Absent: as the mode has it. */
  unrated?: 'show' | 'hide'
}

const AGE = /^(up|not)[ _](to|from) (\d{1,2})(?:,? unrated (show|hide))?$/i

/** Reads "up to 12" or "not from 18", with ", unrated show" or ", unrated hide" if wanted; null for an empty text. */
export function readAge(text: string): ListedAge | null {
  const [, kind, preposition, years, unrated] = AGE.exec(text.trim()) ?? []
  const mode = `${kind}_${preposition}`.toLowerCase()
  if (mode !== 'up_to' && mode !== 'not_from') return null
  const age = { mode, years: Number(years) } as const
  return unrated === undefined ? age : { ...age, unrated: unrated.toLowerCase() === 'show' ? 'show' : 'hide' }
}

export const checkAge = (text: string): string | null =>
  text === '' || readAge(text) !== null
    ? null
    : 'must be empty, or an age rule such as "up to 12" or "not from 18, unrated hide", with an age from 0 to 99'
