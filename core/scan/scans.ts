import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Static } from 'typebox'
import Type from 'typebox'
import type { Caller } from '#core/account/caller.ts'
import { visibleMessage } from '#core/account/path-view.ts'
import { isRestricted } from '#core/account/user-store.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { getLibraryRow } from '#core/analysis/named-records.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { TASK_STATUSES } from '#core/foundation/task-status.ts'
import { countUnsorted } from '#core/scan/found-file-store.ts'
import { rootKey, type ScanDependencies, scanLibrary } from '#core/scan/scan-library.ts'
import {
  countAwaited,
  endLostScans,
  endScan,
  findActiveScan,
  findLatestScan,
  findScan,
  insertScan,
  listActiveScans,
  listUnrelatedFolders,
  requestCancel,
  type ScanMode,
  type ScanRow,
} from '#core/scan/scan-store.ts'

const Count = Type.Integer({ minimum: 0 })
/** A scan stops between two batches, after a fraction of a second; if a disk hangs, the response comes before the scan has stopped. */
const CANCEL_WAIT_MS = 5_000
const CANCEL_LOOK_MS = 20

/** Folders that are listed; users with more look at some and find the others. */
const WARNINGS_MAX = 100

/** The state of a scan. */
export const ScanStatus = Noun('ScanStatus')({
  libraryId: Uuid,
  taskId: Type.Optional(Nullable(Uuid)),
  mode: Type.Optional(OneOf(['normal', 'deep'])),
  status: Type.Enum(['idle', ...TASK_STATUSES], {
    description: '`idle`: never scanned; `startedAt` is then the time when the library was created.',
  }),
  filesTotal: Type.Integer({
    minimum: 0,
    description:
      'Book files found so far. This and the next three are 0 for callers who do not see every series, because they count hidden ones too.',
  }),
  filesProcessed: Count,
  booksFound: Count,
  seriesFound: Count,
  pendingAnalysis: Type.Integer({
    minimum: 0,
    description:
      'Books of the library without an analysis, whether or not a task for them is queued; during a deep scan the queued analyses. Only those that the caller may see.',
  }),
  guard: Type.Optional(
    Nullable(
      Type.Object(
        { known: Count, missing: Count },
        {
          description:
            'So many of the known books were missing that nothing was marked as deleted, and the scan failed: a disk may be missing. Scan with `confirm=true` if they are gone for good.',
        },
      ),
    ),
  ),
  errors: Type.Array(Type.String(), {
    description: 'They name files: empty for callers who may not change libraries or do not see every series.',
  }),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Current problems to check: books that the strategy finds no series for, and folders that contain many unrelated titles, listed for callers who also see errors. Absent if there are none.',
    }),
  ),
  startedAt: Timestamp,
  completedAt: Nullable(Timestamp),
})
export type ScanStatus = Static<typeof ScanStatus>

/**
 * Scans of libraries. Their work is the task `scan_library`, whose id is the scan's.
 * `by` is the caller; null = the server itself. A response to a caller omits what they may not see.
 * Registers the handler of scans: create it before the queue's start().
 */
export class Scans {
  readonly #dependencies: ScanDependencies

  constructor(dependencies: ScanDependencies) {
    this.#dependencies = dependencies
    // Two: one that waits for a slow disk need not delay another.
    dependencies.tasks.handle('scan_library', { concurrency: 2 }, scanLibrary(dependencies))
  }

  /** Ends the scans that a killed server left; call before the queue's start(). */
  async endLost(): Promise<void> {
    await endLostScans(this.#dependencies.database)
  }

  async #isRestricted(by: Caller | null): Promise<boolean> {
    return by !== null && (await isRestricted(this.#dependencies.database, by))
  }

  async #describe(row: ScanRow, by: Caller | null): Promise<ScanStatus & { taskId: string }> {
    const restricted = await this.#isRestricted(by)
    const seesPaths = by === null || (by.permissions.has('libraries-write') && !restricted)
    // First: analyses write the folders, so when none is pending, what is read next is what they wrote.
    const pendingAnalysis = await countAwaited(this.#dependencies.database, row.library_id, row.mode, restricted ? by : null)
    const warnings = seesPaths ? await this.#warn(row.library_id) : []
    return {
      libraryId: row.library_id,
      taskId: row.id,
      mode: row.mode,
      status: row.status,
      ...(restricted
        ? { filesTotal: 0, filesProcessed: 0, booksFound: 0, seriesFound: 0 }
        : { filesTotal: row.files_total, filesProcessed: row.files_processed, booksFound: row.books_found, seriesFound: row.series_found }),
      pendingAnalysis,
      // They name paths of any series, without their ids: a caller who might not see one of them gets none.
      guard: restricted ? null : row.guard,
      errors: seesPaths ? row.errors.map((error) => (by === null ? error : visibleMessage(by, error))) : [],
      ...(warnings.length > 0 && { warnings }),
      startedAt: row.started_at.toISOString(),
      completedAt: row.completed_at?.toISOString() ?? null,
    }
  }

  async #warn(libraryId: string): Promise<string[]> {
    const { database } = this.#dependencies
    const unsorted = await countUnsorted(database, libraryId)
    const books = unsorted === 1 ? '1 book is' : `${unsorted} books are`
    return [
      ...(unsorted > 0 ? [`${books} in the series "Unsorted", because the strategy of the library finds no series for their paths.`] : []),
      ...describeUnrelated(await listUnrelatedFolders(database, libraryId, WARNINGS_MAX + 1)),
    ]
  }

  /** Requests that the scan stops and waits until it has; false when it had ended. */
  async #stop(scanId: string): Promise<boolean> {
    if (!(await requestCancel(this.#dependencies.database, scanId))) return false
    await this.#dependencies.tasks.cancel(scanId)
    for (const until = Date.now() + CANCEL_WAIT_MS; Date.now() < until; await sleep(CANCEL_LOOK_MS)) {
      await endLostScans(this.#dependencies.database)
      const scan = await findScan(this.#dependencies.database, scanId)
      if (!scan || (scan.status !== 'pending' && scan.status !== 'processing')) break
    }
    return true
  }

  /**
   * @param options.confirm the user confirms that the books missing from the folder are gone: even all of them are marked as deleted.
   *   Valid for this one scan, and only while the folder is the same one as now; automatic scans never confirm
   * @throws not_found; conflict when the library is disabled; scan_running
   */
  async start(
    libraryId: string,
    mode: ScanMode = 'normal',
    by: Caller | null = null,
    { confirm = false }: { confirm?: boolean | undefined } = {},
  ): Promise<ScanStatus & { taskId: string }> {
    const library = await getLibraryRow(this.#dependencies.database, by, libraryId)
    if (!library.is_active) refuse('conflict', `The library "${library.name}" is disabled: enable it (isActive) to scan it.`)
    const id = randomUUID()
    // Nobody can confirm a folder that does not exist now: the scan will report it.
    const confirmedRoot = confirm ? await stat(library.path).then(rootKey, () => null) : null
    const scan = { id, libraryId, mode, confirmedRoot }
    if (!(await insertScan(this.#dependencies.database, scan))) {
      const lost = await endLostScans(this.#dependencies.database)
      if (lost === 0 || !(await insertScan(this.#dependencies.database, scan))) refuse('scan_running')
    }
    try {
      await this.#dependencies.tasks.add({ id, type: 'scan_library', libraryId, dedupeKey: id, params: { mode } })
    } catch (error) {
      await endScan(this.#dependencies.database, id, { status: 'failed', errors: ['The scan could not be queued.'] })
      throw error
    }
    const row = await findScan(this.#dependencies.database, id)
    return row ? await this.#describe(row, by) : refuse('not_found', `The library ${libraryId} was deleted in the meantime.`)
  }

  /** The latest scan of the library. @throws not_found */
  async getStatus(libraryId: string, by: Caller | null = null): Promise<ScanStatus> {
    const library = await getLibraryRow(this.#dependencies.database, by, libraryId)
    let row = await findLatestScan(this.#dependencies.database, libraryId)
    // The process that ran it may have died while stopping.
    if (row?.cancel_requested && row.status !== 'cancelled' && (await endLostScans(this.#dependencies.database)) > 0)
      row = await findLatestScan(this.#dependencies.database, libraryId)
    if (row) return await this.#describe(row, by)
    const none = { filesTotal: 0, filesProcessed: 0, booksFound: 0, seriesFound: 0, pendingAnalysis: 0, errors: [] }
    return { libraryId, taskId: null, status: 'idle', ...none, startedAt: library.created_at.toISOString(), completedAt: null }
  }

  /**
   * Cancels the scan and the analyses of the library; finished books stay, the others wait for the next scan. Waits some seconds for the scan to
   * stop: its status is `cancelled` when nothing more is written, and not before. @throws not_found
   */
  async cancel(libraryId: string, by: Viewer | null = null): Promise<void> {
    await getLibraryRow(this.#dependencies.database, by, libraryId)
    const active = await findActiveScan(this.#dependencies.database, libraryId)
    if (active) await this.#stop(active.id)
    await this.#dependencies.tasks.cancelAll({ type: 'analyze_library', libraryId })
    await this.#dependencies.tasks.cancelAll({ type: 'analyze_book', libraryId })
  }

  /** Cancels the one scan in the same way; false when it had ended. */
  async cancelOne(scanId: string): Promise<boolean> {
    const scan = await findScan(this.#dependencies.database, scanId)
    const stopped = await this.#stop(scanId)
    if (scan && stopped) await this.#dependencies.tasks.cancelAll({ type: 'analyze_book', libraryId: scan.library_id })
    return stopped
  }

  async listActive(by: Caller | null = null): Promise<ScanStatus[]> {
    const rows = await listActiveScans(this.#dependencies.database, by)
    return await Promise.all(rows.map((row) => this.#describe(row, by)))
  }
}

/** What to do about a folder of many unrelated titles. */
export const describeUnrelatedFolder = (path: string): string =>
  `"${path}": this folder contains many unrelated titles, and its series has only the folder's name. Give each series a folder of its own.`

function describeUnrelated(paths: readonly string[]): string[] {
  const listed = paths.slice(0, WARNINGS_MAX).map(describeUnrelatedFolder)
  return paths.length > WARNINGS_MAX ? [...listed, '… and more'] : listed
}
