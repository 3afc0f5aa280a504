import type { Knex } from 'knex'
import { type Viewer, visibleLibrary, visibleTo } from '#core/account/visibility.ts'
import { eachId } from '#core/database/each-by-id.ts'
import { countRows } from '#core/database/select.ts'
import { isUniqueViolation } from '#core/database/unique-violation.ts'
import { announce, announcePurged } from '#core/events/event-store.ts'
import { refuse } from '#core/foundation/errors.ts'

/** Rows per step through a library. */
const STEP = 2_000
/** Any constant of our own: libraries are created and moved one at a time, so that two can never be inside each other. */
const LIBRARY_LOCK = 7_201_884_316

export interface LibraryRow {
  id: string
  name: string
  path: string
  description: string | null
  is_active: boolean
  series_strategy: string
  series_config: unknown
  book_strategy: string
  book_config: unknown
  number_strategy: string
  number_config: unknown
  default_reading_direction: string
  allowed_formats: string[] | null
  excluded_patterns: string | null
  scanning_config: object | null
  devices: object | null
  /** Folders that links may lead to, as paths without links. */
  link_targets: string[]
  title_preprocessing_rules: unknown
  auto_match_conditions: unknown
  /** The layout has changed, and books have not been moved to their series yet. */
  arrange_due: boolean
  last_scanned_at: Date | null
  next_scan_at: Date | null
  created_at: Date
  updated_at: Date
}

const JSON_COLUMNS = [
  'series_config',
  'book_config',
  'number_config',
  'scanning_config',
  'title_preprocessing_rules',
  'auto_match_conditions',
]

export type LibraryChange = Partial<Omit<LibraryRow, 'id' | 'devices' | 'last_scanned_at' | 'created_at' | 'updated_at'>>

function columnsOf(change: LibraryChange): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(change)
      .filter(([, value]) => value !== undefined)
      .map(([column, value]) => [column, JSON_COLUMNS.includes(column) && value !== null ? JSON.stringify(value) : value]),
  )
}

export async function findLibraryRow(database: Knex, libraryId: string): Promise<LibraryRow | undefined> {
  return await database('libraries').where('id', libraryId).first()
}

interface LibraryFolders {
  id: string
  name: string
  path: string
  /** See {@link LibraryRow}. */
  linkTargets: string[]
}

/** The folders of all libraries. @param by only of those that this caller may see */
export async function listLibraryPaths(database: Knex, by: Viewer | null = null): Promise<LibraryFolders[]> {
  const libraries = database('libraries').select('id', 'name', 'path', 'link_targets AS linkTargets')
  if (by) libraries.modify(visibleLibrary(by, 'libraries.id'))
  return await libraries
}

/** Runs `work` while no other process creates or moves a library. */
export async function withLibraryLock<T>(database: Knex, work: (trx: Knex.Transaction) => Promise<T>): Promise<T> {
  return await database.transaction(async (trx) => {
    await trx.raw('SELECT pg_advisory_xact_lock(?)', [LIBRARY_LOCK])
    return await work(trx)
  })
}

/** Until the end of the transaction, nothing is added to the library: no scan either. */
export async function lockLibrary(trx: Knex.Transaction, libraryId: string): Promise<void> {
  await trx('libraries').where('id', libraryId).forUpdate().select('id')
}

/** Returns the id of the new row. @throws conflict when another library has the path */
export async function insertLibrary(trx: Knex.Transaction, row: LibraryChange & { name: string; path: string }): Promise<string> {
  try {
    const [inserted] = await trx('libraries').insert(columnsOf(row), ['id'])
    await announce(trx, [{ event: { type: 'library_updated', libraryId: inserted.id } }])
    return inserted.id
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    refuse('conflict', `There is a library at "${row.path}" already.`)
  }
}

export async function updateLibrary(trx: Knex.Transaction, libraryId: string, change: LibraryChange): Promise<void> {
  await trx('libraries')
    .where('id', libraryId)
    .update({ ...columnsOf(change), updated_at: trx.fn.now() })
  const fields = Object.keys(change).map((column) => column.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase()))
  await announce(trx, [{ event: { type: 'library_updated', libraryId, fields } }])
}

/** Records the devices of the folders of a library, see migrations/0008_scans.ts. */
export async function recordDevices(database: Knex, libraryId: string, devices: Record<string, number>): Promise<void> {
  await database('libraries')
    .where('id', libraryId)
    .update({ devices: JSON.stringify(devices) })
}

/** Existing books, some thousand at a time. */
export function listBooksToAnalyze(database: Knex, libraryId: string, scope: 'all' | 'unanalyzed'): AsyncGenerator<string[]> {
  const query = database('books').where('library_id', libraryId).whereNull('deleted_at')
  if (scope === 'unanalyzed') query.whereNot('state', 'analyzed')
  return eachId(query, STEP)
}

/** Which deleted books a scan may purge: those that another complete scan also found missing, long enough before it. */
export interface LongMissed {
  scanId: string
  /** Between the starts of the two scans, by the wall clock and, within one boot of the machine, by the boot clock. */
  secondsApart: number
  /** Books in these folders (absolute) are spared unless their loss was confirmed, or they are missing for so many days: their disk may be missing. */
  spared: readonly string[]
  sparedDays: number
}

/** The scans that came long enough before the given one. */
const EARLIER_SCANS = `SELECT s.id FROM scans s JOIN scans c ON c.id = :scanId AND s.library_id = c.library_id AND s.id <> c.id
  WHERE s.complete AND s.started_at <= c.started_at - make_interval(secs => :secondsApart)
    AND (s.boot_id IS NULL OR s.boot_id IS DISTINCT FROM c.boot_id OR s.boot_seconds <= c.boot_seconds - :secondsApart)`

const NOT_SPARED = `(loss_confirmed OR missing_since <= now() - make_interval(days => :sparedDays)
  OR NOT regexp_replace(path, '/[^/]*$', '') = ANY(CAST(:spared AS text[])))`

const bindingsOf = ({ spared, ...longMissed }: LongMissed) => ({ ...longMissed, spared: [...spared] })

/** Deletes the rows of books that are marked as deleted, at most `limit`; returns their ids. */
export async function deleteMarkedBooks(
  trx: Knex.Transaction,
  of: { libraryId: string } | { seriesId: string } | { bookIds: readonly string[] },
  which: { limit: number; longMissed?: LongMissed },
): Promise<string[]> {
  const [column, ids] =
    'libraryId' in of ? ['library_id', [of.libraryId]] : 'seriesId' in of ? ['series_id', [of.seriesId]] : ['id', of.bookIds]
  // A book that is restored at this moment is no longer deleted when its row is locked, and stays.
  const { rows } = await trx.raw(
    `DELETE FROM books WHERE deleted_at IS NOT NULL AND id IN (
       SELECT id FROM books WHERE ${column} = ANY(CAST(:ids AS uuid[])) AND deleted_at IS NOT NULL ${which.longMissed ? `AND missed_by IN (${EARLIER_SCANS}) AND ${NOT_SPARED}` : ''}
       ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED
     ) RETURNING id, series_id, library_id`,
    { ids: [...ids], limit: which.limit, ...(which.longMissed && bindingsOf(which.longMissed)) },
  )
  await announcePurged(trx, rows)
  return rows.map((row: { id: string }) => row.id)
}

/** How many books of a library that are marked as deleted the viewer sees. */
export async function countMarkedBooks(database: Knex, viewer: Viewer, libraryId: string): Promise<number> {
  const marked = database('books').where('books.library_id', libraryId).whereNotNull('books.deleted_at')
  return await countRows(marked.modify(visibleTo(viewer, 'books.series_id')))
}

/** How many books a library has, including deleted ones, and how many of them a scan would purge without a user's confirmation. */
export async function countLongMissed(
  database: Knex,
  libraryId: string,
  longMissed: LongMissed,
): Promise<{ known: number; missing: number }> {
  const { rows } = await database.raw(
    `SELECT count(*)::int AS known, count(*) FILTER (WHERE deleted_at IS NOT NULL AND missed_by IN (${EARLIER_SCANS})
       AND NOT loss_confirmed AND ${NOT_SPARED})::int AS missing
     FROM books WHERE library_id = :libraryId`,
    { libraryId, ...bindingsOf(longMissed) },
  )
  return rows[0]
}
