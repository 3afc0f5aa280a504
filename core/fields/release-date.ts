interface KnownDate {
  year: number | null
  month: number | null
  day: number | null
}

/** The date of publication, as precise as known: `2019`, `2019-07` or `2019-07-24`; null without a valid year. */
export function issuedOf({ year, month, day }: KnownDate): string | null {
  if (year === null || year < 1 || year > 9999) return null
  const start = String(year).padStart(4, '0')
  if (month === null || month < 1 || month > 12) return start
  const upToMonth = `${start}-${String(month).padStart(2, '0')}`
  if (day === null || day < 1 || day > daysOf(year, month)) return upToMonth
  return `${upToMonth}-${String(day).padStart(2, '0')}`
}

/** The first day of a date from {@link issuedOf}, for clients that need a complete date. */
export function dayOf(issued: string): string {
  return issued + '-01-01'.slice(issued.length - 'yyyy'.length)
}

/** Whether a day exists in its month. Without a year, February 29 is accepted; a day without a month is checked once it has one. */
export function isPossibleDate({ year, month, day }: { readonly [Part in keyof KnownDate]?: unknown }): boolean {
  if (typeof day !== 'number' || typeof month !== 'number') return true
  return day <= daysOf(typeof year === 'number' ? year : LEAP_YEAR, month)
}

const LEAP_YEAR = 2000

/** The number of days in a month; months count from 1. */
function daysOf(year: number, month: number): number {
  // The day before the first of the next month. Set separately, because Date.UTC takes years below 100 as years of the twentieth century.
  const last = new Date(0)
  last.setUTCFullYear(year, month, 0)
  return last.getUTCDate()
}
