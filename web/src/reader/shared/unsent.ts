/** A place that could not be sent, as it is kept on this device. */
export interface Unsent {
  sent: unknown
  basedOn: string | null
}

/** Whose place in which book: the next person at this device must not send it as theirs. */
export interface UnsentOf {
  userId: string | null
  bookId: string
}

const keyOf = ({ userId, bookId }: UnsentOf) => `carrel.unsent.${userId}.${bookId}`

/** Keeps a place over the end of the page; null forgets it. Storage may be refused: then it is lost with the page. */
export function keepUnsent(of: UnsentOf, unsent: Unsent | null): void {
  try {
    if (unsent) localStorage.setItem(keyOf(of), JSON.stringify(unsent))
    else localStorage.removeItem(keyOf(of))
  } catch {}
}

/** The kept place of a user in a book; null without one, or for what no version of this program wrote. */
export function findUnsent(of: UnsentOf): Unsent | null {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(keyOf(of)) ?? 'null')
    return typeof value === 'object' && value !== null && 'sent' in value && 'basedOn' in value ? (value as Unsent) : null
  } catch {
    return null
  }
}
