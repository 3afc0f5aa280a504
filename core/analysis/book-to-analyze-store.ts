import type { Knex } from 'knex'
import type { Suspicion } from '#core/analysis/suspect.ts'
import { BOOK_FILTER } from '#core/catalog/readable-book-query.ts'
import type { FileFilter, LibraryFile } from '#core/fields/analysis.ts'
import type { PlacedValues } from '#core/fields/placed-values.ts'
import { TITLE_STRATEGY } from '#core/metadata/embedded-store.ts'

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
  pages_hash: string | null
  state: 'pending' | 'analyzed' | 'failed'
  /** Whether the last analysis could not read the file for a temporary reason. */
  retry_due: boolean
  deleted: boolean
  library_path: string
  link_targets: string[]
  filter: FileFilter
  /** Whether a file beside it describes it. */
  has_sidecar: boolean
  /** Of a custom strategy whose pattern does not match, the fallback. */
  book_strategy: string
  number_strategy: string
  layout_values: PlacedValues | null
  side: boolean
  /** Where its own content was, while it has the path of another file. */
  displaced_from: string | null
  /** Whether metadata is stored that the analysis must compare with. */
  described: boolean
  /** Whether the extracted cover must not change. */
  cover_locked: boolean
  /** The suspicion against its file; null for none, as nearly always. */
  suspicion: Suspicion | null
}

const COLUMNS = `b.id, b.library_id, b.series_id, b.path, b.file_name, b.file_size::text, b.file_mtime_ns::text, b.file_hash, b.pages_hash, b.state,
  b.retry_due, b.deleted_at IS NOT NULL AS deleted, b.layout_values, b.side, b.displaced_from, b.sidecars IS NOT NULL AS has_sidecar`

/** Reads books in the order of their ids; undefined for those that do not exist. */
export async function findBooksToAnalyze(database: Knex, bookIds: readonly string[]): Promise<(BookToAnalyze | undefined)[]> {
  const { rows } = await database.raw(
    `SELECT ${COLUMNS}, l.path AS library_path, l.link_targets, ${BOOK_FILTER} AS filter, ${TITLE_STRATEGY} AS book_strategy, l.number_strategy, m.book_id IS NOT NULL AS described, coalesce('cover' = ANY(m.locks), false) AS cover_locked,
         CASE WHEN s.book_id IS NOT NULL THEN jsonb_build_object('times', s.times, 'reason', s.reason, 'aloneTask', s.alone_task) END AS suspicion
       FROM books b JOIN libraries l ON l.id = b.library_id LEFT JOIN book_metadata m ON m.book_id = b.id
       LEFT JOIN book_suspects s ON s.book_id = b.id WHERE b.id = ANY(CAST(? AS uuid[]))`,
    [[...bookIds]],
  )
  const found = new Map((rows as BookToAnalyze[]).map((book) => [book.id, book]))
  return bookIds.map((id) => found.get(id))
}

export const fileToAnalyze = ({ library_path, path, link_targets }: BookToAnalyze): Required<LibraryFile> => ({
  root: library_path,
  path,
  linkTargets: link_targets,
})
