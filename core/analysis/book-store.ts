import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { BookToAnalyze } from '#core/analysis/book-to-analyze-store.ts'
import { folderOf } from '#core/catalog/library-folder.ts'
import type { StoredCover } from '#core/covers/cover.ts'
import type { Analysis, BookErrorType, Page, Problem } from '#core/fields/analysis.ts'
import { runsOf } from '#core/foundation/json-lines.ts'
import { storable, storableMember } from '#core/foundation/storable-text.ts'

/** Whether a lock waits for other transactions, or leaves out the rows that they hold. */
export type Patience = 'wait' | 'skip'
const lockOf = (patience: Patience) => `FOR NO KEY UPDATE${patience === 'skip' ? ' SKIP LOCKED' : ''}`

/** Locks the series of these books against other changes until the transaction ends, in the order of their ids; returns the ids of the locked ones. */
export async function lockSeriesOf(trx: Knex, bookIds: readonly string[], patience: Patience): Promise<Set<string>> {
  if (bookIds.length === 0) return new Set()
  const { rows } = await trx.raw(
    `SELECT id FROM series WHERE id IN (SELECT series_id FROM books WHERE id = ANY(CAST(? AS uuid[]))) ORDER BY id ${lockOf(patience)}`,
    [[...bookIds]],
  )
  return new Set((rows as { id: string }[]).map(({ id }) => id))
}

/** A book that is locked. */
export interface LockedBook {
  seriesId: string
  path: string
  /** Its recorded version. */
  bytes: string
  mtimeNs: string
}

/** Locks books and their covers against other changes until the transaction ends, in the order of their ids; the result omits those that are not locked. */
export async function lockBooks(trx: Knex, bookIds: readonly string[], patience: Patience): Promise<Map<string, LockedBook>> {
  const { rows } = await trx.raw(
    `SELECT id, series_id AS "seriesId", path, file_size::text AS bytes, file_mtime_ns::text AS "mtimeNs" FROM books WHERE id = ANY(CAST(? AS uuid[])) ORDER BY id ${lockOf(patience)}`,
    [[...bookIds]],
  )
  return new Map((rows as (LockedBook & { id: string })[]).map(({ id, ...book }) => [id, book]))
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
  pagesHash: string | null
  format: Analysis['format']
  pageSource: Analysis['pageSource']
  pageCount: number
  pages: Page[]
  /** Used for a book without metadata of its own; otherwise its title is compared source by source. */
  title: string
  /** `keep` does not change the cover. */
  cover: StoredCover | null | 'keep'
  state: 'analyzed' | 'failed'
  problems: Problem[]
  /** Error types whose step succeeded, or that no longer belong to this file. */
  cleared: BookErrorType[]
}

/** What became of an analysis. Only `written` and `unchanged` are its end; after the others it is tried again, or the next scan finds the file. */
export type AnalysisEnd =
  | WrittenAnalysis
  /** The row says it already, or keeps its data with an error added. */
  | { kind: 'unchanged' }
  /** The row is gone. */
  | { kind: 'deleted' }
  /** The file at the path is not the analyzed version any more, and nothing was written. */
  | { kind: 'changed' }
  /** Another transaction holds its rows, and nothing was written. */
  | { kind: 'busy' }
  /** The row belongs to another file by now: its analysis begins anew. */
  | { kind: 'moved' }
  /** The file is still being written, and a task looks at it again. */
  | { kind: 'waits' }
  /** It needs a transaction of its own, or a time in which no other file is analyzed. */
  | { kind: 'alone' }
  /** A thread died while reading the file, which was recorded. */
  | { kind: 'died' }

export interface WrittenAnalysis {
  kind: 'written'
  /** The row, which is another than that of the file if the file is a moved book. */
  bookId: string
  /** Of the book. */
  seriesId: string
  /** Changed members of the book. */
  changed: string[]
  /** Series with data that is not aggregated yet, to be aggregated when all of their analyses have ended. */
  due: string[]
}

const GIVEN = `json_to_recordset(CAST(? AS json)) AS g (id uuid, bytes bigint, mtime bigint, retry_due boolean, sha256 text, reader_hash text, pages_hash text, format text,
  page_source text, page_count integer, pages jsonb, title text, keep_cover boolean, cover_hash text, cover_width integer,
  cover_height integer, cover_color text, cover_page integer, state text, cleared text[], problems json)`

const COVER_COLUMNS = ['cover_hash', 'cover_width', 'cover_height', 'cover_color', 'cover_page']

/**
 * Writes analyses of different books in one statement: everything or nothing. The result omits books that do not exist. Not prepared, like all statements of a
 * scan: a plan that was made for a small table reads all of a table that has grown since. With the ids as a list, the planner knows how many books there are.
 */
export async function recordAnalyzed(database: Knex, books: readonly AnalyzedBook[]): Promise<Map<string, WrittenAnalysis>> {
  if (books.length === 0) return new Map()
  const ids = books.map(({ bookId }) => bookId)
  const { rows } = await database.raw(
    `WITH given AS MATERIALIZED (SELECT * FROM ${GIVEN}), updated AS (
         UPDATE books b SET
           file_hash = coalesce(g.sha256, CASE WHEN b.file_size = g.bytes AND b.file_mtime_ns = g.mtime THEN b.file_hash END),
           reader_hash = coalesce(g.reader_hash, CASE WHEN b.file_size = g.bytes AND b.file_mtime_ns = g.mtime THEN b.reader_hash END),
           pages_hash = CASE WHEN g.pages_hash IS NULL AND (g.sha256 = b.file_hash OR g.sha256 IS NULL AND b.file_size = g.bytes AND b.file_mtime_ns = g.mtime)
             THEN b.pages_hash ELSE g.pages_hash END,
           displaced_from = CASE WHEN g.sha256 IS NULL THEN b.displaced_from END, file_size = g.bytes, file_mtime_ns = g.mtime, retry_due = g.retry_due,
           file_format = coalesce(g.format, b.file_format), page_source = g.page_source, page_count = g.page_count,
           title = CASE WHEN EXISTS (SELECT 1 FROM book_metadata m WHERE m.book_id = b.id) THEN b.title ELSE g.title END,
           ${COVER_COLUMNS.map((column) => `${column} = CASE WHEN g.keep_cover THEN b.${column} ELSE g.${column} END`).join(', ')}, state = g.state, deleted_at = NULL, analyzed_at = now(), updated_at = now()
         FROM given g WHERE b.id = g.id AND b.id = ANY(CAST(? AS uuid[])) RETURNING b.id, b.series_id
       ), paged AS (
         INSERT INTO book_pages (book_id, pages) SELECT id, g.pages FROM updated JOIN given g USING (id)
         ON CONFLICT (book_id) DO UPDATE SET pages = excluded.pages
       ), cleared AS (
         DELETE FROM book_errors e USING given g WHERE e.book_id = g.id AND e.book_id = ANY(CAST(? AS uuid[])) AND e.error_type = ANY(g.cleared)
       ), failed AS (
         INSERT INTO book_errors (book_id, error_type, message, details, fatal)
         SELECT id, p.type, p.message, p.details, p.fatal FROM updated JOIN given g USING (id)
         CROSS JOIN LATERAL json_to_recordset(g.problems) AS p (type text, message text, details jsonb, fatal boolean)
         ON CONFLICT (book_id, error_type) DO UPDATE
           SET message = excluded.message, details = excluded.details, fatal = excluded.fatal, occurred_at = now()
       )
       -- The row of the book before the change: a statement does not see what it writes.
       SELECT b.id, updated.series_id AS "seriesId", (SELECT aggregate_due FROM series s WHERE s.id = updated.series_id) AS "aggregateDue", array_remove(ARRAY[
         CASE WHEN b.state <> g.state THEN 'analyzed' END, CASE WHEN b.page_count <> g.page_count THEN 'pageCount' END,
         CASE WHEN b.file_hash IS DISTINCT FROM coalesce(g.sha256, b.file_hash) THEN 'fileHash' END,
         CASE WHEN b.file_hash <> g.sha256 AND b.pages_hash IS DISTINCT FROM coalesce(g.pages_hash, '') THEN 'content' END,
         CASE WHEN b.file_format <> coalesce(g.format, b.file_format) THEN 'fileFormat' END,
         CASE WHEN NOT g.keep_cover AND b.cover_hash IS DISTINCT FROM g.cover_hash THEN 'cover' END,
         CASE WHEN b.deleted_at IS NOT NULL THEN 'deleted' END], NULL) AS changed
       FROM updated JOIN given g USING (id) JOIN books b ON b.id = updated.id WHERE b.id = ANY(CAST(? AS uuid[]))`,
    [await textOf(books), ids, ids, ids],
  )
  const written = rows as { id: string; seriesId: string; aggregateDue: boolean; changed: string[] }[]
  return new Map(
    written.map(({ id, seriesId, aggregateDue, changed }) => [
      id,
      { kind: 'written', bookId: id, seriesId, changed, due: aggregateDue ? [seriesId] : [] },
    ]),
  )
}

/** The rows as JSON. A hundred thousand pages take a quarter of a second: other work has a turn after each run of them. */
async function textOf(books: readonly AnalyzedBook[]): Promise<string> {
  const rows: string[] = []
  for (const book of books) {
    const runs: string[] = []
    for (const run of runsOf(storablePages(book.pages))) {
      if (runs.length > 0) await nextTurn()
      runs.push(run)
    }
    rows.push(`${JSON.stringify(rowOf(book)).slice(0, -1)},"pages":[${runs.join()}]}`)
  }
  return `[${rows.join()}]`
}

function* storablePages(pages: readonly Page[]): Generator<Page> {
  for (const page of pages) yield { ...page, name: storable(page.name) }
}

/** The columns of a cover in the row of its book. */
export const coverColumnsOf = ({ hash, width, height, color, page }: StoredCover) => ({
  cover_hash: hash,
  cover_width: width,
  cover_height: height,
  cover_color: color,
  cover_page: page,
})

const rowOf = ({ problems, ...book }: AnalyzedBook) => ({
  id: book.bookId,
  bytes: book.bytes,
  mtime: book.mtimeNs,
  retry_due: book.retryDue,
  sha256: book.sha256,
  reader_hash: book.readerHash,
  pages_hash: book.pagesHash,
  format: book.format,
  page_source: book.pageSource,
  page_count: book.pageCount,
  title: book.title,
  keep_cover: book.cover === 'keep',
  ...(book.cover !== null && book.cover !== 'keep' && coverColumnsOf(book.cover)),
  state: book.state,
  cleared: book.cleared.filter((type) => !problems.some((problem) => problem.type === type)),
  problems: problems.map(({ type, message, details, fatal }) => ({
    type,
    message: storable(message),
    // Within its own text, whose members are made storable one by one.
    ...(details && { details: JSON.parse(JSON.stringify(details, storableMember)) }),
    fatal,
  })),
})

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

/**
 * Leaves a book whose file is missing to the next scan: only a scan of the whole library can distinguish a deleted file from a missing
 * disk, which affects thousands of files while thousands of analyses are queued.
 */
export async function leaveToScan(database: Knex, book: BookToAnalyze): Promise<AnalysisEnd> {
  await forgetFolder(database, book)
  return { kind: 'unchanged' }
}
