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
import { findLibraryRow } from '#core/catalog/library-store.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { RegularJobs } from '#core/foundation/regular-jobs.ts'
import { described, Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { TASK_STATUSES } from '#core/foundation/task-status.ts'
import { countUnsorted, UNSORTED_COUNTED_MAX } from '#core/scan/found-file-store.ts'
import { listWithheldFolders } from '#core/scan/missing-book-query.ts'
import { type ScanDependencies, scanLibrary } from '#core/scan/scan-library.ts'
import { describeNotes, describeUnrelatedFolder } from '#core/scan/scan-notes.ts'
import { checkScanPath } from '#core/scan/scan-part.ts'
import { rootKey } from '#core/scan/scan-root.ts'
import { describeScheduleProblem, startDueScans, startScansOnStart } from '#core/scan/scan-schedule.ts'
import {
  countAwaited,
  countIncomplete,
  endLostScans,
  endScan,
  findActiveScan,
  findLatestScan,
  findScan,
  findSeriesFolder,
  insertScan,
  listActiveScans,
  listUnrelatedFolders,
  listWithheldElsewhere,
  requestCancel,
  type ScanMode,
  type ScanRow,
} from '#core/scan/scan-store.ts'
import { findWatch } from '#core/scan/watch/describe-watch.ts'
import { describeWithheld, folderOfShown, WithheldFolder } from '#core/scan/withheld.ts'

const Count = Type.Integer({ minimum: 0 })
/** A scan stops between two batches, after a fraction of a second; if a disk hangs, the response comes before the scan has stopped. */
const CANCEL_WAIT_MS = 5_000
const CANCEL_LOOK_MS = 20

/** Folders that are listed; users with more look at some and find the others. */
const WARNINGS_MAX = 100

const ListedFiles = described(
  Noun('ListedFiles')({
    count: Count,
    files: Type.Array(Type.String(), { description: 'The first 100, or 5 links, relative to the library.' }),
  }),
  'Of `leftOut`, parts of other books: other formats of a book of Calibre, later volumes of a RAR archive; and downloads that have not ended. Of `linksSkipped`, links that are not followed. Absent if there are none, and for callers who see no errors.',
)

/** The state of a scan. */
export const ScanStatus = Noun('ScanStatus')({
  libraryId: Uuid,
  taskId: Type.Optional(Nullable(Uuid)),
  mode: Type.Optional(OneOf(['normal', 'deep'])),
  path: Type.Optional(
    Type.String({
      description: 'The folder of a scan of a part, relative to the library; absent for a whole scan, and for callers who see no errors.',
    }),
  ),
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
      'Books of the library without an analysis, whether or not a task for them is queued, also those whose files are still being written; during a deep scan the queued analyses. Only those that the caller may see.',
  }),
  incomplete: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Of these, books whose files look incomplete; they are read again within 10 minutes.' }),
  ),
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
  withheld: Type.Optional(
    Type.Array(WithheldFolder, {
      description:
        'Folders whose missing books were not marked as deleted, because their disk is probably missing. If they are gone for good, scan with `confirm=` and their names. Absent if there are none, and for callers who see no errors.',
    }),
  ),
  leftOut: Type.Optional(ListedFiles),
  linksSkipped: Type.Optional(ListedFiles),
  errors: Type.Array(Type.String(), {
    description: 'They name files: empty for callers who may not change libraries or do not see every series.',
  }),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Current problems to check: a schedule that is ignored; folders that cannot be watched; books that the strategy finds no series for; links that are not followed, names that differ only in case or Unicode form, and folders that contain many unrelated titles, listed for callers who also see errors. Absent if there are none.',
    }),
  ),
  watching: Type.Optional(
    Type.Boolean({ description: 'Whether a server notices changes in the folders of the library, see `scanningConfig.watch`.' }),
  ),
  watchProblem: Type.Optional(Type.String({ description: 'Why it, or a part of it, is not watched; also in `warnings`.' })),
  startedAt: Timestamp,
  completedAt: Nullable(Timestamp),
})
export type ScanStatus = Static<typeof ScanStatus>

interface ScanOptions {
  confirm?: boolean | readonly string[] | undefined
  path?: string | undefined
}

/**
 * Scans of libraries. Their work is the task `scan_library`, whose id is the scan's.
 * `by` is the caller; null = the server itself. A response to a caller omits what they may not see.
 * Registers the handler of scans: create it before the queue's start().
 */
export class Scans {
  readonly #dependencies: ScanDependencies
  #looking: ReturnType<RegularJobs['start']> | undefined

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
    const incomplete = pendingAnalysis > 0 ? await countIncomplete(this.#dependencies.database, row.library_id, restricted ? by : null) : 0
    const elsewhere = seesPaths && row.path !== null ? await listWithheldElsewhere(this.#dependencies.database, row) : []
    const withheld = seesPaths ? [...(row.withheld ?? []), ...elsewhere] : []
    const watch = await findWatch(this.#dependencies.database, row.library_id)
    const watched = describeWatched(watch, restricted)
    const notes = [...(watched.watchProblem ? [watched.watchProblem] : []), ...(seesPaths ? describeNotes(row) : [])]
    const warnings = [...describeAll(withheld, describeWithheld), ...notes, ...(await this.#warn(row.library_id, seesPaths))]
    return {
      libraryId: row.library_id,
      taskId: row.id,
      mode: row.mode,
      ...(seesPaths && row.path !== null && { path: row.path }),
      status: row.status,
      ...(restricted
        ? { filesTotal: 0, filesProcessed: 0, booksFound: 0, seriesFound: 0 }
        : { filesTotal: row.files_total, filesProcessed: row.files_processed, booksFound: row.books_found, seriesFound: row.series_found }),
      pendingAnalysis,
      ...(incomplete > 0 && { incomplete }),
      // They name paths of any series, without their ids: a caller who might not see one of them gets none.
      guard: restricted ? null : row.guard,
      ...(withheld.length > 0 && { withheld }),
      ...(seesPaths && row.left_out !== null && { leftOut: row.left_out }),
      ...(seesPaths && row.skipped_links !== null && { linksSkipped: row.skipped_links }),
      errors: seesPaths ? row.errors.map((error) => (by === null ? error : visibleMessage(by, error))) : [],
      ...(warnings.length > 0 && { warnings }),
      ...watched,
      startedAt: row.started_at.toISOString(),
      completedAt: row.completed_at?.toISOString() ?? null,
    }
  }

  async #warn(libraryId: string, seesPaths: boolean): Promise<string[]> {
    const { database } = this.#dependencies
    const library = await findLibraryRow(database, libraryId)
    const schedule = library ? describeScheduleProblem(library.scanning_config) : null
    const warnings = schedule === null ? [] : [schedule]
    if (!seesPaths) return warnings
    const unsorted = await countUnsorted(database, libraryId)
    if (unsorted > 0)
      warnings.push(
        `${describeUnsorted(unsorted)} in the series "Unsorted", because the strategy of the library finds no series for their paths.`,
      )
    return [...warnings, ...describeAll(await listUnrelatedFolders(database, libraryId, WARNINGS_MAX + 1), describeUnrelatedFolder)]
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
   * @param options.confirm the user confirms that the missing books are gone: all of them, or those of some folders that the last scan has withheld.
   *   Valid for this one scan, and only while the folder is the same one as now; automatic scans never confirm
   * @param options.path scans only this folder, or that of this file, relative to the library
   * @throws not_found; conflict when the library is disabled; scan_running; invalid_value for a folder that was not withheld, or a path that cannot be
   *   scanned; forbidden when somebody who does not see every series names a folder
   */
  async start(
    libraryId: string,
    mode: ScanMode = 'normal',
    by: Caller | null = null,
    options: ScanOptions = {},
  ): Promise<ScanStatus & { taskId: string }> {
    // The answer would tell whether something that is hidden from them is there.
    if ((options.path !== undefined || typeof options.confirm === 'object') && (await this.#isRestricted(by)))
      refuse(
        'forbidden',
        'You do not see every series, so you cannot name folders of a scan: scan the whole library, or a series that you see.',
      )
    return await this.#start(libraryId, mode, by, options)
  }

  async #start(
    libraryId: string,
    mode: ScanMode,
    by: Caller | null,
    { confirm = false, path }: ScanOptions,
  ): Promise<ScanStatus & { taskId: string }> {
    const library = await getLibraryRow(this.#dependencies.database, by, libraryId)
    if (!library.is_active) refuse('conflict', `The library "${library.name}" is disabled: enable it (isActive) to scan it.`)
    const id = randomUUID()
    // Nobody can confirm a folder that does not exist now: the scan will report it.
    const confirmedFolders = typeof confirm === 'boolean' ? null : await this.#readConfirmed(library, confirm)
    const confirmedRoot = confirm ? await askDisk(library.path, () => stat(library.path)).then(rootKey, () => null) : null
    const part = path === undefined ? '' : await checkScanPath(this.#dependencies.database, library, path)
    const scan = { id, libraryId, mode, confirmedRoot, confirmedFolders, path: part || null }
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

  /** Folders of the last scan, relative to the library. @throws invalid_value */
  async #readConfirmed({ id, path }: { id: string; path: string }, given: readonly string[]): Promise<string[]> {
    const withheld = await listWithheldFolders(this.#dependencies.database, id, path)
    return given.map((text) => {
      const folder = folderOfShown(text)
      return text !== '' && withheld.has(folder)
        ? folder
        : refuse(
            'invalid_value',
            `The last scan has not withheld the books of "${text.slice(0, 200)}". GET scan-status lists the folders (withheld).`,
            {
              details: [{ path: '/confirm', message: 'is not a folder that the last scan has withheld' }],
            },
          )
    })
  }

  /** Scans the folder of one series. @throws as {@link start} */
  async startSeries(seriesId: string, mode: ScanMode = 'normal', by: Caller | null = null): Promise<ScanStatus & { taskId: string }> {
    const series = await findSeriesFolder(this.#dependencies.database, by, seriesId)
    if (!series) refuse('not_found', `There is no series ${seriesId}, or you may not see it.`)
    return await this.#start(series.libraryId, mode, by, { path: series.folder || '.' })
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
    const watch = await findWatch(this.#dependencies.database, libraryId)
    const watched = describeWatched(watch, await this.#isRestricted(by))
    const warnings = watched.watchProblem ? [watched.watchProblem] : []
    return {
      libraryId,
      taskId: null,
      status: 'idle',
      ...none,
      ...watched,
      ...(warnings.length > 0 && { warnings }),
      startedAt: library.created_at.toISOString(),
      completedAt: null,
    }
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

  /** Starts a scan that nobody asked for; false while another one of the library waits or runs. */
  async #startUnasked(libraryId: string, mode: ScanMode): Promise<boolean> {
    return await this.start(libraryId, mode).then(
      () => true,
      (error: unknown) => {
        if (error instanceof AppError && error.code === 'scan_running') return false
        // It was deleted or disabled meanwhile.
        if (error instanceof AppError && ['not_found', 'conflict'].includes(error.code)) return true
        throw error
      },
    )
  }

  /** Starts the scans that are due by the schedules of libraries; after `startSchedules` a timer does so. */
  async startDue(): Promise<void> {
    await startDueScans({ ...this.#dependencies, start: (id, mode) => this.#startUnasked(id, mode) })
  }

  /** Starts the scans that libraries want at each start of the server. */
  async startOnStart(): Promise<void> {
    await startScansOnStart({ ...this.#dependencies, start: (id, mode) => this.#startUnasked(id, mode) })
  }

  startSchedules(jobs: RegularJobs): void {
    this.#looking ??= jobs.start('start due scans', () => this.startDue())
  }

  async close(): Promise<void> {
    await this.#looking?.stop()
  }

  async listActive(by: Caller | null = null): Promise<ScanStatus[]> {
    const rows = await listActiveScans(this.#dependencies.database, by)
    return await Promise.all(rows.map((row) => this.#describe(row, by)))
  }
}

/** @param restricted whether the caller may not see each series: problems count the folders of all */
const describeWatched = (watch: { isWatching: boolean; problem: string | null } | null, restricted: boolean) => ({
  watching: watch?.isWatching ?? false,
  ...(watch?.problem && !restricted && { watchProblem: watch.problem }),
})

function describeAll<T>(items: readonly T[], describe: (item: T) => string): string[] {
  const listed = items.slice(0, WARNINGS_MAX).map(describe)
  return items.length > WARNINGS_MAX ? [...listed, '… and more'] : listed
}

/** @param count as {@link countUnsorted} returns it */
function describeUnsorted(count: number): string {
  if (count > UNSORTED_COUNTED_MAX) return `More than ${UNSORTED_COUNTED_MAX.toLocaleString('en-US')} books are`
  return count === 1 ? '1 book is' : `${count} books are`
}
