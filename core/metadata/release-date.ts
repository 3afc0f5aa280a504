interface KnownDate {
  year: number | null
  month: number | null
  day: number | null
}

/** When a book came out, as exact as it is known: `2019`, `2019-07` or `2019-07-24`; null without a year that dates have. */
export function issuedOf({ year, month, day }: KnownDate): string | null {
  if (year === null || year < 1 || year > 9999) return null
  const start = String(year).padStart(4, '0')
  if (month === null || month < 1 || month > 12) return start
  const upToMonth = `${start}-${String(month).padStart(2, '0')}`
  if (day === null || day < 1 || day > daysOf(year, month)) return upToMonth
  return `${upToMonth}-${String(day).padStart(2, '0')}`
}

/** The first day of what {@link issuedOf} gave, for those who want a whole date. */
export function dayOf(issued: string): string {
  return issued + '-01-01'.slice(issued.length - 'yyyy'.length)
}

/** Whether a day exists in its month. Without a year the 29th of February may be one, and a day without a month is checked when it has one. */
export function isPossibleDate({ year, month, day }: { readonly [Part in keyof KnownDate]?: unknown }): boolean {
  if (typeof day !== 'number' || typeof month !== 'number') return true
  return day <= daysOf(typeof year === 'number' ? year : LEAP_YEAR, month)
}

const LEAP_YEAR = 2000

/** Of a month from 1. */
function daysOf(year: number, month: number): number {
  // The day before the first of the next month; years below 100 are set apart, where Date means the twentieth century.
  const last = new Date(0)
  last.setUTCFullYear(year, month, 0)
  return last.getUTCDate()
}
