export type NormalForm = 'NFC' | 'NFD' | 'NFKC' | 'NFKD'

/**
 * How many marks may follow one letter: the bound of Unicode's Stream-Safe Text Format (UAX #15, section 13). No writing has more than about 18; and
 * to put a run of marks in order takes a time that grows with its square, in every engine and in databases.
 */
export const MARKS_IN_A_ROW_MAX = 30

/** Runs of marks, and of the two halfwidth signs that normalization turns into marks. Shorter runs need no check. */
const MARKS = /[\p{M}\uff9e\uff9f]+/gu
const ASCII = /^[\0-\x7f]*$/

/** The first `max` UTF-16 units of a text, one less where that would leave half a character. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max)
}

/** A text without the marks that follow `MARKS_IN_A_ROW_MAX` others: what is left can be normalized in linear time, here and in a database. */
export function boundMarks(text: string): string {
  if (ASCII.test(text)) return text
  return text.replace(MARKS, (run) => (run.length > MARKS_IN_A_ROW_MAX ? firstCharacters(run, MARKS_IN_A_ROW_MAX) : run))
}

/** Some marks are two UTF-16 units long. */
function firstCharacters(run: string, count: number): string {
  let end = 0
  for (let left = count; left > 0 && end < run.length; left--) end += (run.codePointAt(end) as number) > 0xffff ? 2 : 1
  return run.slice(0, end)
}

/**
 * The first `max` UTF-16 units of a text in a normal form of Unicode, in linear time: cuts first, never inside a character, and bounds the marks.
 * Expanding forms make it longer than `max`, at most 18 times. To tell a text that is too long from one that fits, ask for one unit more than fits.
 */
export function normalizeText(text: string, max: number, form: NormalForm = 'NFC'): string {
  const start = cutText(text, max)
  return ASCII.test(start) ? start : boundMarks(start).normalize(form)
}
