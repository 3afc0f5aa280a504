import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { Extent, PositionRow, ProgressRow } from '#core/catalog/progress.ts'
import { countRows } from '#core/database/select.ts'
import type { PageSource } from '#core/fields/analysis.ts'
import type { BookFormat } from '#core/fields/book-format.ts'
import { refuse } from '#core/foundation/errors.ts'
import { isSwitchedOn } from '#core/settings/chosen-setting-store.ts'

/** The recorded progress of a caller in one book. */
export interface Reading {
  bookId: string
  format: BookFormat
  extent: Extent
  progress: PositionRow | null
}

interface ReadingRow {
  id: string
  state: string
  page_count: number
  file_format: BookFormat
  page_source: PageSource
  progress: PositionRow | null
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

/** This operation has no pages; users who have read more books than this use the lists, or ask for the changes step by step. */
const PROGRESS_MAX = 5_000

/** The agreement of the users of this server. */
const PROGRESS_SHOWN = 'progress.shown_to_administrators'

/** An app that was not used for longer loads everything again; migrations/baseline/reading.ts deletes older removals. */
const REMOVALS_KEPT_DAYS = 365

/** Progress that a caller had in a book and has no longer. */
interface RemovedProgress {
  bookId: string
  /** ISO 8601. */
  removedAt: string
}

interface ProgressList {
  items: ProgressRow[]
  /** How many there are, also beyond those listed. */
  total: number
  /** A time before which nothing is missing from the list: the start of the next list of changes. */
  asOf: string
}

const mineOf = (database: Knex, caller: Caller): Knex.QueryBuilder =>
  database('read_progress')
    .join('books', 'books.id', 'read_progress.book_id')
    .whereRaw('read_progress.user_id = ?', [progressUserId(caller)])
    .modify(visibleTo(caller, 'books.series_id'))

/** All books that the caller has begun and may see, latest first. */
export async function listProgress(database: Knex, caller: Caller): Promise<ProgressList> {
  const asOf = await readSettledTime(database)
  return { ...(await latest(mineOf(database, caller), { offset: 0, limit: PROGRESS_MAX })), asOf: asOf.toISOString() }
}

async function latest(
  query: Knex.QueryBuilder,
  window: { offset: number; limit: number },
): Promise<{ items: ProgressRow[]; total: number }> {
  const [items, total] = await Promise.all([
    query
      .clone()
      .select('read_progress.*')
      .orderBy('read_progress.updated_at', 'desc')
      .orderBy('read_progress.book_id', 'desc')
      .offset(window.offset)
      .limit(window.limit),
    countRows(query),
  ])
  return { items, total }
}

/**
 * Progress of another user, latest first: in books that both that user and the caller may see.
 * @throws forbidden unless a setting lets administrators see it
 */
export async function listProgressOfUser(
  database: Knex,
  caller: Caller,
  { userId, offset, limit }: { userId: string; offset: number; limit: number },
): Promise<{ items: ProgressRow[]; total: number }> {
  if (!(await isSwitchedOn(database, PROGRESS_SHOWN)))
    refuse('forbidden', `Administrators do not see the progress of users on this server: the setting ${PROGRESS_SHOWN} is off.`)
  const theirs = database('read_progress')
    .join('books', 'books.id', 'read_progress.book_id')
    .where('read_progress.user_id', userId)
    .modify(visibleTo(caller, 'books.series_id'))
    .modify(visibleTo({ userId, narrowedBy: null }, 'books.series_id'))
  return await latest(theirs, { offset, limit })
}

/**
 * What the server recorded after a time, oldest first: progress, also with an earlier time of the client's own, and removals. If there is more than one
 * answer should hold, `asOf` is the end of what it holds.
 * @throws invalid_value when removals of that time are no longer kept
 */
export async function listProgressChanges(
  database: Knex,
  caller: Caller,
  after: Date,
): Promise<ProgressList & { removed: RemovedProgress[] }> {
  const settled = await readSettledTime(database)
  if (after.getTime() < settled.getTime() - REMOVALS_KEPT_DAYS * 86_400_000) {
    const hint = 'Leave updatedAfter out, and replace what you have with the answer.'
    refuse('invalid_value', `Removals are known for ${REMOVALS_KEPT_DAYS} days, and updatedAfter is earlier. ${hint}`, {
      details: [{ path: '/updatedAfter', message: `must not be more than ${REMOVALS_KEPT_DAYS} days ago` }],
    })
  }
  const changed = mineOf(database, caller).where('read_progress.recorded_at', '>', after)
  const removedBook = () => database('books').whereRaw('books.id = read_progress_removals.book_id').select(database.raw('1'))
  const removals = database('read_progress_removals')
    .whereRaw('user_id = ?', [progressUserId(caller)])
    .where('removed_at', '>', after)
    .where((either) => either.whereNotExists(removedBook()).orWhereExists(removedBook().modify(visibleTo(caller, 'books.series_id'))))
  const [{ rows: items }, total, { rows: removed }] = await Promise.all([
    oldest<ProgressRow & { recorded_at: Date }>(database, changed.clone().select('read_progress.*'), 'read_progress.recorded_at'),
    countRows(changed),
    oldest<{ book_id: string; removed_at: Date }>(database, removals.clone().select('book_id', 'removed_at'), 'removed_at'),
  ])
  const ends = [
    ...(items.length < PROGRESS_MAX ? [] : [items.at(-1)?.recorded_at as Date]),
    ...(removed.length < PROGRESS_MAX ? [] : [removed.at(-1)?.removed_at as Date]),
  ]
  const asOf = new Date(Math.min(settled.getTime(), ...ends.map(Number)))
  return {
    items,
    total,
    asOf: asOf.toISOString(),
    removed: removed.map((row) => ({ bookId: row.book_id, removedAt: row.removed_at.toISOString() })),
  }
}

/** The first rows of a query by a time, and all others of the last one's time. */
async function oldest<Row>(database: Knex, query: Knex.QueryBuilder, column: string): Promise<{ rows: Row[] }> {
  return await database.raw('? ORDER BY ?? FETCH FIRST ? ROWS WITH TIES', [query, column, PROGRESS_MAX])
}

/** A time before which every recorded change is visible: the start of the oldest transaction that still runs. */
async function readSettledTime(database: Knex): Promise<Date> {
  const { rows } = await database.raw(
    'SELECT least(now(), min(xact_start)) AS at FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL',
  )
  return rows[0].at
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
