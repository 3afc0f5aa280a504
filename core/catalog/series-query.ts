import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import { seesWholePaths } from '#core/account/path-view.ts'
import { readSight, viewerKey, visibilityOf, visibleInList, visibleSql, visibleTo } from '#core/account/visibility.ts'
import type { CompiledCondition } from '#core/catalog/filter-query.ts'
import { keptSeries } from '#core/catalog/kept-total-query.ts'
import { orderKey, readListState } from '#core/catalog/list-state-query.ts'
import { countOf, type ListTotal, totalOf } from '#core/catalog/list-total-query.ts'
import { countFew, foldedPattern, found, rankedOrder, type TitlePattern } from '#core/catalog/search-query.ts'
import { type Series, seriesFolder } from '#core/catalog/series.ts'
import { numbersOf, readingOf } from '#core/catalog/series-numbers-query.ts'
import { computeSeriesNumbers, computeSoon } from '#core/catalog/series-numbers-store.ts'
import {
  DEFAULT_SERIES_SORT,
  isAverageOrder,
  isOwnOrder,
  orderOfSeries,
  type SeriesSort,
  termsOfSeries,
  usesNumbers,
} from '#core/catalog/series-sort-query.ts'
import { shownCoverOf } from '#core/covers/current-cover.ts'
import { SERIES_COVER_JOIN, SHOWN_SERIES_COVER } from '#core/covers/current-cover-query.ts'
import { GIVEN_IDS } from '#core/database/known-ids-query.ts'
import { prepared } from '#core/database/prepared.ts'
import { readTogether } from '#core/database/read-together.ts'
import { select } from '#core/database/select.ts'
import { languageTag } from '#core/fields/language-tag.ts'
import { refuse } from '#core/foundation/errors.ts'
import { isoInstant } from '#core/foundation/instant.ts'
import { type IdList, type IdPage, pageOfRows } from '#core/paging/id-page-query.ts'
import { countByInitial, type InitialGroup } from '#core/paging/initial-groups-query.ts'
import type { ListPart } from '#core/paging/list-order.ts'
import type { ListState } from '#core/paging/list-state.ts'
import { type FoundPage, idsOfPage, pageOfMatches } from '#core/paging/match-page-query.ts'

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
  language: string | null
  cover: string | null
  cover_source: string | null
  /** Whether numbers were computed for this statement alone. */
  is_due: boolean
  created_at: string
  updated_at: string
}

/** The existing books of a series. */
const PRESENT_BOOKS = 'FROM books WHERE books.series_id = series.id AND books.deleted_at IS NULL'
/** A series without existing books would be an empty shelf; lists omit it. */
export const HAS_BOOKS = `EXISTS (SELECT 1 ${PRESENT_BOOKS})`

const PATTERN_TEXTS = { title: 'series.title_fold', titleSort: 'series.sort_key COLLATE "default"' } as const

/** Clients see whole seconds. */
const CHANGED = `date_trunc('second', series.updated_at) > date_trunc('second', series.created_at)`

type NameLists = readonly (readonly string[])[]

export interface SeriesFilter {
  libraryId?: string | undefined
  /** Only series of which the caller has begun but not finished the existing books. */
  inProgress?: boolean | undefined
  /** Only series that the caller wants to read. */
  wanted?: boolean | undefined
  /** Lists of names of genres and tags; the series must have all names of one of the lists. */
  genres?: NameLists | undefined
  tags?: NameLists | undefined
  /** Only series that have changed since they were added. */
  changed?: boolean | undefined
  /** Only series with a title, or a title to sort by, that matches a regular expression of {@link readTitlePattern}. */
  pattern?: TitlePattern | undefined
  /** Of a list request; compiled. */
  condition?: CompiledCondition | undefined
  /** Words that the series or its people must contain. */
  search?: string | null | undefined
}

function matchesSeries(filter: SeriesFilter, caller: Caller): (query: Knex.QueryBuilder) => void {
  return (query) => {
    if (filter.libraryId !== undefined) query.where('series.library_id', filter.libraryId)
    if (filter.condition) query.whereRaw(filter.condition.sql, filter.condition.bindings as Knex.RawBinding[])
    if (filter.search) query.modify(found('series', filter.search))
    if (filter.changed) query.whereRaw(CHANGED)
    if (filter.pattern) {
      const { sql, bindings } = foldedPattern(filter.pattern)
      query.whereRaw(`${PATTERN_TEXTS[filter.pattern.of]} ~* ${sql}`, bindings)
    }
    for (const kind of ['genre', 'tag'] as const) {
      const lists = filter[`${kind}s`] ?? []
      if (lists.length === 0) continue
      const has = `EXISTS (SELECT 1 FROM series_${kind}s x JOIN ${kind}s n ON n.id = x.${kind}_id WHERE x.series_id = series.id AND n.name_fold = carrel_fold(?))`
      query.whereRaw(`(${lists.map((names) => names.map(() => has).join(' AND ')).join(' OR ')})`, lists.flat())
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

interface SeriesList {
  filter: SeriesFilter
  /** Null: the best match first in a search, otherwise by name. */
  sort: SeriesSort | null
  offset: number
  limit: number
  /** If it was read already, before this list. */
  state?: ListState | undefined
  /** Of a search: the total is exact only while it is small. */
  few?: true
}

/** One page of the series that the caller may see, and the total. */
export async function listSeries(database: Knex, caller: Caller, list: SeriesList): Promise<{ items: Series[]; total: number }> {
  const found = await findPage(database, caller, list)
  if ('matches' in found) return await readPage(database, caller, await pageOfMatches(database, found.matches))
  return await pageOfSeries(database, caller, found.page, isPlain(list.filter))
}

/** Like {@link listSeries}, but only the ids. */
export async function listIdsOfSeries(database: Knex, caller: Caller, list: SeriesList): Promise<IdPage> {
  return await idsOfPage(database, await findPage(database, caller, list))
}

async function findPage(database: Knex, caller: Caller, list: SeriesList): Promise<FoundPage> {
  const { filter, offset, limit } = list
  const { condition, search } = filter
  const state = list.state ?? (await readListState(database, caller))
  const total = totalOfSeries(database, caller, state, filter)
  const sort = list.sort ?? DEFAULT_SERIES_SORT
  if (usesNumbers(sort)) await computeSeriesNumbers(database)
  const key = orderKey(caller, state, { total: total.key, sort, isOwn: isOwnOrder(sort), isAverage: isAverageOrder(sort) })
  const matching = selectMatching(database, caller, state, filter)
  const order = orderOfSeries(caller, sort)
  if (condition && !search && key !== undefined) {
    const whole = wholeOf(database, caller, state, filter)
    const parts = { part: (order as readonly ListPart[])[0] as ListPart, terms: termsOfSeries(caller, sort) }
    return { matches: { table: 'series', matching, whole, total, ...parts, offset, limit, key } }
  }
  const ranked = list.sort === null && search ? rankedOrder('series', search, termsOfSeries(caller, sort).terms) : order
  const count = list.few ? () => countFew(database, matching) : total.count
  return { page: { matching, total: total.known ?? count, beside: total.beside, order: ranked, offset, limit, key } }
}

const selectMatching = (database: Knex, caller: Caller, { sight }: ListState, filter: SeriesFilter): Knex.QueryBuilder =>
  database('series')
    .modify(visibleInList(readSight(sight), 'series'))
    .whereRaw(HAS_BOOKS)
    .modify(matchesSeries(filter, caller))
    .select('series.id')

const wholeOf = (database: Knex, caller: Caller, state: ListState, filter: SeriesFilter) =>
  selectMatching(database, caller, state, { ...filter, condition: filter.condition?.whole ?? filter.condition })

/** Whether a list is of all series, or all of a library. */
const isPlain = (filter: SeriesFilter): boolean =>
  Object.entries(filter).every(([name, value]) => name === 'libraryId' || !value || (Array.isArray(value) && value.length === 0))

function totalOfSeries(database: Knex, caller: Caller, state: ListState, filter: SeriesFilter): ListTotal {
  const { condition, ...plain } = filter
  const asksAboutCaller = filter.inProgress === true || filter.wanted === true
  const isKept = isPlain(filter)
  const total = isKept
    ? keptSeries(database, { sight: readSight(state.sight), libraryId: filter.libraryId })
    : countOf(database, wholeOf(database, caller, state, filter))
  return totalOf(database, caller, state, { of: 'series', filter: plain, condition, asksAboutCaller, isKept, total })
}

/**
 * One page of any list of series.
 * @param list.matching selects `id` of the series, all visible to the caller
 * @param isFixed whether the statement is one of few, so that it is worth preparing
 */
export async function pageOfSeries(
  database: Knex,
  caller: Caller,
  list: IdList,
  isFixed = false,
): Promise<{ items: Series[]; total: number }> {
  const { rows, total } = await pageOfRows<SeriesRow>(database, list, async (ids, total) => {
    const statement = database.raw(PAGE, [total, ids, progressUserId(caller)] as Knex.RawBinding[])
    return await runRows(database, isFixed ? prepared(statement) : statement)
  })
  return { items: rows.map((row) => seriesOf(row, caller)), total }
}

async function readPage(database: Knex, caller: Caller, { ids, total }: IdPage): Promise<{ items: Series[]; total: number }> {
  const series = await readSeriesRecords(database, caller, ids)
  return { items: ids.flatMap((id) => series.get(id) ?? []), total }
}

/** Those of the series that the caller may see, in the order of the ids. @param ids at most a page of a list */
export async function listSeriesByIds(database: Knex, caller: Caller, ids: readonly string[]): Promise<Series[]> {
  if (ids.length === 0) return []
  const rows = await readRows(database, caller, MANY_SEEN, [[...ids], ...visibilityOf(caller)])
  const series = new Map(rows.map((row) => [row.id, seriesOf(row, caller)]))
  return ids.flatMap((id) => series.get(id) ?? [])
}

/** Series by id, in no particular order. The caller must have checked that they are visible. */
export async function readSeriesRecords(database: Knex, caller: Caller, ids: readonly string[]): Promise<Map<string, Series>> {
  if (ids.length === 0) return new Map()
  const rows = await readRows(database, caller, MANY, [[...ids]])
  return new Map(rows.map((row) => [row.id, seriesOf(row, caller)]))
}

/** How many series begin with each letter, among those that a list request would return. See {@link countByInitial}. */
export async function listAlphabeticalGroups(database: Knex, caller: Caller, filter: SeriesFilter): Promise<InitialGroup[]> {
  const keys = database('series')
    .modify(visibleTo(caller, 'series.id'))
    .whereRaw(HAS_BOOKS)
    .modify(matchesSeries(filter, caller))
    .select('series.sort_key')
  return await countByInitial(database, keys)
}

/** A series by id, also one without existing books. @throws not_found when it does not exist or the caller may not see it */
export async function getSeries(database: Knex, caller: Caller, seriesId: string): Promise<Series> {
  const key = `series ${viewerKey(caller)} ${progressUserId(caller)}`
  const row = await readTogether(database, key, seriesId, (ids) => readRows(database, caller, SOME, [ids, ...visibilityOf(caller)]))
  return row ? seriesOf(row, caller) : refuse('not_found', `There is no series ${seriesId}, or you may not see it.`)
}

/** The columns of {@link SeriesRow}. {@link isoInstant} reads the times. */
const COLUMNS = `series.id, series.library_id, series.path, series.title, series.title_sort,
  CAST(series.created_at AS text) AS created_at, CAST(series.updated_at AS text) AS updated_at,
  libraries.name AS library_name, libraries.path AS library_path,
  coalesce(owned.book_count, 0) AS book_count, coalesce(owned.book_count, 0) - coalesce(reading.books_read, 0) AS unread_count, owned.max_volume,
  owned.max_chapter, coalesce(owned.volumes_owned, 0) AS volumes_owned, coalesce(owned.is_due OR reading.is_due, false) AS is_due,
  series_metadata.summary, series_metadata.publisher, series_metadata.year, series_metadata.language,
  covers.source AS cover_source, ${SHOWN_SERIES_COVER} AS cover`
/** The tables that the columns need beside series. Its binding is the user whose progress is counted. */
const JOINS = `JOIN libraries ON libraries.id = series.library_id
  CROSS JOIN (SELECT (SELECT CAST(? AS uuid)) AS user_id) AS me
  LEFT JOIN LATERAL ${numbersOf('series.id')} AS owned ON true
  LEFT JOIN LATERAL ${readingOf('series.id', 'me.user_id')} AS reading ON true
  LEFT JOIN series_metadata ON series_metadata.series_id = series.id
  ${SERIES_COVER_JOIN}`
const TABLES = `series ${JOINS}`

const SEEN = visibleSql('series.id')
/** The ids of a page and their records in one statement. Its bindings are the total or null, and what selects the ids in their order. */
const PAGE = `SELECT ${COLUMNS}, CASE WHEN page.at = 1 THEN (?) END AS list_total
  FROM unnest(ARRAY(?)) WITH ORDINALITY AS page (id, at) JOIN series ON series.id = page.id ${JOINS} ORDER BY page.at`
const MANY = `SELECT ${COLUMNS} FROM ${TABLES} WHERE series.id = ANY(${GIVEN_IDS})`
const SOME = `${MANY} AND ${SEEN}`
const MANY_SEEN = `${MANY} AND ${HAS_BOOKS} AND ${SEEN}`

async function readRows(database: Knex, caller: Caller, sql: string, bindings: readonly (string | string[])[]): Promise<SeriesRow[]> {
  return await runRows(database, prepared(database.raw(sql, [progressUserId(caller), ...bindings])))
}

async function runRows(database: Knex, statement: Knex.Raw): Promise<SeriesRow[]> {
  const rows = await select<SeriesRow>(statement)
  if (rows.some(({ is_due }) => is_due)) computeSoon(database)
  return rows
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
    language: languageTag(row.language),
    path: seesWholePaths(caller) ? seriesFolder({ libraryPath: row.library_path, seriesPath: row.path }) : row.path,
    bookCount: Number(row.book_count),
    unreadCount: progressUserId(caller) === null ? null : Number(row.unread_count),
    localMaxVolume: row.max_volume,
    localMaxChapter: row.max_chapter === null ? null : Number(row.max_chapter),
    volumesOwned: Number(row.volumes_owned),
    cover: shownCoverOf(row.cover),
    hasCustomCover: row.cover_source !== null,
    selectedCoverSource: row.cover_source,
    createdAt: isoInstant(row.created_at),
    updatedAt: isoInstant(row.updated_at),
  }
}
