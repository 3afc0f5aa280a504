import type { Knex } from 'knex'
import { folderOf } from '#core/catalog/library-place.ts'
import type { Suspicion } from '#core/catalog/suspect.ts'
import { storable, storableMember } from '#core/foundation/storable-text.ts'
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
  /** Whether the last analysis could not read the file for a temporary reason. */
  retry_due: boolean
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
  b.retry_due, b.deleted_at IS NOT NULL AS deleted`

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
  /** Makes every scan retry, because the file could not be read for a temporary reason. */
  retryDue: boolean
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
         file_size = CAST(:bytes AS bigint), file_mtime_ns = CAST(:mtimeNs AS bigint), retry_due = :retryDue,
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
     SELECT s.id AS "seriesId", s.aggregate_due AS "aggregateDue", array_remove(ARRAY[
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
      retryDue: book.retryDue,
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
 * @param attempt.retryDue whether every scan retries
 */
export async function recordUnreadable(
  database: Knex,
  attempt: { bookId: string; mtimeNs: string; retryDue: boolean; problem: Problem },
): Promise<boolean> {
  const { bookId, mtimeNs, retryDue, problem } = attempt
  // The reason why a book failed must not be lost: that row does not change.
  const { rows } = await database.raw(
    `WITH updated AS (
       UPDATE books SET file_mtime_ns = CAST(:mtimeNs AS bigint), retry_due = :retryDue, deleted_at = NULL, updated_at = now() WHERE id = :bookId RETURNING id
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
      retryDue,
      type: problem.type,
      message: storable(problem.message),
      details: problem.details ? JSON.stringify(problem.details, storableMember) : null,
    },
  )
  return rows.length > 0
}

/** A file turned out to be a different version than the scan saw: the next scan compares its folder in full. */
export async function forgetFolder(database: Knex, book: BookToAnalyze): Promise<void> {
  await database('scanned_folders')
    .where({ library_id: book.library_id, path: folderOf(book.library_path, book.path) })
    .delete()
}
