import { type Caller, progressUserId } from '#core/account/caller.ts'
import { noteAverages } from '#core/catalog/list-state-query.ts'
import { readSort, type Sort } from '#core/foundation/sort.ts'
import { type ListPart, type Order, shuffled, type Terms } from '#core/paging/list-order.ts'

type SeriesSortField = 'name' | 'created' | 'updated' | 'books' | 'read' | 'released' | 'rated' | 'community' | 'external' | 'shuffled'

const SERIES_SORT_NAMES: Record<string, SeriesSortField> = {
  name: 'name',
  date_added: 'created',
  created_at: 'created',
  date_updated: 'updated',
  updated_at: 'updated',
  book_count: 'books',
  date_read: 'read',
  release_date: 'released',
  year: 'released',
  rating: 'rated',
  user_rating: 'rated',
  community_rating: 'community',
  avg_rating: 'community',
  external_rating: 'external',
}

/** Fields that are columns of series, each with an index. */
const COLUMNS: Partial<Record<SeriesSortField, string>> = {
  name: 'series.sort_key',
  created: 'series.created_at',
  updated: 'series.updated_at',
}

/** A value of another table, for the series that have one: a row of the table, and the same as an expression. Each has an index in this order. */
interface Joined {
  table: string
  column: string
  /** The user whose rows count. */
  of?: 'progress' | 'caller'
}

const JOINED: Partial<Record<SeriesSortField, Joined>> = {
  books: { table: 'series_numbers', column: 'book_count' },
  community: { table: 'series_numbers', column: 'community_rating' },
  external: { table: 'series_numbers', column: 'external_rating' },
  read: { table: 'series_reading', column: 'read_at', of: 'progress' },
  released: { table: 'series_metadata', column: 'year' },
  rated: { table: 'series_user_ratings', column: 'rating', of: 'caller' },
}

export type SeriesSort = Sort<SeriesSortField>

export const DEFAULT_SERIES_SORT: SeriesSort = { field: 'name', direction: 'asc' }

/** Every accepted spelling of a sort field. */
export const SERIES_SORT_FIELDS = Object.keys(SERIES_SORT_NAMES)

/** Null if absent. @throws invalid_request for an unknown field */
export const readSeriesSort = (text: string | undefined): SeriesSort | null =>
  text?.trim() ? readSort<SeriesSortField>(text, SERIES_SORT_NAMES, DEFAULT_SERIES_SORT) : null

/** Whether the order is one of kept numbers, which must be computed first where they are due. */
export const usesNumbers = ({ field }: SeriesSort): boolean => ['series_numbers', 'series_reading'].includes(JOINED[field]?.table ?? '')

/** Whether the order is by what belongs to the caller. */
export const isOwnOrder = ({ field }: SeriesSort): boolean => JOINED[field]?.of !== undefined

/** Whether the order is by averages of ratings of all users. */
export const isAverageOrder = ({ field }: SeriesSort): boolean => field === 'community'

const userOf = (caller: Caller, { of }: Joined): string[] =>
  of === undefined ? [] : [(of === 'progress' ? progressUserId(caller) : caller.userId) as string]

const turnOf = ({ direction }: SeriesSort) => (direction === 'asc' ? 'ASC' : 'DESC')

/** The terms of an ORDER BY, for any query of series. */
export function termsOfSeries(caller: Caller, sort: SeriesSort): Terms {
  if (isAverageOrder(sort)) noteAverages()
  const turn = turnOf(sort)
  const joined = JOINED[sort.field]
  if (joined === undefined) return { terms: [`${COLUMNS[sort.field] ?? 'series.id'} ${turn}`, `series.id ${turn}`] }
  const { table, column, of } = joined
  const value = `(SELECT v.${column} FROM ${table} v WHERE v.series_id = series.id${of === undefined ? '' : ' AND v.user_id = ?'})`
  return { terms: [`${value} ${turn} NULLS LAST`, `series.id ${turn}`], bindings: userOf(caller, joined) }
}

/** The order of a list of series. */
export function orderOfSeries(caller: Caller, sort: SeriesSort): Order | ((total: number) => Order) {
  if (sort.field === 'shuffled') return shuffled('series', 'series.id')
  if (isAverageOrder(sort)) noteAverages()
  const direction = turnOf(sort)
  const column = COLUMNS[sort.field]
  if (column !== undefined) return [{ keys: [{ terms: [column, 'series.id'], direction }], from: { sql: 'series' } }]
  const joined = JOINED[sort.field] as Joined
  const bindings = userOf(caller, joined)
  const isOf = `v.series_id = series.id${joined.of === undefined ? '' : ' AND v.user_id = ?'}`
  const value = `v.${joined.column}`
  const withValue: ListPart = {
    narrow: (query) => query.joinRaw(`JOIN ${joined.table} v ON ${isOf} AND ${value} IS NOT NULL`, bindings),
    keys: [{ terms: [value, 'series.id'], direction }],
    from: { sql: `series JOIN ${joined.table} v ON ${isOf}`, bindings },
  }
  const others: ListPart = {
    narrow: (query) => query.whereRaw(`NOT EXISTS (SELECT 1 FROM ${joined.table} v WHERE ${isOf} AND ${value} IS NOT NULL)`, bindings),
    keys: [{ terms: ['series.id'], direction }],
    from: { sql: 'series' },
  }
  return [withValue, others]
}
