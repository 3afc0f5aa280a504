import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import { seesWholePaths } from '#core/account/path-view.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { Fragment } from '#core/catalog/filter-query.ts'
import { found, rankedOrder } from '#core/catalog/search-query.ts'
import { type Series, seriesFolder } from '#core/catalog/series.ts'
import { type IdPage, type OrderTerm, pageOfIds, SHUFFLED } from '#core/database/id-page-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { readSort, type Sort } from '#core/foundation/sort.ts'
import { READING_ORDER } from '#core/metadata/reading-order.ts'

interface SeriesRow {
  id: string
  library_id: string
  library_name: string
  library_path: string
  path: string
  title: string
  title_sort: string | null
  book_count: string | number
  unread_count: string | number
  max_volume: number | null
  max_chapter: string | number | null
  volumes_owned: string | number
  summary: string | null
  publisher: string | null
  year: number | null
  cover_source: string | null
  created_at: Date
  updated_at: Date
}

/** Written exactly as in the index series_order. */
const NAME = 'coalesce(series.title_sort, series.title) COLLATE carrel_natural'
/** The existing books; includes the library because the index books_present begins with it. */
const PRESENT_BOOKS = 'FROM books WHERE books.library_id = series.library_id AND books.series_id = series.id AND books.deleted_at IS NULL'
/** A series without existing books would be an empty shelf; lists omit it. */
export const HAS_BOOKS = `EXISTS (SELECT 1 ${PRESENT_BOOKS})`
const BOOK_COUNT = `(SELECT count(*) ${PRESENT_BOOKS})`

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

/** The sort expressions. All but the name may be null, and nulls come last. */
const SERIES_ORDER: Record<SeriesSortField, string> = {
  name: NAME,
  created: 'series.created_at',
  updated: 'series.updated_at',
  books: BOOK_COUNT,
  read: `(SELECT max(p.updated_at) FROM read_progress p JOIN books ON books.id = p.book_id
    WHERE p.user_id = ? AND books.series_id = series.id)`,
  released: '(SELECT m.year FROM series_metadata m WHERE m.series_id = series.id)',
  rated: '(SELECT r.rating FROM series_user_ratings r WHERE r.series_id = series.id AND r.user_id = ?)',
  community: '(SELECT avg(r.rating) FROM series_user_ratings r WHERE r.series_id = series.id)',
  external: '(SELECT avg(r.rating) FROM series_external_ratings r WHERE r.series_id = series.id)',
  shuffled: SHUFFLED('series.id'),
}
/** Columns with an index, whose order of nulls applies. */
const NEVER_NULL = new Set<SeriesSortField>(['name', 'created', 'updated', 'books', 'shuffled'])

export type SeriesSort = Sort<SeriesSortField>

const DEFAULT_SORT: SeriesSort = { field: 'name', direction: 'asc' }

/** Null if absent. @throws invalid_request for an unknown field */
export const readSeriesSort = (text: string | undefined): SeriesSort | null =>
  text?.trim() ? readSort<SeriesSortField>(text, SERIES_SORT_NAMES, DEFAULT_SORT) : null

export interface SeriesFilter {
  libraryId?: string | undefined
  /** Only series of which the caller has begun but not finished the existing books. */
  inProgress?: boolean | undefined
  /** Only series that the caller wants to read. */
  wanted?: boolean | undefined
  /** Names of genres and tags; the series must have all of them. */
  genres?: readonly string[] | undefined
  tags?: readonly string[] | undefined
  /** Of a list request; compiled. */
  condition?: Fragment | undefined
  /** Words that the series or its people must contain. */
  search?: string | null | undefined
}

function matchesSeries(filter: SeriesFilter, caller: Caller): (query: Knex.QueryBuilder) => void {
  return (query) => {
    if (filter.libraryId !== undefined) query.where('series.library_id', filter.libraryId)
    if (filter.condition) query.whereRaw(filter.condition.sql, filter.condition.bindings as Knex.RawBinding[])
    if (filter.search) query.modify(found('series', filter.search))
    for (const kind of ['genre', 'tag'] as const) {
      for (const name of filter[`${kind}s`] ?? []) {
        query.whereRaw(
          `EXISTS (SELECT 1 FROM series_${kind}s x JOIN ${kind}s n ON n.id = x.${kind}_id WHERE x.series_id = series.id AND lower(n.name) = lower(?))`,
          [name],
        )
      }
    }
    if (filter.wanted) query.whereRaw('series.id IN (SELECT w.series_id FROM want_to_read w WHERE w.user_id = ?)', [progressUserId(caller)])
    if (filter.inProgress) {
      query
        .whereRaw(
          `series.id IN (SELECT books.series_id FROM read_progress p JOIN books ON books.id = p.book_id
             WHERE p.user_id = ? AND books.deleted_at IS NULL)`,
          [progressUserId(caller)],
        )
        .whereRaw(
          `EXISTS (SELECT 1 ${PRESENT_BOOKS}
             AND NOT EXISTS (SELECT 1 FROM read_progress p WHERE p.book_id = books.id AND p.user_id = ? AND p.completed))`,
          [progressUserId(caller)],
        )
    }
  }
}

/** The order of any query of series. */
export function seriesOrder(caller: Caller, { field, direction }: SeriesSort): { terms: OrderTerm[]; bindings: (string | null)[] } {
  const turn = direction === 'asc' ? 'ASC' : 'DESC'
  const expression = SERIES_ORDER[field]
  const terms = [`${expression} ${turn}${NEVER_NULL.has(field) ? '' : ' NULLS LAST'}`, `series.id ${turn}`]
  return { terms, bindings: expression.includes('?') ? [field === 'read' ? progressUserId(caller) : caller.userId] : [] }
}

interface SeriesList {
  filter: SeriesFilter
  /** Null: the best match first in a search, otherwise by name. */
  sort: SeriesSort | null
  offset: number
  limit: number
}

/** One page of the series that the caller may see, and the total. */
export async function listSeries(database: Knex, caller: Caller, list: SeriesList): Promise<{ items: Series[]; total: number }> {
  return await pageOfSeries(database, caller, seriesPage(database, caller, list))
}

/** Like {@link listSeries}, but only the ids. */
export async function listIdsOfSeries(database: Knex, caller: Caller, list: SeriesList): Promise<IdPage> {
  return await pageOfIds(database, seriesPage(database, caller, list))
}

function seriesPage(database: Knex, caller: Caller, list: SeriesList): Parameters<typeof pageOfIds>[1] {
  const { filter } = list
  const matching = database('series')
    .modify(visibleTo(caller, 'series.id'))
    .whereRaw(HAS_BOOKS)
    .modify(matchesSeries(filter, caller))
    .select('series.id')
  const sorted = seriesOrder(caller, list.sort ?? DEFAULT_SORT)
  const order = list.sort === null && filter.search ? rankedOrder('series', filter.search, sorted.terms) : sorted
  return { matching, order, offset: list.offset, limit: list.limit }
}

/**
 * One page of any list of series.
 * @param list.matching selects `id` of the series, all visible to the caller
 */
export async function pageOfSeries(
  database: Knex,
  caller: Caller,
  list: Parameters<typeof pageOfIds>[1],
): Promise<{ items: Series[]; total: number }> {
  const { ids, total } = await pageOfIds(database, list)
  const series = await readSeriesRecords(database, caller, ids)
  return { items: ids.flatMap((id) => series.get(id) ?? []), total }
}

/** Those of the series that the caller may see, in the order of the ids. @param ids at most a page of a list */
export async function listSeriesByIds(database: Knex, caller: Caller, ids: readonly string[]): Promise<Series[]> {
  if (ids.length === 0) return []
  const rows = (await selectSeries(database, caller)
    .whereRaw('series.id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .whereRaw(HAS_BOOKS)
    .modify(visibleTo(caller, 'series.id'))) as SeriesRow[]
  const series = new Map(rows.map((row) => [row.id, seriesOf(row, caller)]))
  return ids.flatMap((id) => series.get(id) ?? [])
}

/** Series by id, in no particular order. The caller must have checked that they are visible. */
export async function readSeriesRecords(database: Knex, caller: Caller, ids: readonly string[]): Promise<Map<string, Series>> {
  if (ids.length === 0) return new Map()
  const rows = (await selectSeries(database, caller).whereRaw('series.id = ANY(CAST(? AS uuid[]))', [[...ids]])) as SeriesRow[]
  return new Map(rows.map((row) => [row.id, seriesOf(row, caller)]))
}

/**
 * How many series begin with each letter (in lower case) or digit, among those that a list request would return. All other initials are under "#",
 * ignoring accents; groups come in order, "#" first.
 */
export async function listAlphabeticalGroups(
  database: Knex,
  caller: Caller,
  filter: SeriesFilter,
): Promise<{ group: string; count: number }[]> {
  const initials = database('series')
    .modify(visibleTo(caller, 'series.id'))
    .whereRaw(HAS_BOOKS)
    .modify(matchesSeries(filter, caller))
    .select(
      database.raw(`substr(lower(carrel_fold(ltrim(coalesce(series.title_sort, series.title)))), 1, 1) COLLATE "und-x-icu" AS initial`),
    )
  const rows = await database
    .from(initials.as('initials'))
    .select(database.raw(`CASE WHEN initial ~ '[[:alpha:]]' THEN initial ELSE '#' END AS "group"`))
    .count({ count: '*' })
    .groupBy(1 as never)
  return (rows as { group: string; count: string | number }[])
    .map(({ group, count }) => ({ group, count: Number(count) }))
    .sort((a, b) => (a.group === '#' ? -1 : b.group === '#' ? 1 : a.group.localeCompare(b.group)))
}

/** A series by id, also one without existing books. @throws not_found when it does not exist or the caller may not see it */
export async function getSeries(database: Knex, caller: Caller, seriesId: string): Promise<Series> {
  const [row] = (await selectSeries(database, caller).where('series.id', seriesId).modify(visibleTo(caller, 'series.id'))) as SeriesRow[]
  return row ? seriesOf(row, caller) : refuse('not_found', `There is no series ${seriesId}, or you may not see it.`)
}

/** The book whose cover represents the series: the first in reading order that has one; null when none has. @throws not_found */
export async function findSeriesCoverBook(database: Knex, caller: Caller, seriesId: string): Promise<string | null> {
  const series = await database('series').where('series.id', seriesId).modify(visibleTo(caller, 'series.id')).first('id')
  if (!series) refuse('not_found', `There is no series ${seriesId}, or you may not see it.`)
  const book = await database('books')
    .where('books.series_id', seriesId)
    .whereNotNull('books.cover_hash')
    .whereNull('books.deleted_at')
    .orderByRaw(READING_ORDER)
    .first('id')
  return book?.id ?? null
}

/** Series with the columns of {@link SeriesRow}: aggregates over the books are computed once per returned series, in the same statement. */
function selectSeries(database: Knex, caller: Caller): Knex.QueryBuilder {
  return database('series')
    .join('libraries', 'libraries.id', 'series.library_id')
    .joinRaw(
      `CROSS JOIN LATERAL (SELECT count(*) AS book_count,
         count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM read_progress p WHERE p.book_id = books.id AND p.user_id = ? AND p.completed))
           AS unread_count,
         max(books.volume) AS max_volume, max(books.chapter) AS max_chapter,
         count(DISTINCT books.volume) AS volumes_owned
       ${PRESENT_BOOKS}) AS owned`,
      [progressUserId(caller)],
    )
    .leftJoin('series_metadata', 'series_metadata.series_id', 'series.id')
    .joinRaw('LEFT JOIN covers ON covers.series_id = series.id AND covers.is_selected')
    .select(
      ...['id', 'library_id', 'path', 'title', 'title_sort', 'created_at', 'updated_at'].map((column) => `series.${column}`),
      'libraries.name AS library_name',
      'libraries.path AS library_path',
      ...['book_count', 'unread_count', 'max_volume', 'max_chapter', 'volumes_owned'].map((column) => `owned.${column}`),
      ...['summary', 'publisher', 'year'].map((column) => `series_metadata.${column}`),
      'covers.source AS cover_source',
    )
}

function seriesOf(row: SeriesRow, caller: Caller): Series {
  return {
    id: row.id,
    libraryId: row.library_id,
    libraryName: row.library_name,
    title: row.title,
    titleSort: row.title_sort,
    summary: row.summary,
    publisher: row.publisher,
    year: row.year,
    path: seesWholePaths(caller) ? seriesFolder({ libraryPath: row.library_path, seriesPath: row.path }) : row.path,
    bookCount: Number(row.book_count),
    unreadCount: progressUserId(caller) === null ? null : Number(row.unread_count),
    localMaxVolume: row.max_volume,
    localMaxChapter: row.max_chapter === null ? null : Number(row.max_chapter),
    volumesOwned: Number(row.volumes_owned),
    hasCustomCover: row.cover_source !== null,
    selectedCoverSource: row.cover_source,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
