import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { refuse } from '#core/errors.ts'
import type { Extent, ProgressRow } from '#core/progress/progress.ts'

/** What is known of a caller's reading of one book. */
export interface Reading {
  bookId: string
  extent: Extent
  progress: (ProgressRow & { locator: unknown }) | null
  mediaType: string
}

const MEDIA_TYPES: Record<string, string> = { epub: 'application/xhtml+xml', pdf: 'application/pdf' }

/** @throws not_found for a hidden or unknown book */
export async function getReading(database: Knex, caller: Caller, bookId: string): Promise<Reading> {
  const book = await database('books')
    .where('books.id', bookId)
    .modify(visibleTo(caller, 'books.series_id'))
    .first('id', 'state', 'page_count', 'file_format')
  if (!book) refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
  const progress = await database('read_progress').where({ user_id: caller.userId, book_id: bookId }).first()
  return {
    bookId,
    extent: { analyzed: book.state === 'analyzed', pageCount: book.page_count },
    progress: progress ?? null,
    mediaType: MEDIA_TYPES[book.file_format] ?? 'image/jpeg',
  }
}

/** Readers send no page numbers here; whoever has read more books than this asks the lists. */
export const PROGRESS_MAX = 5_000

/** All that the caller has begun to read and may see, the latest first. */
export async function listProgress(database: Knex, caller: Caller): Promise<{ items: ProgressRow[]; total: number }> {
  const mine = database('read_progress')
    .join('books', 'books.id', 'read_progress.book_id')
    .where('read_progress.user_id', caller.userId)
    .modify(visibleTo(caller, 'books.series_id'))
  const [items, counted] = await Promise.all([
    mine.clone().select('read_progress.*').orderBy('read_progress.updated_at', 'desc').orderBy('read_progress.id').limit(PROGRESS_MAX),
    mine.clone().count({ total: '*' }).first() as Promise<{ total: string | number }>,
  ])
  return { items, total: Number(counted.total) }
}

/**
 * The books that are there of the given books and series. All of them are the caller's to see, or none is answered.
 * @throws not_found with the first that is not
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
