import type { Knex } from 'knex'
import type { AlikeNames, NotedFiles } from '#core/scan/scan-notes.ts'
import type { WithheldFolder } from '#core/scan/withheld.ts'

/** How many files of one kind of failure a summary names: a screen has no room for more. */
const ERROR_EXAMPLES_MAX = 3
const UNRELATED_EXAMPLES_MAX = 3

/** The progress of scans and analyses, over all libraries. */
export interface LibraryProgress {
  /** Scans that wait or run. */
  scans: { library: string; filesTotal: number; filesProcessed: number }[]
  books: number
  failed: number
  /** Analyses of books that wait or run, including books that were analyzed before; without those that were scheduled for later. */
  analyses: number
  /** Libraries whose books are being queued for analysis. */
  libraryAnalyses: number
}

export interface LibrarySummary {
  libraries: {
    name: string
    path: string
    books: number
    series: number
    scanStatus: string | null
    scanErrors: unknown[]
    /** Folders whose missing books the last scan did not mark as deleted. */
    withheld: WithheldFolder[]
    skipped_links: NotedFiles | null
    alike_names: AlikeNames | null
    /** Some of the series whose folders contain many unrelated titles, by path, and how many there are. */
    unrelated: string[]
    unrelatedCount: number
  }[]
  books: number
  /** Books that have not been analyzed since they changed; without a task of its own such a book waits for the next scan. */
  pending: number
  /** Books that cannot be read, by kind of failure, most first. */
  failures: { errorType: string; count: number; examples: { path: string; message: string }[] }[]
}

/** A library with what a person at a terminal needs to recognize it. */
export interface ListedLibrary {
  id: string
  name: string
  path: string
  isActive: boolean
}

/** All libraries, by name. */
export async function listLibrariesByName(database: Knex): Promise<ListedLibrary[]> {
  return await database('libraries').orderBy('name').select('id', 'name', 'path', 'is_active as isActive')
}

/**
 * What the tasks report, which books cannot: a deep scan analyzes books that are analyzed already, and a pending book need not be queued.
 * One pass over books and tasks: with 100,000 of them about 50 ms, so call it at most once a second. Needs an open task queue.
 * @param secondsAhead counts analyses that begin so soon as well
 */
export async function getLibraryProgress(database: Knex, secondsAhead = 0): Promise<LibraryProgress> {
  // Before the tasks: a scan has queued everything when it ends.
  const { rows: scans } = await database.raw(
    `SELECT l.name AS library, s.files_total AS "filesTotal", s.files_processed AS "filesProcessed"
     FROM scans s JOIN libraries l ON l.id = s.library_id WHERE s.status IN ('pending', 'processing') ORDER BY l.name`,
  )
  const { rows } = await database.raw(
    `SELECT books.*, tasks.* FROM (
       SELECT count(*) AS books, count(*) FILTER (WHERE state = 'failed') AS failed FROM books WHERE deleted_at IS NULL
     ) books, (
       SELECT count(*) FILTER (WHERE type = 'analyze_book') AS analyses, count(*) FILTER (WHERE type = 'analyze_library') AS "libraryAnalyses"
       FROM tasks WHERE type IN ('analyze_book', 'analyze_library') AND (status = 'processing' OR (status = 'pending' AND (scheduled_for <= now() + make_interval(secs => ?) OR attempts > 0)))
     ) tasks`,
    [secondsAhead],
  )
  return { scans, ...rows[0] }
}

/** The state after a scan: books, those that wait, and those that failed and why. */
export async function getLibrarySummary(database: Knex): Promise<LibrarySummary> {
  const { rows: libraries } = await database.raw(
    `SELECT l.name, l.path, scan.status AS "scanStatus", coalesce(scan.errors, '[]') AS "scanErrors", coalesce(scan.withheld, '[]') AS withheld,
       scan.skipped_links, scan.alike_names,
       (SELECT count(*) FROM books b WHERE b.library_id = l.id AND b.deleted_at IS NULL) AS books,
       (SELECT count(*) FROM series s WHERE s.library_id = l.id AND s.unrelated) AS "unrelatedCount",
       array(SELECT s.path FROM series s WHERE s.library_id = l.id AND s.unrelated ORDER BY s.path LIMIT ${UNRELATED_EXAMPLES_MAX}) AS unrelated,
       (SELECT count(*) FROM series s WHERE s.library_id = l.id
          AND EXISTS (SELECT 1 FROM books b WHERE b.series_id = s.id AND b.deleted_at IS NULL)) AS series
     FROM libraries l
     LEFT JOIN LATERAL (SELECT status, errors, withheld, skipped_links, alike_names FROM scans WHERE library_id = l.id ORDER BY started_at DESC LIMIT 1) scan ON true
     ORDER BY l.name`,
  )
  const { rows: failures } = await database.raw(
    `SELECT error_type AS "errorType", count(*) AS count,
       (array_agg(json_build_object('path', path, 'message', message) ORDER BY path))[1:?] AS examples
     FROM book_errors e JOIN books b ON b.id = e.book_id
     WHERE e.fatal AND b.deleted_at IS NULL AND b.state = 'failed'
     GROUP BY error_type ORDER BY count(*) DESC, error_type`,
    [ERROR_EXAMPLES_MAX],
  )
  const waiting = await database('books').where('state', 'pending').whereNull('deleted_at').count({ count: '*' }).first()
  const books = libraries.reduce((sum: number, library: { books: number }) => sum + library.books, 0)
  return { libraries, books, pending: Number(waiting?.count), failures }
}
