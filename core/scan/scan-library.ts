import type { Knex } from 'knex'
import { queueAnalyses } from '#core/analysis/analyze-book.ts'
import { folderOf } from '#core/catalog/library-folder.ts'
import { countLongMissed, findLibraryRow, type LibraryRow } from '#core/catalog/library-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { repeatPassing } from '#core/database/repeat-passing.ts'
import type { ReadSeriesFile } from '#core/fields/series-file.ts'
import type { Log } from '#core/foundation/log.ts'
import { Precedence } from '#core/foundation/precedence.ts'
import { aggregateDue } from '#core/metadata/aggregate-series.ts'
import { readBootClock } from '#core/scan/boot-clock.ts'
import {
  acceptFound,
  type ChangedFolder,
  countKnownBooks,
  countSeries,
  eachForgottenBook,
  forgetFolders,
  hasUnhashedBooks,
  listFolderDigests,
  listRetryPaths,
  noteMissed,
  recordFiles,
  recordFolders,
} from '#core/scan/found-file-store.ts'
import { hashText } from '#core/scan/hash-text.ts'
import { keepDevices } from '#core/scan/keep-devices.ts'
import { arrangeNow, needsArranging, queueArranging } from '#core/scan/layouts/arrange-library.ts'
import type { FolderDecision } from '#core/scan/layouts/decide-folder.ts'
import { keepLinks } from '#core/scan/links/keep-links.ts'
import { linksOf } from '#core/scan/links/link-targets.ts'
import { type Marked, markMissing } from '#core/scan/mark-missing.ts'
import { describeLoss, describeUnpurged, isMassLoss } from '#core/scan/mass-loss.ts'
import { followMissing } from '#core/scan/moves/follow-missing.ts'
import type { SeenFile } from '#core/scan/new-book-store.ts'
import { numberByPosition } from '#core/scan/position-store.ts'
import { listSparedFolders, purgeDeleted } from '#core/scan/purge-deleted.ts'
import { renameEdited } from '#core/scan/renumber.ts'
import { ScanNotes } from '#core/scan/scan-notes.ts'
import { isInPart } from '#core/scan/scan-part.ts'
import { checkPlacedRoot, rootKey } from '#core/scan/scan-root.ts'
import { makeScanDue } from '#core/scan/scan-schedule-store.ts'
import { beginScan, endScan, isCancelRequested, type ScanCounts, writeScanCounts } from '#core/scan/scan-store.ts'
import { listDescribedFolders } from '#core/scan/series-file-store.ts'
import { readSeriesFiles } from '#core/scan/series-files.ts'
import { type WalkBatch, walk } from '#core/scan/walk.ts'
import { FinalFailure, type TaskHandler, type TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Errors that are listed; the others are counted. A broken disk would otherwise fill the response. */
const ERRORS_MAX = 100
/** An index entry of PostgreSQL holds 2,704 bytes; it also contains the library's id. */
const PATH_BYTES_MAX = 2_500
/** The interval of progress updates, which are for people. */
const COUNTS_MS = 300

export interface ScanDependencies {
  database: Knex
  tasks: TaskQueue
  rules: Rules
  log: Log
  /** Absolute. */
  dataFolder: string
  /** What waits for scans. */
  precedence?: Precedence
  /** Without it, files that describe series are not read. */
  readSeriesFile?: ReadSeriesFile
  /** Starts what will analyze the books of a first scan, while the scan finds them. */
  prepareAnalyses?: () => void
  /** The least time between two scans that must both find a book missing before it is purged automatically. */
  purgeAfterSeconds: number
  /** After so many days, a missing book is purged automatically also if its folder is gone or empty. */
  purgeWithFolderAfterDays?: number
}

const PURGE_WITH_FOLDER_DAYS = 30

/** The state of one running scan. Memory: a number per changed file and a string per folder. */
interface Scan {
  run: TaskRun
  library: LibraryRow
  deep: boolean
  startedAt: Date
  /** The folder that is scanned, relative to the library; '' for all of it. */
  part: string
  confirmedRoot: string | null
  /** Null for all. */
  confirmedFolders: string[] | null
  /** See migrations/0008_scans.ts. */
  devices: Map<string, number>
  /** Whether the library had books before: new ones are provisional then. */
  hadBooks: boolean
  counts: ScanCounts
  countsWrittenAt: number
  errorCount: number
  notes: ScanNotes
  unchangedFolders: Set<string>
  /** Hashes of the paths in changed folders. */
  seen: Set<number>
  /** What could not be read; nothing at or below it counts as missing. */
  unreadable: Set<string>
  /** Folders with files whose paths are too long. */
  tooLong: Set<string>
  /** The files that describe series and lie in folders without books. */
  seriesFiles: WalkBatch['seriesFiles']
  queued: number
  /** The tasks of the last batch are being added. */
  queueing: Promise<void>
}

type Dependencies = ScanDependencies & { precedence: Precedence }

/** The handler of `scan_library`: walks the library's folder and brings its rows up to date. */
export function scanLibrary(given: ScanDependencies): TaskHandler {
  const dependencies = { precedence: new Precedence(), ...given }
  return async (run) => {
    const begun = await beginScan(dependencies.database, run.id, readBootClock())
    // Canceled before it began, or its library was deleted.
    if (!begun) return { skipped: true }
    try {
      const library = await findLibraryRow(dependencies.database, begun.libraryId)
      if (!library) return { skipped: true }
      const { startedAt, path, confirmedRoot, confirmedFolders } = begun
      const of = { library, deep: begun.mode === 'deep', startedAt, part: path ?? '', confirmedRoot, confirmedFolders }
      // From the beginning, as after the death of its server. The walk of an unchanged library takes moments.
      return await repeatPassing(async () => {
        // Else a new series would have the place of one that is still to move there, with its metadata.
        if (library.arrange_due) await arrangeNow(dependencies, library, run)
        return await scan(dependencies, run, of)
      })
    } catch (error) {
      if (run.signal.aborted) {
        // If the server stops, the task runs again, and the row is continued.
        if (await isCancelRequested(dependencies.database, run.id)) {
          await dependencies.tasks.cancelAll({ type: 'analyze_book', libraryId: begun.libraryId })
          // Last, because clients may rely on it that nothing more is written.
          await endScan(dependencies.database, run.id, { status: 'cancelled' })
        }
        throw error
      }
      dependencies.log.warn({ err: error, libraryId: begun.libraryId }, 'A scan failed')
      // Other errors mention statements and addresses, which belong in the log.
      const message =
        error instanceof FinalFailure
          ? error.message
          : 'The scan failed because of an error in the server; see its log. Start the scan again.'
      await endScan(dependencies.database, run.id, { status: 'failed', errors: [message] })
      throw new FinalFailure(message, { cause: error })
    }
  }
}

type Begun = Pick<Scan, 'library' | 'deep' | 'startedAt' | 'part' | 'confirmedRoot' | 'confirmedFolders'>

const beginState = (run: TaskRun, begun: Begun, hadBooks: boolean): Scan => ({
  ...begun,
  run,
  hadBooks,
  counts: { filesTotal: 0, filesProcessed: 0, booksFound: 0, seriesFound: 0, errors: [] },
  countsWrittenAt: Date.now(),
  errorCount: 0,
  notes: new ScanNotes(),
  devices: new Map(),
  unchangedFolders: new Set(),
  seen: new Set(),
  unreadable: new Set(),
  tooLong: new Set(),
  seriesFiles: [],
  queued: 0,
  queueing: Promise.resolve(),
})

async function scan(dependencies: Dependencies, run: TaskRun, begun: Begun): Promise<unknown> {
  const { database } = dependencies
  const { library } = begun
  const [root, known, knownBooks, described] = await Promise.all([
    checkPlacedRoot(library.path, dependencies.dataFolder),
    listFolderDigests(database, library.id),
    countKnownBooks(database, library.id),
    listDescribedFolders(database, library.id),
  ])
  if (knownBooks === 0) dependencies.prepareAnalyses?.()
  const state = beginState(run, begun, knownBooks > 0)
  const options = {
    root: library.path,
    start: begun.part,
    excludedPatterns: library.excluded_patterns,
    allowedFormats: library.allowed_formats,
    strategy: library.series_strategy,
    links: await linksOf(dependencies, library),
  }
  const compare = begun.deep ? new Map<string, string>() : known
  try {
    for await (const batch of walk({ ...options, known: compare, described }, run.signal)) await recordBatch(dependencies, state, batch)
  } finally {
    // Nothing is added after the end of a scan.
    await state.queueing
  }
  run.signal.throwIfAborted()
  if (state.unreadable.has(begun.part)) throw new FinalFailure(`${state.counts.errors[0]}. No book was marked as deleted.`)
  const after = await checkPlacedRoot(library.path, dependencies.dataFolder)
  if (rootKey(after) !== rootKey(root)) {
    throw new FinalFailure(
      `"${library.path}" was replaced by another folder during the scan. Is its disk mounted? No book was marked as deleted.`,
    )
  }
  const isConfirmed = begun.confirmedRoot === rootKey(root)
  const marked = await markMissing(dependencies, {
    ...state,
    known: knownBooks,
    foldersBefore: known.size,
    confirmed: isConfirmed && begun.confirmedFolders === null ? 'all' : new Set(isConfirmed ? begun.confirmedFolders : []),
  })
  if (marked.missing > 0) marked.missing -= await followMissing(dependencies, { libraryId: library.id, since: begun.startedAt, run })
  await keepDevices(database, state)
  await keepLinks(database, { ...state, followed: state.notes.followed })
  // A folder recorded without its missing books would look complete. New files that may be them are not known yet: they would make up for them.
  if (marked.guard || marked.waiting > 0) await forgetFolders(database, library.id)
  else {
    const gone = [...known.keys()].filter(
      (folder) => isInPart(begun.part, folder) && !state.unchangedFolders.has(folder) && !state.seen.has(hashText(`${folder}/`)),
    )
    if (gone.length > 0) await forgetFolders(database, library.id, gone)
    // New files must not make up for what is found missing next.
    if (!marked.overlooks) await acceptFound(database, library.id)
  }
  await queuePending(dependencies, state)
  await renameEdited(dependencies, begun)
  run.signal.throwIfAborted()
  return await finish(dependencies, state, marked)
}

/** Queues books that need analysis but have no task. */
async function queuePending({ database, tasks }: ScanDependencies, state: Scan): Promise<void> {
  const { library } = state
  const unread = await listRetryPaths(database, library.id)
  if (unread.length > 0) {
    // An analysis may have failed before its folder was recorded.
    await forgetFolders(database, library.id, [...new Set(unread.map((path) => folderOf(library.path, path)))])
  }
  for await (const ids of eachForgottenBook(database, library.id, state.startedAt)) {
    state.queued += await queueAnalyses(tasks, library.id, ids, { deep: false })
    state.run.signal.throwIfAborted()
  }
}

/** Purges if allowed, and reports the result of the scan. @throws FinalFailure when a mass deletion was withheld: a user must check it */
async function finish(dependencies: ScanDependencies, state: Scan, { missing, guard, withheld, waiting }: Marked): Promise<unknown> {
  const { database } = dependencies
  const { library, run } = state
  // A book that is missing elsewhere may have been moved to an unreadable place.
  const complete = state.part === '' && withheld.length === 0 && !guard && waiting === 0 && state.unreadable.size === 0
  if (complete) await noteMissed(database, library.id, run.id)
  const { purgeDeletedOnScan } = (library.scanning_config ?? {}) as { purgeDeletedOnScan?: boolean }
  // Before the scan ends, so that no other one adds books in between.
  const purged = complete && purgeDeletedOnScan ? await purgeSettled(dependencies, state) : 0
  // Only now all series have rows.
  await describeSeries(dependencies, state, state.seriesFiles)
  await numberByPosition(database, state)
  await aggregateDue(database, library.id, run.signal)
  // The walk knows folders, not the series of other strategies.
  if (library.series_strategy !== 'series_volume') state.counts.seriesFound = await countSeries(database, library.id)
  const counts = withErrorCount(state)
  if (guard) {
    const message = describeLoss(guard, library.path)
    await endScan(database, run.id, { status: 'failed', errors: [message], counts, guard, withheld, notes: state.notes })
    throw new FinalFailure(message)
  }
  // What it could not decide, a scan after the analyses of the new files reports, also if nobody asks for one.
  if (waiting > 0) await makeScanDue(database, library.id)
  // Before the end, because nothing repeats a scan that has ended when the server is killed in between.
  if (await needsArranging(database, library, state.queued)) await queueArranging(dependencies.tasks, library.id, { afterAnalysis: true })
  await endScan(database, run.id, { status: 'completed', counts, complete, withheld, notes: state.notes })
  return {
    ...counts,
    errors: state.errorCount,
    missing,
    withheld: withheld.length,
    purged,
    analysesQueued: state.queued,
    symlinksSkipped: state.notes.skippedLinks.count,
    ...(state.notes.skippedLinks.count > 0 && { linksSkipped: state.notes.skippedLinks.files }),
  }
}

/**
 * Purges books that two complete scans, long enough apart, have found missing. A missing book may have been moved: only when every new file is
 * analyzed is it known which of them are old books, and until then none is purged. Nor is most of a library ever purged automatically.
 */
async function purgeSettled(dependencies: ScanDependencies, state: Scan): Promise<number> {
  const { database, log } = dependencies
  const { library, run } = state
  if (await hasUnhashedBooks(database)) {
    log.info(
      { libraryId: library.id },
      'Deleted books are kept until all new ones have been analyzed: a new one may be a deleted one that was moved',
    )
    return 0
  }
  const { purgeWithFolderAfterDays: sparedDays = PURGE_WITH_FOLDER_DAYS } = dependencies
  const spared = await listSparedFolders(database, library, sparedDays)
  const longMissed = { scanId: run.id, secondsApart: dependencies.purgeAfterSeconds, spared, sparedDays }
  const loss = await countLongMissed(database, library.id, longMissed)
  if (isMassLoss(loss)) {
    state.errorCount += 1
    state.counts.errors.unshift(describeUnpurged(loss, library.id))
    return 0
  }
  return await purgeDeleted(dependencies, library.id, run.signal, { longMissed })
}

async function recordBatch(dependencies: Dependencies, state: Scan, batch: WalkBatch): Promise<void> {
  const { database, rules, precedence } = dependencies
  const { library, deep, counts, run } = state
  const files: SeenFile[] = []
  const folders: ChangedFolder[] = []
  const decisions = new Map<string, FolderDecision>()
  let shared: ReadonlySet<string> = new Set()
  for (const part of batch.changed) {
    const prefix = part.folder === '' ? '' : `${part.folder}/`
    part.names.forEach((name, index) => {
      const path = prefix + name
      if (Buffer.byteLength(`${library.path}/${path}`) > PATH_BYTES_MAX) {
        state.tooLong.add(part.folder)
        noteError(
          state,
          path,
          `its path is longer than ${PATH_BYTES_MAX} bytes: it is not a book of the library until its folders or names are shorter`,
        )
        return
      }
      const [bytes, mtimeNs, sidecars] = [part.sizes[index] as number, part.mtimesNs[index] as bigint, part.sidecars[index] ?? null]
      files.push({ path, bytes, mtimeNs, sidecars })
      state.seen.add(hashText(path))
    })
    state.seen.add(hashText(`${part.folder}/`))
    if (part.decision && Buffer.byteLength(part.folder) <= PATH_BYTES_MAX) decisions.set(part.folder, part.decision)
    if (part.shared) shared = new Set(part.shared)
    if (part.digest === null) continue
    if (!state.tooLong.has(part.folder))
      folders.push({ path: part.folder, digest: part.digest, files: part.files, seriesFile: part.seriesFile })
    counts.seriesFound += part.folder === '' ? part.files : 1
  }
  for (const folder of batch.unchanged) state.unchangedFolders.add(folder)
  for (const { path, message } of batch.unreadable) {
    state.unreadable.add(path)
    noteError(state, path, message)
  }
  state.seriesFiles.push(...batch.seriesFiles)
  state.notes.add(batch)
  for (const { folder, device } of batch.devices) state.devices.set(folder, device)
  counts.filesTotal += files.length + batch.unchangedFiles
  // Each one-shot of an unchanged root counts as a series; counted here because the walk knows folders, not series.
  counts.seriesFound += batch.unchanged.length + Math.max(0, batch.unchangedRootFiles - 1)

  const scanned = { library, walked: { decisions, shared }, deep, provisional: state.hadBooks, rules }
  const record = () => recordFiles(database, scanned, files)
  const ids = files.length > 0 ? await precedence.first(record) : []
  await state.queueing
  run.signal.throwIfAborted()
  // While the rows of the next batch are written.
  state.queueing = queueBatch(dependencies, state, { folders, ids })
  state.queueing.catch(() => {})
  counts.filesProcessed = counts.filesTotal
  counts.booksFound = counts.filesTotal
  run.progress(counts.filesProcessed, counts.filesTotal, `${counts.seriesFound} series`)
  run.signal.throwIfAborted()
  if (Date.now() - state.countsWrittenAt < COUNTS_MS) return
  state.countsWrittenAt = Date.now()
  await writeScanCounts(database, run.id, withErrorCount(state))
}

/** After the rows, never before: a digest says that they exist. The last part of a folder may have no files, only the digest. */
async function queueBatch(
  dependencies: Dependencies,
  state: Scan,
  { folders, ids }: { folders: ChangedFolder[]; ids: string[] },
): Promise<void> {
  await describeSeries(dependencies, state, folders)
  await recordFolders(dependencies.database, state.library.id, folders)
  state.queued += await queueAnalyses(dependencies.tasks, state.library.id, ids, { deep: state.deep })
}

async function describeSeries(dependencies: ScanDependencies, state: Scan, folders: WalkBatch['seriesFiles']): Promise<void> {
  const request = { library: state.library, isForced: state.deep, folders, signal: state.run.signal }
  for (const { path, message } of await readSeriesFiles(dependencies, request)) noteError(state, path, message)
}

function noteError(state: Scan, path: string, message: string): void {
  const { errors } = state.counts
  state.errorCount += 1
  if (errors.length < ERRORS_MAX) errors.push(`"${path === '' ? state.library.path : path}": ${message}`)
}

function withErrorCount({ counts, errorCount }: Scan): ScanCounts {
  if (errorCount <= ERRORS_MAX) return counts
  return { ...counts, errors: [...counts.errors, `… and ${errorCount - ERRORS_MAX} more`] }
}
