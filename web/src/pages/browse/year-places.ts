import type { BrowseKind } from './browse-address.ts'
import { roomOfRail } from './letter-places.ts'

/** A date that lists are sorted by. */
export interface SortDate {
  /** Its field in conditions. */
  field: string
  isYear: boolean
  isDescending: boolean
}

const FIELDS: Record<BrowseKind, Record<string, string>> = {
  series: { created_at: 'dateAdded', updated_at: 'updatedAt', year: 'year' },
  books: { created_at: 'dateAdded', release_date: 'releaseDate' },
}

/** The date of an order of the API that conditions know too; null for other orders. */
export function dateOfSort(kind: BrowseKind, sort: string): SortDate | null {
  const [by = '', direction] = sort.split(',')
  const field = Object.hasOwn(FIELDS[kind], by) ? FIELDS[kind][by] : undefined
  return field === undefined ? null : { field, isYear: field === 'year', isDescending: direction === 'desc' }
}

/** The condition of everything that stands before a year in a list: as many as it finds is where the year begins. */
export function beforeYear({ field, isYear, isDescending }: SortDate, year: number): Record<string, unknown> {
  if (isYear) return { year: { operator: isDescending ? 'gt' : 'lt', value: year } }
  return isDescending
    ? { [field]: { operator: 'onOrAfter', value: dayOf(year + 1) } }
    : { [field]: { operator: 'before', value: dayOf(year) } }
}

const dayOf = (year: number): string => `${String(year).padStart(4, '0')}-01-01`

/** Years in the order of a list; of more than fit, every second, third… @param years any order @param windowHeight in CSS pixels */
export function yearsOfRail(years: readonly number[], isDescending: boolean, windowHeight: number): number[] {
  const known = [...new Set(years)].filter((year) => Number.isInteger(year) && year > 0 && year < 10_000)
  const ordered = known.sort((a, b) => (isDescending ? b - a : a - b))
  const step = Math.ceil(ordered.length / roomOfRail(windowHeight))
  return ordered.filter((_, at) => at % step === 0)
}
