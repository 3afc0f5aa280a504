/** Letters that are written from right to left, and the characters that set a direction (Unicode Standard Annex 9). */
const DIRECTED = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
/** One that is not closed, or closes what it did not open, would reach beyond the value. */
const ISOLATES = /[\u2066-\u2069]/g

/** Titles and names in a sentence do not change the order of its other words. What cannot do so, as most names, stays as it is. @param of.isRightToLeft the sentence is */
export function isolate(value: string, { isRightToLeft }: { isRightToLeft: boolean }): string {
  if (!isRightToLeft && !DIRECTED.test(value)) return value
  return `\u2068${value.replace(ISOLATES, '')}\u2069`
}
