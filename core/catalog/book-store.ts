import type { Knex } from 'knex'
import type { Suspicion } from '#core/catalog/suspect.ts'
import { announce, announceSeries, announceSeriesGone, bookEvent } from '#core/events/event-store.ts'
import type { Analysis, BookErrorType, Page, Problem } from '#core/metadata/analysis.ts'

/** What analysis needs of a book before it opens the file. */
export interface BookToAnalyze {
  id: string
  library_id: string
  series_id: string
  path: string
  file_name: string
  file_size: string
  file_mtime_ns: string
  /** Null until the first analysis. */
  file_hash: string | null
  state: 'pending' | 'analyzed' | 'failed'
  deleted: boolean
  library_path: string
  book_strategy: string
  /** Whether metadata is stored that the analysis must compare with. */
  described: boolean
  /** Whether the extracted cover must not change. */
  cover_locked: boolean
  /** The suspicion against its file; null for none, as nearly always. */
  suspicion: Suspicion | null
}

const COLUMNS = `b.id, b.library_id, b.series_id, b.path, b.file_name, b.file_size::text, b.file_mtime_ns::text, b.file_hash, b.state,
  b.deleted_at IS NOT NULL AS deleted`

export async function findBookToAnalyze(database: Knex, bookId: string): Promise<BookToAnalyze | undefined> {
  const { rows } = await database.raw(
    `SELECT ${COLUMNS}, l.path AS library_path, l.book_strategy, m.book_id IS NOT NULL AS described, coalesce('cover' = ANY(m.locks), false) AS cover_locked,
       CASE WHEN s.book_id IS NOT NULL THEN jsonb_build_object('times', s.times, 'reason', s.reason, 'aloneTask', s.alone_task) END AS suspicion
     FROM books b JOIN libraries l ON l.id = b.library_id LEFT JOIN book_metadata m ON m.book_id = b.id
     LEFT JOIN book_suspects s ON s.book_id = b.id WHERE b.id = ?`,
    [bookId],
  )
  return rows[0]
}

/**
 * The time of a file in its row after an analysis that failed temporarily: no file has this time, so every scan retries; and applied
 * twice it returns the true one, so the file does not count as changed. Nanoseconds.
 */
export const markUnread = (mtimeNs: string | bigint): string => String(~BigInt(mtimeNs))

/** Whether a row has such a mark. Files from before 1970 look marked, which costs them an extra analysis. */
export const isMarkedUnread = (mtimeNs: string): boolean => mtimeNs.startsWith('-')

/** The time of the file at its last analysis, marked or not. */
export const trueMtimeNs = (mtimeNs: string): string => (isMarkedUnread(mtimeNs) ? markUnread(mtimeNs) : mtimeNs)

/** Another row with the same content as a book. */
export interface Duplicate {
  id: string
  path: string
}

/**
 * Other books of the library with this content: those marked as deleted first, since a scan has found them missing already, and among those the one
 * with the same name, so that equal files in a renamed folder stay the same books.
 */
export async function listBooksWithContent(
  database: Knex,
  book: { id: string; libraryId: string; fileName: string; sha256: string },
): Promise<Duplicate[]> {
  const { rows } = await database.raw(
    `SELECT id, path FROM books WHERE library_id = ? AND file_hash = ? AND id <> ? ORDER BY deleted_at IS NULL, file_name <> ?, id LIMIT 20`,
    [book.libraryId, book.sha256, book.id, book.fileName],
  )
  return rows
}

/**
 * Gives the path of a new book to the row of its duplicate; deletes the new row. Returns the series of both, or null when one of the
 * rows has changed in the meantime.
 */
export async function relinkBook(trx: Knex.Transaction, found: BookToAnalyze, duplicate: Duplicate): Promise<SeriesIds | null> {
  // One move at a time in a library: several books of one renamed folder would wait for each other's rows in a circle.
  await trx.raw('SELECT 1 FROM libraries WHERE id = ? FOR NO KEY UPDATE', [found.library_id])
  const { rows } = await trx.raw('SELECT id, path, series_id FROM books WHERE id = ANY(?::uuid[]) ORDER BY id FOR UPDATE', [
    [found.id, duplicate.id],
  ])
  const locked = rows as { id: string; path: string; series_id: string }[]
  const old = locked.find((row) => row.id === duplicate.id && row.path === duplicate.path)
  const fresh = locked.find((row) => row.id === found.id && row.path === found.path)
  if (!old || !fresh) return null
  const { rows: taken } = await trx.raw(
    `DELETE FROM books WHERE id = ? RETURNING path, file_name, series_id, file_size::text, file_mtime_ns::text, title, number, volume, chapter, file_format`,
    [fresh.id],
  )
  const { title, number, volume, chapter, ...place } = taken[0]
  // Where metadata is kept it says by whom the title was given; the analysis compares it with the new name.
  const described = await trx('book_metadata').where('book_id', old.id).first('book_id')
  const named = described ? {} : { title, number, volume, chapter }
  await trx('books')
    .where('id', old.id)
    .update({ ...place, ...named, deleted_at: null, updated_at: trx.fn.now() })
  // Should the file come back to where it was, it must be looked at there.
  await trx('scanned_folders')
    .where({ library_id: found.library_id, path: folderOf(found.library_path, old.path) })
    .delete()
  await announce(trx, [
    { event: bookEvent('book_deleted', { ...fresh, library_id: found.library_id }) },
    {
      event: {
        ...bookEvent('book_updated', { id: old.id, series_id: fresh.series_id, library_id: found.library_id }),
        fields: ['filePath', 'seriesId', 'deleted'],
      },
    },
  ])
  return { oldId: old.series_id, newId: fresh.series_id }
}

interface SeriesIds {
  oldId: string
  newId: string
}

/** Two series that may be one whose folder was renamed. */
interface SeriesPair {
  old: { id: string; path: string }
  fresh: { id: string; path: string; title: string; folder_title: string | null }
}

/** Locks both series; null unless they are of one kind and the new one was made by the latest scan. */
export async function lockSeriesPair(trx: Knex.Transaction, libraryId: string, ids: SeriesIds): Promise<SeriesPair | null> {
  const { rows } = await trx.raw(
    'SELECT id, path, title, folder_title, oneshot, created_at FROM series WHERE id = ANY(?::uuid[]) ORDER BY path FOR UPDATE',
    [[ids.oldId, ids.newId]],
  )
  const series = rows as (SeriesPair['fresh'] & { oneshot: boolean; created_at: Date })[]
  const old = series.find((row) => row.id === ids.oldId)
  const fresh = series.find((row) => row.id === ids.newId)
  if (!old || !fresh || old.oneshot !== fresh.oneshot) return null
  const scan = await trx('scans').where('library_id', libraryId).orderBy('started_at', 'desc').first('started_at')
  return scan && fresh.created_at >= scan.started_at ? { old, fresh } : null
}

/** The old series takes the folder and the books of the new one, whose row is deleted; the caller decides its title. */
export async function joinSeries(trx: Knex.Transaction, { old, fresh }: SeriesPair): Promise<void> {
  await trx('books').where('series_id', fresh.id).update({ series_id: old.id })
  const [moved] = await trx('series').where('id', old.id).select('library_id')
  await announceSeriesGone(trx, { libraryId: moved.library_id, ids: [fresh.id] }, async () => {
    await trx('series').where('id', fresh.id).delete()
    return [fresh.id]
  })
  await trx('series').where('id', old.id).update({ path: fresh.path, updated_at: trx.fn.now() })
  await announceSeries(trx, [old.id], ['path', 'books'])
}

/** Locks the series of a book against other changes until the transaction ends. */
export async function lockSeriesOf(trx: Knex, bookId: string): Promise<void> {
  await trx.raw('SELECT 1 FROM series WHERE id = (SELECT series_id FROM books WHERE id = ?) FOR NO KEY UPDATE', [bookId])
}

/** Locks a book and its cover against other changes until the transaction ends; false when the book was deleted. */
export async function lockBook(trx: Knex, bookId: string): Promise<boolean> {
  const { rows } = await trx.raw('SELECT 1 FROM books WHERE id = ? FOR NO KEY UPDATE', [bookId])
  return rows.length > 0
}

/** The columns that one analysis writes to the row of a book. */
export interface AnalyzedBook {
  bookId: string
  bytes: string
  mtimeNs: string
  /** Makes the next scan retry, because the file could not be read for a temporary reason. */
  unread: boolean
  /** Null keeps the hashes if the file is the hashed version, and clears them otherwise. */
  sha256: string | null
  readerHash: string | null
  format: Analysis['format']
  pageSource: Analysis['pageSource']
  pageCount: number
  pages: Page[]
  /** Used for a book without metadata of its own; otherwise its title is compared source by source. */
  title: string
  /** `keep` does not change the cover. */
  coverHash: string | null | 'keep'
  state: 'analyzed' | 'failed'
  problems: Problem[]
  /** Error types whose step succeeded, or that no longer belong to this file. */
  cleared: BookErrorType[]
}

export interface Recorded {
  /** Of the book. */
  seriesId: string
  /** Whether books of its series have data that is not aggregated yet. */
  aggregateDue: boolean
  /** Members of the book that have changed, except its metadata. */
  changed: string[]
}

/** Writes an analysis in one statement: everything or nothing. Null when the book was deleted. */
export async function recordAnalyzed(database: Knex, book: AnalyzedBook): Promise<Recorded | null> {
  const { problems } = book
  const { rows } = await database.raw(
    `WITH updated AS (
       UPDATE books SET
         file_hash = coalesce(CAST(:sha256 AS text), CASE WHEN file_size = CAST(:bytes AS bigint) AND file_mtime_ns = CAST(:mtimeNs AS bigint) THEN file_hash END),
         reader_hash = coalesce(CAST(:readerHash AS text), CASE WHEN file_size = CAST(:bytes AS bigint) AND file_mtime_ns = CAST(:mtimeNs AS bigint) THEN reader_hash END),
         file_size = CAST(:bytes AS bigint), file_mtime_ns = CAST(:storedMtimeNs AS bigint),
         file_format = coalesce(CAST(:format AS text), file_format), page_source = :pageSource, page_count = :pageCount,
         title = CASE WHEN EXISTS (SELECT 1 FROM book_metadata m WHERE m.book_id = books.id) THEN title ELSE :title END,
         cover_hash = CASE WHEN :keepCover THEN cover_hash ELSE :coverHash END, state = :state, deleted_at = NULL, analyzed_at = now(), updated_at = now()
       WHERE id = :bookId RETURNING id, series_id
     ), paged AS (
       INSERT INTO book_pages (book_id, pages) SELECT id, CAST(:pages AS jsonb) FROM updated
       ON CONFLICT (book_id) DO UPDATE SET pages = excluded.pages
     ), cleared AS (
       DELETE FROM book_errors WHERE book_id = :bookId AND error_type = ANY(CAST(:cleared AS text[]))
     ), failed AS (
       INSERT INTO book_errors (book_id, error_type, message, details, fatal)
       SELECT updated.id, p.type, p.message, CAST(p.details AS jsonb), p.fatal
       FROM updated, unnest(CAST(:types AS text[]), CAST(:messages AS text[]), CAST(:details AS text[]), CAST(:fatals AS boolean[])) AS p (type, message, details, fatal)
       ON CONFLICT (book_id, error_type) DO UPDATE
         SET message = excluded.message, details = excluded.details, fatal = excluded.fatal, occurred_at = now()
     )
     -- The row of the book before the change: a statement does not see what it writes.
     SELECT s.id AS "seriesId", s.seed_due AS "aggregateDue", array_remove(ARRAY[
       CASE WHEN b.state <> :state THEN 'analyzed' END, CASE WHEN b.page_count <> :pageCount THEN 'pageCount' END,
       CASE WHEN b.file_hash IS DISTINCT FROM coalesce(CAST(:sha256 AS text), b.file_hash) THEN 'fileHash' END,
       CASE WHEN b.file_format <> coalesce(CAST(:format AS text), b.file_format) THEN 'fileFormat' END,
       CASE WHEN NOT :keepCover AND b.cover_hash IS DISTINCT FROM :coverHash THEN 'cover' END,
       CASE WHEN b.deleted_at IS NOT NULL THEN 'deleted' END], NULL) AS changed
     FROM updated JOIN series s ON s.id = updated.series_id JOIN books b ON b.id = updated.id`,
    {
      bookId: book.bookId,
      bytes: book.bytes,
      mtimeNs: book.mtimeNs,
      storedMtimeNs: book.unread ? markUnread(book.mtimeNs) : book.mtimeNs,
      sha256: book.sha256,
      readerHash: book.readerHash,
      format: book.format,
      pageSource: book.pageSource,
      pageCount: book.pageCount,
      title: book.title,
      keepCover: book.coverHash === 'keep',
      coverHash: book.coverHash,
      state: book.state,
      pages: JSON.stringify(book.pages.map((page) => ({ ...page, name: storable(page.name) }))),
      cleared: book.cleared.filter((type) => !problems.some((problem) => problem.type === type)),
      types: problems.map((problem) => problem.type),
      messages: problems.map((problem) => storable(problem.message)),
      // The driver's types do not allow null inside an array; PostgreSQL does.
      details: problems.map(({ details }) => (details ? JSON.stringify(details, storableMember) : null)) as string[],
      fatals: problems.map((problem) => problem.fatal),
    },
  )
  return rows[0] ?? null
}

/**
 * Records that an analyzed book could not be read this time: all of its data stays, including its state, since the file is
 * the same. False when the book was deleted.
 * @param failure.mtimeNs the true one, or marked for a retry
 */
export async function recordUnreadable(database: Knex, failure: { bookId: string; mtimeNs: string; problem: Problem }): Promise<boolean> {
  const { bookId, mtimeNs, problem } = failure
  // The reason why a book failed must not be lost: that row does not change.
  const { rows } = await database.raw(
    `WITH updated AS (
       UPDATE books SET file_mtime_ns = CAST(:mtimeNs AS bigint), deleted_at = NULL, updated_at = now() WHERE id = :bookId RETURNING id
     ), failed AS (
       INSERT INTO book_errors (book_id, error_type, message, details, fatal)
       SELECT id, :type, :message, CAST(:details AS jsonb), false FROM updated
       ON CONFLICT (book_id, error_type) DO UPDATE SET message = excluded.message, details = excluded.details, occurred_at = now()
         WHERE NOT book_errors.fatal
     )
     SELECT id FROM updated`,
    {
      bookId,
      mtimeNs,
      type: problem.type,
      message: storable(problem.message),
      details: problem.details ? JSON.stringify(problem.details, storableMember) : null,
    },
  )
  return rows.length > 0
}

/** A text that PostgreSQL can store: without the NUL character and halves of surrogate pairs, which names in archives do contain. */
export const storable = (text: string) => text.toWellFormed().replaceAll('\0', '\uFFFD')

const storableMember = (_key: string, value: unknown) => (typeof value === 'string' ? storable(value) : value)

/** A file turned out to be a different version than the scan saw: the next scan compares its folder in full. */
export async function forgetFolder(database: Knex, book: BookToAnalyze): Promise<void> {
  await database('scanned_folders')
    .where({ library_id: book.library_id, path: folderOf(book.library_path, book.path) })
    .delete()
}

/** Folder of a file relative to the library's root, '' for the root itself. */
export function folderOf(root: string, path: string): string {
  const relative = path.slice(root.length + 1)
  const slash = relative.lastIndexOf('/')
  return slash === -1 ? '' : relative.slice(0, slash)
}
