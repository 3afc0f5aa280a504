import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import { visibleFilePath } from '#core/account/path-view.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { type AdjacentBooks, type Book, fileHashOf, wholeNumber } from '#core/catalog/book.ts'
import type { Fragment } from '#core/catalog/filter-query.ts'
import { type ProgressRow, progressOf } from '#core/catalog/progress.ts'
import { found, rankedOrder } from '#core/catalog/search-query.ts'
import { type IdPage, type OrderTerm, pageOfIds, SHUFFLED } from '#core/database/id-page-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { readSort, type Sort } from '#core/foundation/sort.ts'
import type { BookFormat } from '#core/metadata/book-format.ts'
import { type FullBookMetadata, fullBookMetadataOf } from '#core/metadata/book-metadata-record.ts'
import { readRecords } from '#core/metadata/metadata-record-store.ts'
import { READING_ORDER, READING_TERMS, TITLE_ORDER } from '#core/metadata/reading-order.ts'
import { listNamesOf, type Named } from '#core/metadata/taxonomy-query.ts'

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
  progress: ProgressRow | null
  reading_direction: Book['readingDirection']
  created_at: Date
  updated_at: Date
}

const SERIES_TITLE = 'coalesce(series.title_sort, series.title) COLLATE carrel_natural'

type BookSortField = 'title' | 'series' | 'created' | 'updated' | 'released' | 'number' | 'size' | 'file' | 'pages' | 'read' | 'shuffled'

/** Accepted spellings of the sort fields. */
const BOOK_SORT_NAMES: Record<string, BookSortField> = {
  title: 'title',
  series: 'series',
  created_at: 'created',
  date_added: 'created',
  release_date: 'released',
  chapter_number: 'number',
  number: 'number',
  file_size: 'size',
  filename: 'file',
  page_count: 'pages',
  last_read: 'read',
  read_date: 'read',
}

/** ORDER BY of each field. All end with the id, which is reversed with the rest, so that one index serves both directions. */
const BOOK_ORDER: Record<BookSortField, (direction: 'ASC' | 'DESC') => OrderTerm[]> = {
  title: (d) => [`${TITLE_ORDER} ${d}`, `books.id ${d}`],
  // The series id separates two series with the same name; inside a series the reading order is never reversed.
  series: (d) => [`${SERIES_TITLE} ${d}`, `series.id ${d}`, ...READING_TERMS],
  created: (d) => [`books.created_at ${d}`, `books.id ${d}`],
  updated: (d) => [`books.updated_at ${d}`, `books.id ${d}`],
  released: (d) => [...['year', 'month', 'day'].map((part) => `book_metadata.${part} ${d} NULLS LAST`), `books.id ${d}`],
  number: (d) => [`books.number ${d} NULLS LAST`, `books.id ${d}`],
  size: (d) => [`books.file_size ${d}`, `books.id ${d}`],
  file: (d) => [`books.file_name COLLATE carrel_natural ${d}`, `books.id ${d}`],
  pages: (d) => [`books.page_count ${d}`, `books.id ${d}`],
  read: (d) => [`read_progress.updated_at ${d} NULLS LAST`, `books.id ${d}`],
  shuffled: (d) => [`${SHUFFLED('books.id')} ${d}`, `books.id ${d}`],
}

/** Joins the tables that a sort field needs. */
function joinForSort(query: Knex.QueryBuilder, field: BookSortField, caller: Caller): void {
  if (field === 'series') query.join('series', 'series.id', 'books.series_id')
  else if (field === 'released') query.leftJoin('book_metadata', 'book_metadata.book_id', 'books.id')
  else if (field === 'read')
    query.joinRaw('LEFT JOIN read_progress ON read_progress.book_id = books.id AND read_progress.user_id = ?', [progressUserId(caller)])
}

export type BookSort = Sort<BookSortField>

const termsOf = ({ field, direction }: BookSort): OrderTerm[] => BOOK_ORDER[field](direction === 'asc' ? 'ASC' : 'DESC')

/** Books in the order that a client requests, for queries with another default order. @param matching selects their ids */
export function sortedBooks(
  database: Knex,
  caller: Caller,
  matching: Knex.QueryBuilder,
  sort: BookSort,
): Pick<Parameters<typeof pageOfIds>[1], 'matching' | 'order'> {
  const books = database('books').whereIn('books.id', matching).select('books.id')
  joinForSort(books, sort.field, caller)
  return { matching: books, order: { terms: termsOf(sort) } }
}

const DEFAULT_SORT: BookSort = { field: 'title', direction: 'asc' }

/** Null if absent. @throws invalid_request for an unknown field */
export const readBookSort = (text: string | undefined): BookSort | null =>
  text?.trim() ? readSort<BookSortField>(text, BOOK_SORT_NAMES, DEFAULT_SORT) : null

export interface BookFilter {
  libraryId?: string | undefined
  seriesId?: string | undefined
  /** Without it, books with a missing file are omitted. */
  includeDeleted?: boolean | undefined
  /** Only books that the caller has begun, or begun and not finished. */
  reading?: 'begun' | 'unfinished' | undefined
  /** Of a list request; compiled. */
  condition?: Fragment | undefined
  /** Words that the book, its people or its series must contain. */
  search?: string | null | undefined
}

interface BookList {
  filter: BookFilter
  /** Null: the best match first in a search, otherwise by title. */
  sort: BookSort | null
  offset: number
  limit: number
}

/** One page of the books that the caller may see, and the total. */
export async function listBooks(database: Knex, caller: Caller, list: BookList): Promise<{ items: Book[]; total: number }> {
  return await pageOfBooks(database, caller, bookPage(database, caller, list))
}

/** Like {@link listBooks}, but only the ids. */
export async function listIdsOfBooks(database: Knex, caller: Caller, list: BookList): Promise<IdPage> {
  return await pageOfIds(database, bookPage(database, caller, list))
}

function bookPage(database: Knex, caller: Caller, list: BookList): Parameters<typeof pageOfIds>[1] {
  const { filter } = list
  const matching = database('books').modify(visibleTo(caller, 'books.series_id')).modify(matches(filter, caller)).select('books.id')
  const sort = list.sort ?? DEFAULT_SORT
  joinForSort(matching, sort.field, caller)
  const terms = termsOf(sort)
  const order = list.sort === null && filter.search ? rankedOrder('book', filter.search, terms) : { terms }
  return { matching, counting: hitsOf(database, caller, filter), order, offset: list.offset, limit: list.limit }
}

/** As many rows as match the filter; only search documents, if they suffice for the filter. */
function hitsOf(database: Knex, caller: Caller, filter: BookFilter): Knex.QueryBuilder | undefined {
  const { search, condition, reading } = filter
  if (!search || condition !== undefined || reading !== undefined) return undefined
  return database('book_search AS books')
    .modify(visibleTo(caller, 'books.series_id'))
    .modify(matches({ ...filter, search: null }, caller))
    .whereRaw('books.document @@ carrel_search_query(?)', [search])
    .select('books.book_id')
}

/**
 * One page of any list of books.
 * @param list.matching selects `id` of the books, all visible to the caller
 */
export async function pageOfBooks(
  database: Knex,
  caller: Caller,
  list: Parameters<typeof pageOfIds>[1],
): Promise<{ items: Book[]; total: number }> {
  const { ids, total } = await pageOfIds(database, list)
  const books = await listBooksByIds(database, caller, ids)
  return { items: ids.flatMap((id) => books.get(id) ?? []), total }
}

/**
 * What to read next: for each series of which the caller has finished a book and has none in progress, the first book not begun; the series read
 * last comes first unless a sort is given.
 */
export async function listOnDeck(
  database: Knex,
  caller: Caller,
  list: { filter: Pick<BookFilter, 'libraryId' | 'seriesId'>; sort: BookSort | null; offset: number; limit: number },
): Promise<{ items: Book[]; total: number }> {
  const touched = database('read_progress AS p')
    .join('books', 'books.id', 'p.book_id')
    .whereRaw('p.user_id = ?', [progressUserId(caller)])
    .modify(visibleTo(caller, 'books.series_id'))
    .modify(matches(list.filter, caller))
    .groupBy('books.series_id')
    .havingRaw('bool_and(p.completed)')
    .select('books.series_id', database.raw('max(p.updated_at) AS read_at'))
  const matching = database
    .from(touched.as('touched'))
    .joinRaw(
      `CROSS JOIN LATERAL (SELECT books.id FROM books WHERE books.series_id = touched.series_id AND books.deleted_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM read_progress p WHERE p.book_id = books.id AND p.user_id = ?)
       ORDER BY ${READING_ORDER} LIMIT 1) AS following`,
      [progressUserId(caller)],
    )
    .select('following.id')
  const ordered = list.sort
    ? sortedBooks(database, caller, matching, list.sort)
    : { matching, order: { terms: ['touched.read_at DESC', 'following.id'] } }
  return await pageOfBooks(database, caller, { ...ordered, offset: list.offset, limit: list.limit })
}

/** @throws not_found for an unknown library: an empty list would hide the error */
export async function checkLibrary(database: Knex, libraryId: string): Promise<void> {
  const library = await database('libraries').where({ id: libraryId }).first('id')
  if (!library) refuse('not_found', `There is no library ${libraryId}.`)
}

/** A book by id, deleted or not. @throws not_found when it does not exist or the caller may not see it */
export async function getBook(database: Knex, caller: Caller, bookId: string): Promise<Book> {
  const [row] = (await selectBooks(database, caller).where('books.id', bookId).modify(visibleTo(caller, 'books.series_id'))) as BookRow[]
  return row ? bookOf(row, caller) : refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
}

/** Books by id, in no particular order. The caller must have checked that they are visible. */
export async function listBooksByIds(database: Knex, caller: Caller, ids: readonly string[]): Promise<Map<string, Book>> {
  if (ids.length === 0) return new Map()
  const rows = (await selectBooks(database, caller).whereRaw('books.id = ANY(?::uuid[])', [[...ids]])) as BookRow[]
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
  const found = await database('series').where('series.id', series.seriesId).modify(visibleTo(caller, 'series.id')).first('id')
  if (!found) refuse('not_found', `There is no series ${series.seriesId}, or you may not see it.`)
  const { seriesId, includeDeleted, sort, limit = SERIES_BOOKS_MAX + 1 } = series
  const query = selectBooks(database, caller).modify(matches({ seriesId, includeDeleted }, caller)).limit(limit)
  // The columns for the other fields are selected already.
  if (sort?.field === 'released') joinForSort(query, 'released', caller)
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
  const { rows } = (await database.raw(
    `SELECT prev, next FROM (
       SELECT books.id, lag(books.id) OVER w AS prev, lead(books.id) OVER w AS next FROM books
       WHERE books.series_id = :seriesId AND (books.deleted_at IS NULL OR books.id = :bookId)
       WINDOW w AS (ORDER BY ${READING_ORDER})
     ) AS ordered WHERE id = :bookId`,
    { seriesId: self.series_id, bookId },
  )) as { rows: { prev: string | null; next: string | null }[] }
  const { prev = null, next = null } = rows[0] ?? {}
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

/** Books with the columns of {@link BookRow}, including the caller's progress. */
function selectBooks(database: Knex, caller: Caller): Knex.QueryBuilder {
  return database('books')
    .join('series', 'series.id', 'books.series_id')
    .join('libraries', 'libraries.id', 'books.library_id')
    .joinRaw('LEFT JOIN read_progress ON read_progress.book_id = books.id AND read_progress.user_id = ?', [progressUserId(caller)])
    .select(
      ...['id', 'library_id', 'series_id', 'title', 'title_sort', 'path', 'file_format', 'file_size', 'file_hash', 'reader_hash'].map(
        (column) => `books.${column}`,
      ),
      ...['state', 'page_count', 'number', 'volume', 'chapter', 'deleted_at', 'created_at', 'updated_at'].map(
        (column) => `books.${column}`,
      ),
      'libraries.name AS library_name',
      'libraries.path AS library_path',
      'series.title AS series_name',
      database.raw('CASE WHEN read_progress.id IS NOT NULL THEN to_jsonb(read_progress) END AS progress'),
      database.raw('coalesce(series.reading_direction, libraries.default_reading_direction) AS reading_direction'),
      database.raw(`CASE WHEN books.state = 'failed' THEN (SELECT e.message FROM book_errors e
        WHERE e.book_id = books.id AND e.fatal ORDER BY e.occurred_at, e.error_type LIMIT 1) END AS analysis_error`),
    )
}

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
    volume: row.volume,
    chapter: row.chapter === null ? null : Number(row.chapter),
    analyzed: row.state === 'analyzed',
    analysisError: row.analysis_error,
    deleted: row.deleted_at !== null,
    readProgress: row.progress && progressOf(row.progress),
    readingDirection: row.reading_direction,
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
