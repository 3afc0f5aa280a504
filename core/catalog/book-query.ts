import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import { visibleFilePath } from '#core/account/path-view.ts'
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
import { type AdjacentBooks, type Book, fileHashOf, missingOf, wholeNumber } from '#core/catalog/book.ts'
import { type BookSort, DEFAULT_BOOK_SORT, joinForSort, orderOfBooks, termsOf } from '#core/catalog/book-sort-query.ts'
import type { CompiledCondition } from '#core/catalog/filter-query.ts'
import { keptBooks } from '#core/catalog/kept-total-query.ts'
import type { ListState } from '#core/catalog/list-state.ts'
import { orderKey, readListState } from '#core/catalog/list-state-query.ts'
import { countOf, type ListTotal, totalOf } from '#core/catalog/list-total-query.ts'
import { type ProgressRow, progressOf } from '#core/catalog/progress.ts'
import { countFew, found, rankedOrder } from '#core/catalog/search-query.ts'
import { type ShownCoverJson, shownCoverOf } from '#core/covers/current-cover.ts'
import { BOOK_COVER_JOIN, SHOWN_BOOK_COVER } from '#core/covers/current-cover-query.ts'
import { prepared } from '#core/database/prepared.ts'
import { readTogether } from '#core/database/read-together.ts'
import { select } from '#core/database/select.ts'
import type { BookFormat } from '#core/fields/book-format.ts'
import { languageTag } from '#core/fields/language-tag.ts'
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
import { type FoundPage, idsOfPage, pageOfMatches } from '#core/paging/match-page-query.ts'

/** A book with columns of its series and library, as {@link selectBooks} reads it. Numbers beyond a double's integers are text. */
interface BookRow {
  id: string
  library_id: string
  library_name: string
  library_path: string
  series_id: string
  series_name: string
  title: string
  title_sort: string | null
  path: string
  file_format: BookFormat
  file_size: string | number
  file_hash: string | null
  reader_hash: string | null
  state: 'pending' | 'analyzed' | 'failed'
  page_count: number
  number: string | number | null
  volume: number | null
  chapter: string | number | null
  analysis_error: string | null
  deleted_at: Date | null
  missing_since: Date | null
  missing_why: 'file' | 'folder' | 'withheld' | null
  progress: ProgressRow | null
  read_count: number
  last_read_at: Date | null
  reading_direction: Book['readingDirection']
  language: string | null
  cover: ShownCoverJson | null
  created_at: Date
  updated_at: Date
}

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
  return { page: { matching, walking, total: total.known ?? count, order: ranked, offset, limit, key } }
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
  const { rows, total } = await pageOfRows<BookRow>(database, list, async (ids) => {
    const statement = database.raw(PAGE, [ids, progressUserId(caller)])
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

const own = (columns: string): string => columns.replaceAll(/\w+/g, 'books.$&')

/** The columns of {@link BookRow}. */
const COLUMNS = `${own('id, library_id, series_id, title, title_sort, path, file_format, file_size, file_hash, reader_hash')},
  ${own('state, page_count, number, volume, chapter, deleted_at, missing_since, missing_why, created_at, updated_at')},
  libraries.name AS library_name, libraries.path AS library_path, series.title AS series_name,
  CASE WHEN read_progress.id IS NOT NULL THEN to_jsonb(read_progress) END AS progress, past.count AS read_count, past.last_at AS last_read_at,
  coalesce(series.reading_direction, libraries.default_reading_direction) AS reading_direction,
  coalesce((SELECT b.language_iso FROM book_metadata b WHERE b.book_id = books.id),
    (SELECT s.language FROM series_metadata s WHERE s.series_id = books.series_id)) AS language, ${SHOWN_BOOK_COVER} AS cover,
  CASE WHEN books.state = 'failed' THEN (SELECT e.message FROM book_errors e
    WHERE e.book_id = books.id AND e.fatal ORDER BY e.occurred_at, e.error_type LIMIT 1) END AS analysis_error`
/** The tables that the columns need beside books. Its binding is the user whose progress is read. */
const JOINS = `JOIN series ON series.id = books.series_id JOIN libraries ON libraries.id = books.library_id
  CROSS JOIN (SELECT CAST(? AS uuid) AS id) AS reader
  LEFT JOIN read_progress ON read_progress.book_id = books.id AND read_progress.user_id = reader.id
  CROSS JOIN LATERAL (SELECT count(r.finished_at)::int AS count, max(r.last_at) AS last_at
    FROM readings r WHERE r.user_id = reader.id AND r.book_id = books.id) AS past
  ${BOOK_COVER_JOIN}`
const TABLES = `books ${JOINS}`

const SEEN = `books.id = ANY(CAST(? AS uuid[])) AND ${visibleSql('books.series_id')}`
const SOME = {
  book: `SELECT ${COLUMNS} FROM ${TABLES} WHERE ${SEEN}`,
  'book with record': `SELECT ${COLUMNS}, ${BOOK_RECORD.columns} FROM ${TABLES} ${BOOK_RECORD.join} WHERE ${SEEN}`,
}
/** The ids of a page and their records in one statement. Its first binding selects the ids in their order. */
const PAGE = `SELECT ${COLUMNS} FROM unnest(ARRAY(?)) WITH ORDINALITY AS page (id, at) JOIN books ON books.id = page.id ${JOINS} ORDER BY page.at`
const MANY = `SELECT ${COLUMNS} FROM ${TABLES} WHERE books.id = ANY(CAST(? AS uuid[]))`

/** Books with the columns of {@link BookRow}, including the caller's progress. */
const selectBooks = (database: Knex, caller: Caller): Knex.QueryBuilder =>
  database.select(database.raw(COLUMNS)).from(database.raw(TABLES, [progressUserId(caller)]))

function bookOf(row: BookRow, caller: Caller): Book {
  return {
    id: row.id,
    libraryId: row.library_id,
    libraryName: row.library_name,
    seriesId: row.series_id,
    seriesName: row.series_name,
    title: row.title,
    titleSort: row.title_sort,
    filePath: visibleFilePath(caller, { libraryPath: row.library_path, path: row.path }),
    fileFormat: row.file_format,
    fileSize: Number(row.file_size),
    fileHash: fileHashOf({ id: row.id, fileHash: row.file_hash }),
    readerHash: row.reader_hash,
    pageCount: row.page_count,
    number: wholeNumber(row.number === null ? null : Number(row.number)),
    numberLabel: row.number === null ? null : String(Number(row.number)),
    volume: row.volume,
    chapter: row.chapter === null ? null : Number(row.chapter),
    analyzed: row.state === 'analyzed',
    analysisError: row.analysis_error,
    deleted: row.deleted_at !== null,
    missing: missingOf({ since: row.missing_since ?? row.deleted_at, why: row.missing_why }),
    readProgress: row.progress && progressOf(row.progress),
    readCount: row.read_count,
    lastReadAt: row.last_read_at?.toISOString() ?? null,
    readingDirection: row.reading_direction,
    language: languageTag(row.language),
    cover: shownCoverOf(row.cover),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

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
