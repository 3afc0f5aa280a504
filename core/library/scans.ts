import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { Static } from 'typebox'
import Type from 'typebox'
import type { Caller } from '#core/account/caller.ts'
import { hasSharingGrants } from '#core/account/user-store.ts'
import { refuse } from '#core/errors.ts'
import { scanLibrary } from '#core/library/scan-library.ts'
import {
  countPendingBooks,
  countQueuedAnalyses,
  endLostScans,
  endScan,
  findActiveScan,
  findLatestScan,
  findLibraryState,
  findScan,
  insertScan,
  listActiveScans,
  type ScanMode,
  type ScanRow,
} from '#core/library/scans-store.ts'
import type { Log } from '#core/log.ts'
import { Nullable, OneOf, Timestamp, Uuid } from '#core/schema.ts'
import type { TaskQueue } from '#core/task/task.ts'
import type { Rules } from '#core/template/rules.ts'

const Count = Type.Integer({ minimum: 0 })

/** How a scan stands. */
export const ScanStatus = Type.Object({
  libraryId: Uuid,
  taskId: Type.Optional(Nullable(Uuid)),
  mode: Type.Optional(OneOf(['normal', 'deep'])),
  status: Type.Enum(['idle', 'pending', 'processing', 'completed', 'failed', 'cancelled'], {
    description: '`idle`: never scanned; `startedAt` is then when the library was made.',
  }),
  filesTotal: Type.Integer({
    minimum: 0,
    description:
      'Book files found so far. This and the next three are 0 for whoever does not see every series: they count hidden ones too.',
  }),
  filesProcessed: Count,
  booksFound: Count,
  seriesFound: Count,
  pendingAnalysis: Type.Integer({
    minimum: 0,
    description: 'Books of the library that wait for analysis at this moment, whatever the scan does; only those that the caller may see.',
  }),
  errors: Type.Array(Type.String(), {
    description: 'They name files: empty for whoever may not change libraries or does not see every series.',
  }),
  startedAt: Timestamp,
  completedAt: Nullable(Timestamp),
})
export type ScanStatus = Static<typeof ScanStatus>

/**
 * Scans of libraries. Their work is the task `scan_library`, whose id is the scan's.
 * `by` is who asks; null = the house itself. The answer to a caller leaves out what they may not know.
 */
export interface Scans {
  /** @throws not_found; conflict when the library is switched off; scan_running */
  start(libraryId: string, mode?: ScanMode, by?: Caller | null): Promise<ScanStatus & { taskId: string }>
  /** The latest scan of the library. @throws not_found */
  getStatus(libraryId: string, by?: Caller | null): Promise<ScanStatus>
  /** Stops the scan and the analyses of the library; finished books stay, the others wait for the next scan. @throws not_found */
  cancel(libraryId: string): Promise<void>
  /** Says of the one scan that it was cancelled; its task is the caller's to cancel. */
  cancelOne(scanId: string): Promise<void>
  listActive(by?: Caller | null): Promise<ScanStatus[]>
}

/** Registers the handler of scans at the queue; call before its start(). */
export async function openScans(parts: { database: Knex; tasks: TaskQueue; rules: Rules; log: Log; dataFolder: string }): Promise<Scans> {
  const { database, tasks } = parts
  // Two: one that waits for a slow disk need not hold up another.
  tasks.handle('scan_library', { concurrency: 2 }, scanLibrary(parts))
  await endLostScans(database)

  async function getLibrary(libraryId: string): Promise<{ name: string; is_active: boolean; created_at: Date }> {
    return (await findLibraryState(database, libraryId)) ?? refuse('not_found', `There is no library ${libraryId}.`)
  }

  async function isRestricted(by: Caller | null): Promise<boolean> {
    return by !== null && (await hasSharingGrants(database, by.userId))
  }

  async function describe(row: ScanRow, by: Caller | null): Promise<ScanStatus & { taskId: string }> {
    const count = row.mode === 'deep' ? countQueuedAnalyses : countPendingBooks
    const restricted = await isRestricted(by)
    return {
      libraryId: row.library_id,
      taskId: row.id,
      mode: row.mode,
      status: row.status,
      ...(restricted
        ? { filesTotal: 0, filesProcessed: 0, booksFound: 0, seriesFound: 0 }
        : { filesTotal: row.files_total, filesProcessed: row.files_processed, booksFound: row.books_found, seriesFound: row.series_found }),
      pendingAnalysis: await count(database, row.library_id, restricted ? by : null),
      // They name paths of any series, and nothing tells which: whoever might not see one of them is told none.
      errors: by === null || (by.permissions.has('libraries-write') && !restricted) ? row.errors : [],
      startedAt: row.started_at.toISOString(),
      completedAt: row.completed_at?.toISOString() ?? null,
    }
  }

  return {
    async start(libraryId, mode = 'normal', by = null) {
      const library = await getLibrary(libraryId)
      if (!library.is_active) refuse('conflict', `The library "${library.name}" is switched off: switch it on (isActive) to scan it.`)
      const id = randomUUID()
      if (!(await insertScan(database, { id, libraryId, mode }))) {
        const lost = await endLostScans(database)
        if (lost === 0 || !(await insertScan(database, { id, libraryId, mode }))) refuse('scan_running')
      }
      try {
        await tasks.add({ id, type: 'scan_library', libraryId, dedupeKey: id, params: { mode } })
      } catch (error) {
        await endScan(database, id, { status: 'failed', errors: ['The scan could not be put in line.'] })
        throw error
      }
      const row = await findScan(database, id)
      return row ? await describe(row, by) : refuse('not_found', `The library ${libraryId} was deleted meanwhile.`)
    },

    async getStatus(libraryId, by = null) {
      const library = await getLibrary(libraryId)
      const row = await findLatestScan(database, libraryId)
      if (row) return await describe(row, by)
      const none = { filesTotal: 0, filesProcessed: 0, booksFound: 0, seriesFound: 0, pendingAnalysis: 0, errors: [] }
      return { libraryId, taskId: null, status: 'idle', ...none, startedAt: library.created_at.toISOString(), completedAt: null }
    },

    async cancel(libraryId) {
      await getLibrary(libraryId)
      const active = await findActiveScan(database, libraryId)
      if (active) {
        await endScan(database, active.id, { status: 'cancelled' })
        await tasks.cancel(active.id)
      }
      await tasks.cancelAll({ type: 'analyze_library', libraryId })
      await tasks.cancelAll({ type: 'analyze_book', libraryId })
    },

    async cancelOne(scanId) {
      await endScan(database, scanId, { status: 'cancelled' })
    },

    async listActive(by = null) {
      const rows = await listActiveScans(database)
      return await Promise.all(rows.map((row) => describe(row, by)))
    },
  }
}
