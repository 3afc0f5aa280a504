import type { Knex } from 'knex'
import { type Viewer, visibleLibrary, visibleTo } from '#core/account/visibility.ts'
import { announce } from '#core/events/event-store.ts'
import type { TaskStatus } from '#core/foundation/task-status.ts'
import type { BootClock } from '#core/scan/boot-clock.ts'
import type { Guard } from '#core/scan/mass-loss.ts'
import type { AlikeNames, NotedFiles, ScanNotes } from '#core/scan/scan-notes.ts'
import { isInPart } from '#core/scan/scan-part.ts'
import type { WithheldFolder } from '#core/scan/withheld.ts'

export type ScanMode = 'normal' | 'deep'

export interface ScanCounts {
  filesTotal: number
  filesProcessed: number
  booksFound: number
  seriesFound: number
  errors: string[]
}

export interface ScanRow {
  id: string
  library_id: string
  mode: ScanMode
  status: TaskStatus
  files_total: number
  files_processed: number
  books_found: number
  series_found: number
  errors: string[]
  guard: Guard | null
  withheld: WithheldFolder[] | null
  left_out: NotedFiles | null
  skipped_links: NotedFiles | null
  alike_names: AlikeNames | null
  /** The folder of a scan of a part, relative to the library; null for all of it. */
  path: string | null
  cancel_requested: boolean
  started_at: Date
  completed_at: Date | null
}

/** False when a scan of the library waits or runs already. */
export async function insertScan(
  database: Knex,
  scan: {
    id: string
    libraryId: string
    mode: ScanMode
    confirmedRoot: string | null
    confirmedFolders: string[] | null
    path: string | null
  },
): Promise<boolean> {
  return await announcing(database, async (trx) => {
    const { rows } = await trx.raw(
      `INSERT INTO scans (id, library_id, mode, status, confirmed_root, confirmed_folders, path)
       VALUES (:id, :libraryId, :mode, 'pending', :confirmedRoot, :confirmedFolders, :path)
       ON CONFLICT (library_id) WHERE status IN ('pending', 'processing') DO NOTHING RETURNING id`,
      scan,
    )
    return { ids: idsOf(rows), result: rows.length > 0 }
  })
}

/** Changes scans and announces their new state. */
async function announcing<T>(database: Knex, change: (trx: Knex.Transaction) => Promise<{ ids: string[]; result: T }>): Promise<T> {
  return await database.transaction(async (trx) => {
    const { ids, result } = await change(trx)
    await announceScans(trx, ids)
    return result
  })
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)

async function announceScans(trx: Knex.Transaction, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const rows: ScanRow[] = await trx('scans').whereRaw('id = ANY(CAST(? AS uuid[]))', [[...ids]])
  const pending = new Map<string, number>()
  for (const { id, library_id, mode } of rows) pending.set(id, await countAwaited(trx, library_id, mode))
  await announce(
    trx,
    rows.map((row) => ({
      event: {
        type: 'scan_updated',
        mode: row.mode,
        libraryId: row.library_id,
        taskId: row.id,
        status: row.status,
        filesTotal: row.files_total,
        filesProcessed: row.files_processed,
        booksFound: row.books_found,
        seriesFound: row.series_found,
        pendingAnalysis: pending.get(row.id) ?? 0,
        guard: row.guard,
        errors: row.errors,
        startedAt: row.started_at.toISOString(),
        ...(row.completed_at && { completedAt: row.completed_at.toISOString() }),
      },
    })),
  )
}

/** Starts the scan, or continues it after a crash; null when it has ended or its library was deleted. */
export async function beginScan(database: Knex, scanId: string, clock: BootClock): Promise<BegunScan | null> {
  return await announcing(database, async (trx) => {
    const { rows } = await trx.raw(
      `UPDATE scans SET status = 'processing', started_at = now(), files_total = 0, files_processed = 0, books_found = 0, series_found = 0, errors = '[]',
         boot_id = :bootId, boot_seconds = :bootSeconds
       WHERE id = :scanId AND status IN ('pending', 'processing') AND NOT cancel_requested
       RETURNING library_id AS "libraryId", mode, started_at AS "startedAt", confirmed_root AS "confirmedRoot",
         confirmed_folders AS "confirmedFolders", path`,
      { scanId, ...clock },
    )
    return { ids: rows.length > 0 ? [scanId] : [], result: rows[0] ?? null }
  })
}

interface BegunScan {
  libraryId: string
  mode: ScanMode
  startedAt: Date
  /** Device and inode of the folder for which a user confirmed that its books may be gone. */
  confirmedRoot: string | null
  /** The folders, relative to it; null for all. */
  confirmedFolders: string[] | null
  path: string | null
}

export async function writeScanCounts(database: Knex, scanId: string, counts: ScanCounts): Promise<void> {
  await announcing(database, async (trx) => {
    const written = await trx('scans')
      .where('id', scanId)
      .where('status', 'processing')
      .update({
        files_total: counts.filesTotal,
        files_processed: counts.filesProcessed,
        books_found: counts.booksFound,
        series_found: counts.seriesFound,
        errors: JSON.stringify(counts.errors),
      })
    return { ids: written > 0 ? [scanId] : [], result: undefined }
  })
}

/** Ends a scan that has not ended yet; false when it had. Errors, if given, precede those of its files. */
export async function endScan(
  database: Knex,
  scanId: string,
  end: {
    status: 'completed' | 'failed' | 'cancelled'
    errors?: string[]
    counts?: ScanCounts
    complete?: boolean
    guard?: Guard
    withheld?: WithheldFolder[]
    notes?: Pick<ScanNotes, 'leftOut' | 'skippedLinks' | 'alikeNames'>
  },
): Promise<boolean> {
  const { counts } = end
  return await announcing(database, async (trx) => {
    const { rows } = await trx.raw(
      `WITH ended AS (
       UPDATE scans SET status = :status, completed_at = now(), complete = :complete, guard = CAST(:guard AS jsonb),
         withheld = CAST(:withheld AS jsonb), left_out = CAST(:leftOut AS jsonb),
         skipped_links = CAST(:skippedLinks AS jsonb), alike_names = CAST(:alikeNames AS jsonb),
         errors = CAST(:errors AS jsonb) || coalesce(CAST(:fileErrors AS jsonb), errors),
         files_total = coalesce(CAST(:filesTotal AS int), files_total), files_processed = coalesce(CAST(:filesProcessed AS int), files_processed),
         books_found = coalesce(CAST(:booksFound AS int), books_found), series_found = coalesce(CAST(:seriesFound AS int), series_found)
       WHERE id = :scanId AND status IN ('pending', 'processing') RETURNING library_id, path
     ), scanned AS (
       UPDATE libraries SET last_scanned_at = now() FROM ended WHERE libraries.id = ended.library_id AND :status = 'completed' AND ended.path IS NULL
     )
     SELECT library_id FROM ended`,
      {
        scanId,
        status: end.status,
        complete: end.complete ?? false,
        guard: end.guard ? JSON.stringify(end.guard) : null,
        withheld: end.withheld?.length ? JSON.stringify(end.withheld) : null,
        leftOut: noted(end.notes?.leftOut),
        skippedLinks: noted(end.notes?.skippedLinks),
        alikeNames: noted(end.notes?.alikeNames),
        errors: JSON.stringify(end.errors ?? []),
        fileErrors: counts ? JSON.stringify(counts.errors) : null,
        filesTotal: counts?.filesTotal ?? null,
        filesProcessed: counts?.filesProcessed ?? null,
        booksFound: counts?.booksFound ?? null,
        seriesFound: counts?.seriesFound ?? null,
      },
    )
    if (rows.length > 0 && end.withheld?.length)
      await announceWithheld(trx, { libraryId: rows[0].library_id, taskId: scanId }, end.withheld)
    return { ids: rows.length > 0 ? [scanId] : [], result: rows.length > 0 }
  })
}

const noted = (notes: NotedFiles | AlikeNames | undefined) => (notes?.count ? JSON.stringify(notes) : null)

async function announceWithheld(
  trx: Knex.Transaction,
  scan: { libraryId: string; taskId: string },
  withheld: readonly WithheldFolder[],
): Promise<void> {
  const books = withheld.reduce((sum, folder) => sum + folder.books, 0)
  await announce(trx, [{ event: { type: 'scan_withheld', ...scan, books, folders: [...withheld] } }])
}

/**
 * Ends active scans that no task will ever finish: canceled ones whose task no longer runs anywhere, and those whose server died between two
 * steps. Skips the newest of the latter for some seconds: their task may be about to be added. Returns how many.
 */
export async function endLostScans(database: Knex): Promise<number> {
  return await announcing(database, async (trx) => {
    const { rows } = await trx.raw(
      `UPDATE scans s SET status = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'failed' END, completed_at = now(),
       errors = CASE WHEN cancel_requested THEN errors ELSE '["The server was stopped in the middle of this scan: start it again."]'::jsonb || errors END
     WHERE status IN ('pending', 'processing') AND (cancel_requested OR started_at < now() - interval '10 seconds')
       AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = s.id AND t.type = 'scan_library' AND t.status IN ('pending', 'processing'))
     RETURNING id`,
    )
    return { ids: idsOf(rows), result: rows.length }
  })
}

/** Records a request to cancel the scan; false when it had ended. The scan is canceled when it has stopped, not before. */
export async function requestCancel(database: Knex, scanId: string): Promise<boolean> {
  return (await database('scans').where('id', scanId).whereIn('status', ['pending', 'processing']).update({ cancel_requested: true })) > 0
}

/** Whether a request to cancel the scan is recorded. */
export async function isCancelRequested(database: Knex, scanId: string): Promise<boolean> {
  return (await database('scans').where({ id: scanId, cancel_requested: true }).first('id')) !== undefined
}

export async function findLatestScan(database: Knex, libraryId: string): Promise<ScanRow | undefined> {
  return await database('scans').where('library_id', libraryId).orderBy('started_at', 'desc').first()
}

export async function findScan(database: Knex, scanId: string): Promise<ScanRow | undefined> {
  return await database('scans').where('id', scanId).first()
}

export async function findActiveScan(database: Knex, libraryId: string): Promise<ScanRow | undefined> {
  return await database('scans').where('library_id', libraryId).whereIn('status', ['pending', 'processing']).first()
}

/** @param by omits scans of libraries that this caller may not see */
export async function listActiveScans(database: Knex, by: Viewer | null): Promise<ScanRow[]> {
  const active = database('scans').whereIn('status', ['pending', 'processing']).orderBy('started_at')
  if (by) active.modify(visibleLibrary(by, 'scans.library_id'))
  return await active
}

/** Books of the library that wait for their first analysis, or for one after a change. @param by counts only what this caller may see */
async function countPendingBooks(database: Knex, libraryId: string, by: Viewer | null = null): Promise<number> {
  const pending = database('books').where('library_id', libraryId).where('state', 'pending').whereNull('deleted_at')
  if (by) pending.modify(visibleTo(by, 'books.series_id'))
  return Number((await pending.count({ count: '*' }).first())?.count)
}

/** Of the pending books of the library, those whose files were read, and look like parts of files. @param by as in `countPendingBooks` */
export async function countIncomplete(database: Knex, libraryId: string, by: Viewer | null): Promise<number> {
  // First: while a large library is new, its tasks and books have no statistics, and a join would look through all tasks for each book.
  const looks = database('tasks')
    .where({ type: 'analyze_book', library_id: libraryId, status: 'pending' })
    .whereRaw(`params -> 'look' ->> 'isIncomplete' = 'true'`)
    .select('book_id')
  const books = database
    .withMaterialized('looks', looks)
    .from('books')
    .whereRaw('id = ANY(ARRAY(SELECT book_id FROM looks))')
    .where('state', 'pending')
    .whereNull('deleted_at')
  if (by) books.modify(visibleTo(by, 'books.series_id'))
  return Number((await books.count({ count: '*' }).first())?.['count'])
}

/** Analyses of the library that wait or run, including books that were analyzed before. @param by as in `countPendingBooks` */
async function countQueuedAnalyses(database: Knex, libraryId: string, by: Viewer | null = null): Promise<number> {
  const queued = database('tasks AS t')
    .where({ 't.type': 'analyze_book', 't.library_id': libraryId })
    .whereIn('t.status', ['pending', 'processing'])
    // Not those that look again, minutes or hours later, whether a copy continues.
    .whereRaw(`(t.status = 'processing' OR t.params -> 'look' IS NULL)`)
    .modify((query) => {
      if (by) query.join('books', 'books.id', 't.book_id').modify(visibleTo(by, 'books.series_id'))
    })
  return Number((await queued.count({ count: '*' }).first())?.['count'])
}

/** Analyses that a scan of this mode has yet to see. @param by as in `countPendingBooks` */
export const countAwaited = (database: Knex, libraryId: string, mode: ScanMode, by: Viewer | null = null): Promise<number> =>
  (mode === 'deep' ? countQueuedAnalyses : countPendingBooks)(database, libraryId, by)

/** Paths of series, relative to the library, whose folders contain many unrelated titles. */
export async function listUnrelatedFolders(database: Knex, libraryId: string, limit: number): Promise<string[]> {
  return await database('series').where({ library_id: libraryId, unrelated: true }).orderBy('path').limit(limit).pluck('path')
}

/** What the last whole scan before this one, of a part, has withheld in other places. */
export async function listWithheldElsewhere(database: Knex, { id, library_id, path, started_at }: ScanRow): Promise<WithheldFolder[]> {
  const before: ScanRow | undefined = await database('scans')
    .where({ library_id, path: null })
    .whereNot({ id })
    .where('started_at', '<=', started_at)
    .whereIn('status', ['completed', 'failed'])
    .orderBy('started_at', 'desc')
    .first()
  return before?.withheld?.filter(({ folder }) => !isInPart(path ?? '', folder)) ?? []
}

/** The folder of a series, relative to its library: '' for a file in its root. @param by null for the server itself */
export async function findSeriesFolder(
  database: Knex,
  by: Viewer | null,
  seriesId: string,
): Promise<{ libraryId: string; folder: string } | null> {
  const found = database('series').where('series.id', seriesId)
  if (by) found.modify(visibleTo(by, 'series.id'))
  const row = await found.first('series.library_id', 'series.path', 'series.oneshot')
  return row
    ? { libraryId: row.library_id, folder: row.oneshot ? row.path.slice(0, Math.max(0, row.path.lastIndexOf('/'))) : row.path }
    : null
}
