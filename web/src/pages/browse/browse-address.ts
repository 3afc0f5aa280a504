import type { BrowseView } from './row-layout.ts'

export type BrowseKind = 'series' | 'books'
export type Reading = 'all' | 'unread' | 'in_progress' | 'read'

/** What of a list is shown and how, as the address of the page says. */
export interface BrowseAddress {
  view: BrowseView
  /** Index of COVER_WIDTHS. */
  size: number
  sort: string
  /** Of the table, by names; null for the usual ones. */
  columns: string | null
  show: Reading
  /** Each value of these restricts the list further. */
  genre: string | null
  tag: string | null
  person: string | null
  publisher: string | null
  language: string | null
  format: string | null
  year: string | null
  /** A list that is no filter: books that are on deck. */
  shelf: 'on-deck' | null
  /** Text to look for. */
  q: string | null
  /** A condition of the API, as JSON. */
  where: string | null
}

/** Values of an address; null takes one away. */
export type AddressChange = Partial<Record<keyof BrowseAddress, string | null>>

export const SERIES_SORTS = [
  'name,asc',
  'name,desc',
  'created_at,desc',
  'created_at,asc',
  'updated_at,desc',
  'updated_at,asc',
  'date_read,desc',
  'year,desc',
  'year,asc',
  'book_count,desc',
  'book_count,asc',
  'user_rating,desc',
] as const
export const BOOK_SORTS = [
  'title,asc',
  'title,desc',
  'series,asc',
  'series,desc',
  'created_at,desc',
  'created_at,asc',
  'last_read,desc',
  'last_read,asc',
  'release_date,desc',
  'release_date,asc',
  'page_count,desc',
  'page_count,asc',
  'file_size,desc',
  'file_size,asc',
] as const

export const sortsOf = (kind: BrowseKind): readonly string[] => (kind === 'series' ? SERIES_SORTS : BOOK_SORTS)

const FORMATS = ['cbz', 'cbr', 'epub', 'pdf']
const READINGS: readonly Reading[] = ['all', 'unread', 'in_progress', 'read']
const VIEWS: readonly BrowseView[] = ['grid', 'list', 'table']
const SIZES = ['0', '1', '2', '3']
const SIZE_DEFAULT = '2'
/** The longest text that the API takes as a value of a filter. */
const TEXT_MAX = 500

/** Years as addresses have them: of four digits at most, as no work is from another time. */
export const isYear = (text: string): boolean => /^\d{1,4}$/.test(text)

/** Reads an address; what is missing or not understood has its usual value. */
export function readBrowseAddress(kind: BrowseKind, search: string): BrowseAddress {
  const said = new URLSearchParams(search)
  const one = <T extends string>(name: string, known: readonly T[], otherwise: T): T =>
    known.find((each) => each === said.get(name)) ?? otherwise
  const text = (name: string) => said.get(name)?.slice(0, TEXT_MAX).trim() || null
  const year = text('year')
  return {
    view: one('view', VIEWS, 'grid'),
    size: Number(one('size', SIZES, SIZE_DEFAULT)),
    sort: one('sort', sortsOf(kind), sortsOf(kind)[0]!),
    columns: text('columns'),
    show: one('show', READINGS, 'all'),
    ...{
      genre: text('genre'),
      tag: text('tag'),
      person: text('person'),
      publisher: text('publisher'),
      language: text('language'),
      q: text('q'),
    },
    where: said.get('where'),
    year: year !== null && isYear(year) ? year : null,
    format: kind === 'books' ? one('format', ['', ...FORMATS], '') || null : null,
    shelf: kind === 'books' && said.get('shelf') === 'on-deck' ? 'on-deck' : null,
  }
}

/** The address with some values changed; usual values are left out. Keeps what it does not know. */
export function changeAddress(search: string, change: Partial<Record<keyof BrowseAddress | 'of', string | null>>): string {
  const said = new URLSearchParams(search)
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === '' || value === 'all') said.delete(name)
    else said.set(name, value)
  }
  const text = said.toString().replaceAll('%2C', ',')
  return text === '' ? '' : `?${text}`
}

/** Whether anything restricts the list. */
export const isFiltered = ({ show, genre, tag, person, publisher, language, format, year, q, where }: BrowseAddress): boolean =>
  show !== 'all' || [genre, tag, person, publisher, language, format, year, q, where].some((each) => each !== null)

/** A condition of the API: all of these hold. */
export interface AllOf {
  allOf: Record<string, unknown>[]
}

/** The filters of an address, whose `where` was understood, as a condition for series and books; null when there are none. @param libraryId null for all that the user sees */
export function conditionOf(address: BrowseAddress, libraryId: string | null): AllOf | null {
  const { show, genre, tag, person, publisher, language, format, year, where } = address
  const values = { libraryId, readStatus: show === 'all' ? null : show, genre, tag, person, publisher, language, format }
  const allOf = Object.entries(values).flatMap(([field, value]) =>
    value === null ? [] : [{ [field]: { operator: 'is', value } as const } as Record<string, unknown>],
  )
  if (year !== null) allOf.push({ year: { operator: 'eq', value: Number(year) } })
  if (where !== null) allOf.push(JSON.parse(where) as Record<string, unknown>)
  return allOf.length > 0 ? { allOf } : null
}
