import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import {
  readSight,
  seesAll,
  viewerKey,
  visibilityOf,
  visibleInList,
  visibleInWalk,
  visibleSql,
  visibleTo,
} from '#core/account/visibility.ts'
import type { AdjacentBooks, Book } from '#core/catalog/book.ts'
import { BOOK_COLUMNS, BOOK_JOINS, BOOK_TABLES, type BookRow, bookOf } from '#core/catalog/book-record-query.ts'
import { type BookSort, DEFAULT_BOOK_SORT, joinForSort, orderOfBooks, termsOf } from '#core/catalog/book-sort-query.ts'
import type { CompiledCondition } from '#core/catalog/filter-query.ts'
import { keptBooks } from '#core/catalog/kept-total-query.ts'
import { orderKey, readListState } from '#core/catalog/list-state-query.ts'
import { countOf, type ListTotal, totalOf } from '#core/catalog/list-total-query.ts'
import { countFew, found, rankedOrder } from '#core/catalog/search-query.ts'
import { GIVEN_IDS } from '#core/database/known-ids-query.ts'
import { prepared } from '#core/database/prepared.ts'
import { readTogether } from '#core/database/read-together.ts'
import { select } from '#core/database/select.ts'
import { READING_ORDER, READING_TERMS } from '#core/fields/reading-order.ts'
import type { ValuesOf } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { type FullBookMetadata, fullBookMetadataOf } from '#core/metadata/book-metadata-schema.ts'
import { BOOK_RECORD, readRecords, recordOf, type StoredRecord } from '#core/metadata/metadata-record-store.ts'
import { listNamesOf, type Named } from '#core/metadata/taxonomy-query.ts'
import { checkVisible } from '#core/metadata/visible-records-query.ts'
import { type IdList, type IdPage, pageOfRows } from '#core/paging/id-page-query.ts'
import { countByInitial, type InitialGroup } from '#core/paging/initial-groups-query.ts'
import type { ListPart } from '#core/paging/list-order.ts'
import type { ListState } from '#core/paging/list-state.ts'
import { type FoundPage, idsOfPage, pageOfMatches } from '#core/paging/match-page-query.ts'

/** Books in the order that a client requests, for queries with another default order. @param matching selects their ids */
export function sortedBooks(
  database: Knex,
  caller: Caller,
  matching: Knex.QueryBuilder,
  sort: BookSort,
): Pick<IdList, 'matching' | 'order'> {
  return { matching: database('books').whereIn('books.id', matching).select('books.id'), order: orderOfBooks(caller, sort) }
}

export interface BookFilter {
  libraryId?: string | undefined
  seriesId?: string | undefined
  /** Without it, books with a missing file are omitted. */
  includeDeleted?: boolean | undefined
  /** Only books that the caller has begun, or begun and not finished. */
  reading?: 'begun' | 'unfinished' | undefined
  /** Of a list request; compiled. */
  condition?: CompiledCondition | undefined
  /** Words that the book, its people or its series must contain. */
  search?: string | null | undefined
}

interface BookList {
  filter: BookFilter
  /** Null: the best match first in a search, otherwise by title. */
  sort: BookSort | null
  offset: number
  limit: number
  /** If it was read already, before this list. */
  state?: ListState | undefined
  /** Of a search: the total is exact only while it is small. */
  few?: true
}

/** One page of the books that the caller may see, and the total. */
export async function listBooks(database: Knex, caller: Caller, list: BookList): Promise<{ items: Book[]; total: number }> {
  const found = await findPage(database, caller, list)
  if ('matches' in found) return await readPage(database, caller, await pageOfMatches(database, found.matches))
  const { condition, search } = list.filter
  const isFixed = !condition && !search
  return await pageOfBooks(database, caller, found.page, isFixed)
}

/** Like {@link listBooks}, but only the ids. */
export async function listIdsOfBooks(database: Knex, caller: Caller, list: BookList): Promise<IdPage> {
  return await idsOfPage(database, await findPage(database, caller, list))
}

async function findPage(database: Knex, caller: Caller, list: BookList): Promise<FoundPage> {
  const { filter, offset, limit } = list
  const { condition, search } = filter
  const state = list.state ?? (await readListState(database, caller))
  const total = totalOfBooks(database, caller, state, filter)
  const sort = list.sort ?? DEFAULT_BOOK_SORT
  const key = orderKey(caller, state, { total: total.key, sort, isOwn: sort.field === 'read' })
  const matching = selectMatching(database, caller, state, filter)
  const order = orderOfBooks(caller, sort)
  if (condition && !search && key !== undefined) {
    const whole = wholeOf(database, caller, state, filter)
    joinForSort(whole, sort, caller)
    const parts = { part: (order as readonly ListPart[])[0] as ListPart, terms: { terms: termsOf(sort) } }
    return { matches: { table: 'books', matching, whole, total, ...parts, offset, limit, key } }
  }
  const ranked = list.sort === null && search ? rankedOrder('book', search, termsOf(sort)) : order
  const walking = search ? undefined : walkingOf(database, caller, state, filter)
  const count = list.few ? () => countFew(database, hitsOf(database, caller, state, filter) ?? matching) : total.count
  return { page: { matching, walking, total: total.known ?? count, beside: total.beside, order: ranked, offset, limit, key } }
}

const selectMatching = (database: Knex, caller: Caller, { sight }: ListState, filter: BookFilter): Knex.QueryBuilder =>
  database('books')
    // A search begins with the documents, however few books are visible.
    .modify(visibleInList(readSight(sight), filter.search ? 'book_search' : 'books'))
    .modify(matches(filter, caller))
    .select('books.id')

function walkingOf(database: Knex, caller: Caller, state: ListState, filter: BookFilter): Knex.QueryBuilder | undefined {
  const sight = readSight(state.sight)
  if (seesAll(sight)) return undefined
  return database('books').modify(visibleInWalk(sight)).modify(matches(filter, caller)).select('books.id')
}

function totalOfBooks(database: Knex, caller: Caller, state: ListState, filter: BookFilter): ListTotal {
  const { condition, libraryId, seriesId, includeDeleted = false, reading, search } = filter
  const isKept = reading === undefined && !condition && !search
  return totalOf(database, caller, state, {
    of: 'books',
    filter: { libraryId, seriesId, includeDeleted, reading, search },
    condition,
    asksAboutCaller: reading !== undefined,
    isKept,
    total: isKept
      ? keptBooks(database, { sight: readSight(state.sight), libraryId, seriesId, includeDeleted })
      : countOf(database, hitsOf(database, caller, state, filter) ?? wholeOf(database, caller, state, filter)),
  })
}

const wholeOf = (database: Knex, caller: Caller, state: ListState, filter: BookFilter) =>
  selectMatching(database, caller, state, { ...filter, condition: filter.condition?.whole ?? filter.condition })

/** As many rows as match the filter; only search documents, if they suffice for the filter. */
function hitsOf(database: Knex, caller: Caller, { sight }: ListState, filter: BookFilter): Knex.QueryBuilder | undefined {
  const { search, condition, reading } = filter
  if (!search || condition !== undefined || reading !== undefined) return undefined
  return database('book_search AS books')
    .modify(visibleInList(readSight(sight), 'books'))
    .modify(matches({ ...filter, search: null }, caller))
    .whereRaw('books.document @@ carrel_search_query(?)', [search])
    .select('books.book_id')
}

/**
 * One page of any list of books.
 * @param list.matching selects `id` of the books, all visible to the caller
 * @param isFixed whether the statement is one of few, so that it is worth preparing
 */
export async function pageOfBooks(
  database: Knex,
  caller: Caller,
  list: IdList,
  isFixed = false,
): Promise<{ items: Book[]; total: number }> {
  const { rows, total } = await pageOfRows<BookRow>(database, list, async (ids, total) => {
    const statement = database.raw(PAGE, [total, ids, progressUserId(caller)] as Knex.RawBinding[])
    return await select<BookRow>(isFixed ? prepared(statement) : statement)
  })
  return { items: rows.map((row) => bookOf(row, caller)), total }
}

async function readPage(database: Knex, caller: Caller, { ids, total }: IdPage): Promise<{ items: Book[]; total: number }> {
  const books = await listBooksByIds(database, caller, ids)
  return { items: ids.flatMap((id) => books.get(id) ?? []), total }
}

/** How many books begin with each letter, among those that a list request would return. See {@link countByInitial}. */
export async function listBookGroups(database: Knex, caller: Caller, filter: BookFilter, state?: ListState): Promise<InitialGroup[]> {
  const matching = wholeOf(database, caller, state ?? (await readListState(database, caller)), filter)
  return await countByInitial(database, matching.clearSelect().select('books.sort_key'))
}

/** A book by id, deleted or not. @throws not_found when it does not exist or the caller may not see it */
export async function getBook(database: Knex, caller: Caller, bookId: string): Promise<Book> {
  return bookOf(await readOne(database, caller, 'book', bookId), caller)
}

/** A book with its metadata, in one statement. @throws the errors of {@link getBook} */
export async function getBookWithRecord(
  database: Knex,
  caller: Caller,
  bookId: string,
): Promise<{ book: Book; record: StoredRecord<ValuesOf['book']> }> {
  const row = await readOne(database, caller, 'book with record', bookId)
  return { book: bookOf(row, caller), record: recordOf('book', row as BookRow & Record<string, unknown>) }
}

async function readOne(database: Knex, caller: Caller, what: keyof typeof SOME, bookId: string): Promise<BookRow> {
  const row = await readTogether(database, `${what} ${viewerKey(caller)} ${progressUserId(caller)}`, bookId, (ids) =>
    select<BookRow>(prepared(database.raw(SOME[what], [progressUserId(caller), ids, ...visibilityOf(caller)]))),
  )
  return row ?? refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
}

/** Books by id, in no particular order. The caller must have checked that they are visible. */
export async function listBooksByIds(database: Knex, caller: Caller, ids: readonly string[]): Promise<Map<string, Book>> {
  if (ids.length === 0) return new Map()
  const rows = await select<BookRow>(prepared(database.raw(MANY, [progressUserId(caller), [...ids]])))
  return new Map(rows.map((row) => [row.id, bookOf(row, caller)]))
}

/**
 * All in one response, because this operation has no pages: clients get more through the paginated list. Weekly magazines
 * of forty years fit. The response is made in one step, about 50 ms and 1.5 MB for this many books, which delays all other requests.
 */
export const SERIES_BOOKS_MAX = 2_000

/** The books of one series, in reading order unless a sort is given; all of them without a limit. @throws not_found for a hidden or unknown series */
export async function listSeriesBooks(
  database: Knex,
  caller: Caller,
  series: { seriesId: string; includeDeleted: boolean; sort?: BookSort | null; limit?: number | undefined },
): Promise<Book[]> {
  const { seriesId, includeDeleted, sort, limit = SERIES_BOOKS_MAX + 1 } = series
  await checkVisible(database, caller, 'series', seriesId)
  const query = selectBooks(database, caller).modify(matches({ seriesId, includeDeleted }, caller)).limit(limit)
  const rows = (await query.orderByRaw((sort ? termsOf(sort) : READING_TERMS).join(', '))) as BookRow[]
  if (rows.length > SERIES_BOOKS_MAX) {
    refuse(
      'invalid_value',
      `This series has more than ${SERIES_BOOKS_MAX} books: set a limit, or use /api/v1/books?seriesId=${series.seriesId}.`,
    )
  }
  return rows.map((row) => bookOf(row, caller))
}

/** The books before and after this one in its series, in reading order; skips deleted ones. */
export async function findAdjacentBooks(database: Knex, caller: Caller, bookId: string): Promise<AdjacentBooks> {
  const self = await database('books').where('books.id', bookId).modify(visibleTo(caller, 'books.series_id')).first('series_id')
  if (!self) refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
  const [neighbors] = await select<{ prev: string | null; next: string | null }>(
    database.raw(
      `SELECT prev, next FROM (
       SELECT books.id, lag(books.id) OVER w AS prev, lead(books.id) OVER w AS next FROM books
       WHERE books.series_id = :seriesId AND (books.deleted_at IS NULL OR books.id = :bookId)
       WINDOW w AS (ORDER BY ${READING_ORDER})
     ) AS ordered WHERE id = :bookId`,
      { seriesId: self.series_id, bookId },
    ),
  )
  const { prev = null, next = null } = neighbors ?? {}
  const books = await listBooksByIds(
    database,
    caller,
    [prev, next].filter((id) => id !== null),
  )
  return { prev: (prev && books.get(prev)) || null, next: (next && books.get(next)) || null }
}

/** Adds the filter to a query of books. */
export function matches(filter: BookFilter, caller: Caller): (query: Knex.QueryBuilder) => void {
  return (query) => {
    if (filter.libraryId !== undefined) query.where('books.library_id', filter.libraryId)
    if (filter.seriesId !== undefined) query.where('books.series_id', filter.seriesId)
    if (filter.includeDeleted !== true) query.whereNull('books.deleted_at')
    if (filter.condition) query.whereRaw(filter.condition.sql, filter.condition.bindings as Knex.RawBinding[])
    if (filter.search) query.modify(found('book', filter.search))
    if (filter.reading !== undefined) {
      const unfinished = filter.reading === 'unfinished' ? ' AND NOT p.completed' : ''
      query.whereRaw(`books.id IN (SELECT p.book_id FROM read_progress p WHERE p.user_id = ?${unfinished})`, [progressUserId(caller)])
    }
  }
}

const SEEN = `books.id = ANY(${GIVEN_IDS}) AND ${visibleSql('books.series_id')}`
const SOME = {
  book: `SELECT ${BOOK_COLUMNS} FROM ${BOOK_TABLES} WHERE ${SEEN}`,
  'book with record': `SELECT ${BOOK_COLUMNS}, ${BOOK_RECORD.columns} FROM ${BOOK_TABLES} ${BOOK_RECORD.join} WHERE ${SEEN}`,
}
/** The ids of a page and their records in one statement. Its bindings are the total or null, and what selects the ids in their order. */
const PAGE = `SELECT ${BOOK_COLUMNS}, CASE WHEN page.at = 1 THEN (?) END AS list_total
  FROM unnest(ARRAY(?)) WITH ORDINALITY AS page (id, at) JOIN books ON books.id = page.id ${BOOK_JOINS} ORDER BY page.at`
const MANY = `SELECT ${BOOK_COLUMNS} FROM ${BOOK_TABLES} WHERE books.id = ANY(${GIVEN_IDS})`

/** Books with the columns of {@link BookRow}, including the caller's progress. */
const selectBooks = (database: Knex, caller: Caller): Knex.QueryBuilder =>
  database.select(database.raw(BOOK_COLUMNS)).from(database.raw(BOOK_TABLES, [progressUserId(caller)]))

export type FullBook = Book & { genres: Named[]; tags: Named[]; metadata: FullBookMetadata }

/** Books with all of their data, in three statements. The caller must have checked that they are visible. @param books at most {@link FULL_AT_ONCE} */
export async function fullBooks(database: Knex, caller: Caller, books: readonly Book[]): Promise<FullBook[]> {
  const ids = books.map(({ id }) => id)
  const [stored, genres, tags] = await Promise.all([
    readRecords(database, 'book', ids),
    listNamesOf(database, caller, { taxonomy: 'genre', kind: 'book', ids }),
    listNamesOf(database, caller, { taxonomy: 'tag', kind: 'book', ids }),
  ])
  return books.map((book) => {
    const record = stored.get(book.id) ?? {
      values: {},
      sources: {},
      locks: new Set<string>(),
      createdAt: book.createdAt,
      updatedAt: book.updatedAt,
    }
    return { ...book, genres: genres.get(book.id) ?? [], tags: tags.get(book.id) ?? [], metadata: fullBookMetadataOf(record) }
  })
}
