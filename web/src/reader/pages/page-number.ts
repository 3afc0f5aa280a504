/** The page that somebody typed, moved into the book; null for what is no number. "46–47", as the box shows it, is 46. */
export function readPageNumber(typed: string, total: number): number | null {
  const [, digits] = /^\s*(\d{1,9})/.exec(typed) ?? []
  return digits === undefined ? null : Math.min(total, Math.max(1, Number(digits)))
}
