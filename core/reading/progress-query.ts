import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { Extent, PlaceRow, ProgressRow } from '#core/catalog/progress.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { PageSource } from '#core/metadata/analysis.ts'
import type { BookFormat } from '#core/metadata/book-format.ts'

/** The recorded progress of a caller in one book. */
export interface Reading {
  bookId: string
  format: BookFormat
  extent: Extent
  progress: PlaceRow | null
}

interface ReadingRow {
  id: string
  state: string
  page_count: number
  file_format: BookFormat
  page_source: PageSource
  progress: PlaceRow | null
}

/** @throws not_found for a hidden or unknown book */
export async function getReading(database: Knex, caller: Caller, bookId: string): Promise<Reading> {
  const book = await database('books')
    .where('books.id', bookId)
    .modify(visibleTo(caller, 'books.series_id'))
    .first('id', 'state', 'page_count', 'file_format', 'page_source')
  if (!book) refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
  const progress = await database('read_progress')
    .whereRaw('user_id = ?', [progressUserId(caller)])
    .where('book_id', bookId)
    .first()
  return readingOf({ ...book, progress: progress ?? null })
}

/** This operation has no pages; users who have read more books than this use the lists. */
const PROGRESS_MAX = 5_000

/** All books that the caller has begun and may see, latest first. */
export async function listProgress(database: Knex, caller: Caller): Promise<{ items: ProgressRow[]; total: number }> {
  const mine = database('read_progress')
    .join('books', 'books.id', 'read_progress.book_id')
    .whereRaw('read_progress.user_id = ?', [progressUserId(caller)])
    .modify(visibleTo(caller, 'books.series_id'))
  const [items, counted] = await Promise.all([
    mine.clone().select('read_progress.*').orderBy('read_progress.updated_at', 'desc').orderBy('read_progress.id').limit(PROGRESS_MAX),
    mine.clone().count({ total: '*' }).first() as Promise<{ total: string | number }>,
  ])
  return { items, total: Number(counted.total) }
}

/**
 * The existing books among the given books and series. Returns all of them, or refuses if the caller may not see one.
 * @throws not_found with the first that the caller may not see
 */
export async function listBookIds(
  database: Knex,
  caller: Caller,
  of: { bookIds?: readonly string[]; seriesIds?: readonly string[] },
): Promise<string[]> {
  const { bookIds = [], seriesIds = [] } = of
  const [books, series, inSeries] = await Promise.all([
    database('books')
      .whereRaw('books.id = ANY(CAST(? AS uuid[]))', [[...bookIds]])
      .modify(visibleTo(caller, 'books.series_id'))
      .pluck('books.id') as Promise<string[]>,
    database('series')
      .whereRaw('series.id = ANY(CAST(? AS uuid[]))', [[...seriesIds]])
      .modify(visibleTo(caller, 'series.id'))
      .pluck('series.id') as Promise<string[]>,
    database('books')
      .whereRaw('books.series_id = ANY(CAST(? AS uuid[]))', [[...seriesIds]])
      .modify(visibleTo(caller, 'books.series_id'))
      .whereNull('books.deleted_at')
      .pluck('books.id') as Promise<string[]>,
  ])
  const known = new Set([...books, ...series])
  const missing = [...bookIds, ...seriesIds].find((id) => !known.has(id.toLowerCase()))
  if (missing) {
    const what = bookIds.includes(missing) ? 'book' : 'series'
    refuse('not_found', `There is no ${what} ${missing}, or you may not see it. Nothing was changed.`)
  }
  return [...books, ...inSeries]
}

/** Which of these books the caller has begun, and whether each is completed. The caller must have checked that they are visible. */
export async function listCompletion(
  database: Knex,
  caller: Pick<Caller, 'userId' | 'permissions'>,
  bookIds: readonly string[],
): Promise<Map<string, boolean>> {
  const rows: { book_id: string; completed: boolean }[] = await database('read_progress')
    .whereRaw('user_id = ?', [progressUserId(caller)])
    .whereRaw('book_id = ANY(CAST(? AS uuid[]))', [[...bookIds]])
    .select('book_id', 'completed')
  return new Map(rows.map(({ book_id, completed }) => [book_id, completed]))
}

/** Copies of one file that are updated together; users do not keep more, and each is a row to write. */
const COPIES_MAX = 50

/** Existing books with this file by its partial MD5, with the caller's progress; in one order, so that two updates never wait for each other. */
export async function listCopies(database: Knex, caller: Caller, readerHash: string): Promise<Reading[]> {
  const rows = await database('books')
    .joinRaw('LEFT JOIN read_progress ON read_progress.book_id = books.id AND read_progress.user_id = ?', [progressUserId(caller)])
    .where('books.reader_hash', readerHash)
    // All empty files have the same hash; they are not copies of one book.
    .where('books.file_size', '>', 0)
    .whereNull('books.deleted_at')
    .modify(visibleTo(caller, 'books.series_id'))
    .orderBy('books.id')
    .limit(COPIES_MAX)
    .select('books.id', 'state', 'page_count', 'file_format', 'page_source')
    .select(database.raw('CASE WHEN read_progress.id IS NOT NULL THEN to_jsonb(read_progress) END AS progress'))
  return rows.map(readingOf)
}

function readingOf(row: ReadingRow): Reading {
  return {
    bookId: row.id,
    format: row.file_format,
    extent: {
      analyzed: row.state === 'analyzed',
      pageCount: row.page_count,
      isText: row.file_format === 'epub' && row.page_source === 'none',
    },
    progress: row.progress,
  }
}
