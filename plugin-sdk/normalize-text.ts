export type NormalForm = 'NFC' | 'NFD' | 'NFKC' | 'NFKD'

/**
 * Maximum number of marks after one letter: the limit of Unicode's Stream-Safe Text Format (UAX #15, section 13). No script has more than about 18,
 * and sorting a sequence of marks takes quadratic time, in every engine and in databases.
 */
export const MARKS_IN_A_ROW_MAX = 30

/** Runs of marks, and of the two halfwidth signs that normalization turns into marks. Shorter runs need no check. */
const MARKS = /[\p{M}\uff9e\uff9f]+/gu
const ASCII = /^[\0-\x7f]*$/

/** The first `max` UTF-16 units of a text, or one less to avoid splitting a character. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max)
}

/** A text without the marks that follow `MARKS_IN_A_ROW_MAX` others: the rest can be normalized in linear time, here and in a database. */
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
 * The first `max` UTF-16 units of a text in a normal form of Unicode, in linear time: truncates first, never inside a character, and limits the marks.
 * Expanding forms make it longer than `max`, at most 18 times. To detect a text that is too long, request one unit more than the limit.
 */
export function normalizeText(text: string, max: number, form: NormalForm = 'NFC'): string {
  const start = cutText(text, max)
  return ASCII.test(start) ? start : boundMarks(start).normalize(form)
}
