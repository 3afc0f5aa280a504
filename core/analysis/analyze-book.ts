import type { Knex } from 'knex'
import { AnalysisBatches } from '#core/analysis/analysis-batches.ts'
import {
  type AnalysisToWrite,
  announcementsOf,
  findRot,
  hasReachedLimit,
  isKnownContent,
  refuseToGiveUp,
  unreadProblem,
  versionRead,
} from '#core/analysis/analysis-to-write.ts'
import { type AnalysisEnd, forgetFolder, leaveToScan, recordUnreadable } from '#core/analysis/book-store.ts'
import { type BookToAnalyze, fileToAnalyze, findBooksToAnalyze } from '#core/analysis/book-to-analyze-store.ts'
import { FileReport } from '#core/analysis/file-report.ts'
import { type FileVersion, isSameVersion, NO_FILE, readVersion } from '#core/analysis/file-version.ts'
import { FilesInMotion, neverStill } from '#core/analysis/files-in-motion.ts'
import { analyzeOrDescribe } from '#core/analysis/fit-analysis.ts'
import { deathAmong, describeRefusal, mannerOf } from '#core/analysis/suspect.ts'
import { beginAlone, forgetSuspects, noteSuspects, recordRefused } from '#core/analysis/suspect-store.ts'
import { handleVerification } from '#core/analysis/verify-library.ts'
import { writeAlone, writeTogether } from '#core/analysis/write-analyses.ts'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import type { Analyze } from '#core/fields/analysis.ts'
import { duringWork, noteWork } from '#core/foundation/current-work.ts'
import type { Log } from '#core/foundation/log.ts'
import { Precedence } from '#core/foundation/precedence.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import { aggregateSettled } from '#core/metadata/aggregate-series.ts'
import type { Settings } from '#core/settings/settings.ts'
import { StatementBatch } from '#core/tasks/statement-batch.ts'
import type { TaskAdder, TaskHandler, TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Without a quiet time, a file that changes during analysis is analyzed again this many times, and then left to the next scan. */
const CHANGES_MAX = 3

/** More than files are analyzed at a time: one of this weight is alone. */
const ALONE_WEIGHT = 1_000_000
/** Pages of one transaction: a megabyte of text. */
const PAGES_MAX = 5_000
/** While a scan has rows to write, an analysis waits for it this long: people see all books of a new library sooner. */
const SCAN_MS = 1_000
/**
 * Analyses of one batch. As many more collect while it is written, so that no thread waits for a batch: 1,200 tiny comics then take 82 batches, otherwise 134. A
 * more urgent task waits for all of their files.
 */
const WRITTEN_TOGETHER = 16

interface Dependencies {
  database: Knex
  analyze: Analyze
  /** Absolute. */
  dataFolder: string
  log: Log
  announcer: Announcer
  /** Files that are read at the same time. */
  filesAtOnce: number
  /** Analyses wait for scans. */
  precedence: Precedence
  /** By default, none is waited for. */
  motion: FilesInMotion
}

interface Context extends Dependencies {
  permits: Semaphore
  finds: StatementBatch<string, BookToAnalyze | undefined>
  batches: AnalysisBatches<AnalysisToWrite>
  report: FileReport
}

/**
 * Queues books for analysis; returns how many were not queued already.
 * @param options.deep analyzes unchanged books too, and reads every page. It has its own queue entry, otherwise an ordinary one would
 *   replace it.
 */
export async function queueAnalyses(
  tasks: TaskAdder,
  libraryId: string,
  bookIds: readonly string[],
  options: { deep: boolean; force?: boolean; parentId?: string },
): Promise<number> {
  if (bookIds.length === 0) return 0
  const { deep, force = deep, parentId } = options
  const suffix = deep ? ':deep' : force ? ':force' : ''
  return await tasks.addMany(
    bookIds.map((bookId) => ({
      type: 'analyze_book',
      libraryId,
      bookId,
      ...(parentId !== undefined && { parentId }),
      dedupeKey: bookId + suffix,
      ...(force ? { params: { force, verifyPages: deep } } : {}),
    })),
  )
}

/** Registers the handlers of `analyze_book` and `verify_library` with the queue; call before its start(). */
export function handleBookAnalyses(
  given: Pick<Dependencies, 'database' | 'analyze' | 'log'> & {
    tasks: TaskQueue
    /** Without it, analyses do not wait for scans. */
    precedence?: Precedence
    /** Without it, no events are sent. */
    announcer?: Announcer
    settings: Pick<Settings, 'dataFolder' | 'workers'> & Partial<Pick<Settings, 'quietMs'>>
  },
): void {
  const { tasks, settings, ...dependencies } = given
  // More than there are threads: while threads analyze some books, others are opened, which is mostly waiting for the disk.
  const filesAtOnce = settings.workers * 2 + 4
  const motion = new FilesInMotion(tasks, settings.quietMs ?? 0)
  const handler = analyzeBook({ ...dependencies, filesAtOnce, motion, dataFolder: settings.dataFolder })
  tasks.handle('analyze_book', { concurrency: filesAtOnce + 2 * WRITTEN_TOGETHER }, handler)
  handleVerification({ database: dependencies.database, analyze: dependencies.analyze, analyzeBook: handler, tasks })
}

/**
 * The handler of `analyze_book`: analyzes one file and writes the result. A bad file is a result, never a failed task; only a disk that does
 * not answer at the moment fails an attempt. A file suspected of having stopped the server or a thread is analyzed alone.
 */
export function analyzeBook(given: Pick<Dependencies, 'database' | 'analyze' | 'dataFolder' | 'log'> & Partial<Dependencies>): TaskHandler {
  const motion = new FilesInMotion(null, 0)
  const dependencies: Dependencies = { announcer: silentAnnouncer, filesAtOnce: 1, precedence: new Precedence(), motion, ...given }
  const { database } = dependencies
  const context: Context = {
    ...dependencies,
    permits: new Semaphore(dependencies.filesAtOnce),
    report: new FileReport(dependencies.announcer),
    finds: new StatementBatch({ run: (ids) => findBooksToAnalyze(database, ids), retries: async () => false }),
    batches: new AnalysisBatches({
      together: (all) => writeTogether(dependencies, all),
      alone: (one) => writeAlone(dependencies, one),
      keyOf: ({ bookId }) => bookId,
      costOf: ({ analysis }) => analysis.pages.length,
      costMax: PAGES_MAX,
      enough: WRITTEN_TOGETHER,
      // With fewer, threads would soon have no file to read.
      isMoreComing: () => context.permits.running > dependencies.filesAtOnce / 2,
    }),
  }
  const files = new Semaphore(ALONE_WEIGHT)
  return async (run) => {
    for (let alone = false; ; ) {
      const analyze = () => analyzeOnce(context, run, alone)
      const end: AnalysisEnd = await files.run(analyze, run.signal, { weight: alone ? ALONE_WEIGHT : 1 })
      if (end.kind !== 'alone' && end.kind !== 'died' && end.kind !== 'moved') return
      run.signal.throwIfAborted()
      // Every repetition increases the suspicion count of the file, or analyzes it alone, until the file is refused; or another row has found its file.
      alone = end.kind === 'alone'
    }
  }
}

async function analyzeOnce(context: Context, run: TaskRun, alone: boolean): Promise<AnalysisEnd> {
  const book = await context.finds.add(run.bookId as string)
  if (!book) return { kind: 'deleted' }
  // A deep scan forces too, but nobody requested this file in particular.
  const retry = run.params.force === true && run.params.verifyPages !== true
  const manner = mannerOf(book.suspicion, { taskId: run.id, retry })
  if (manner === 'alone' && !alone) return { kind: 'alone' }
  if (manner === 'alone') await beginAlone(context.database, book.id, run.id)
  const analyze = (leave: () => void) =>
    duringWork('file', nameOfFile(book), () => analyzeFound(context, run, { book, refused: manner === 'refused', leave }))
  await context.precedence.after(SCAN_MS, run.signal)
  return await context.permits.run((leave) => context.report.during(book, leave, analyze), run.signal)
}

/** The name of a file in the report of a stall; long names lose their beginning, so the id comes last. */
const nameOfFile = ({ path, id }: BookToAnalyze) => `${path} (book ${id})`

/** `leave` lets the next file be read. */
async function analyzeFound(
  context: Context,
  run: TaskRun,
  { book, refused, leave }: { book: BookToAnalyze; refused: boolean; leave: () => void },
): Promise<AnalysisEnd> {
  const known: FileVersion = { bytes: book.file_size, mtimeNs: book.file_mtime_ns }
  // Reading the file of a waiting book shows its version, and whether it is there.
  const isWaiting = book.state === 'pending' && !refused && run.params.look === undefined
  const before = book.deleted ? null : isWaiting ? known : await readVersion(fileToAnalyze(book), known)
  if (before === null && !book.deleted) return await leaveToScan(context.database, book)
  if (book.suspicion && refused) {
    // Its series is not aggregated here: the data of the file may have stopped the server, not the file itself.
    await recordRefused(context.database, book.id, describeRefusal(book.suspicion))
    context.report.fail(book.id)
    announceErrors(context, book)
    return { kind: 'unchanged' }
  }
  const isFinished = before && run.params.force !== true && !book.retry_due && book.state !== 'pending' && isSameVersion(before, known)
  if (before && !isFinished) {
    if (await context.motion.waitsBefore(run, book, before)) return { kind: 'waits' }
    return await analyzeUntilStill(context, run, { book, known, before, leave })
  }
  if (before) await context.motion.lookLater(run, book, before, null)
  // Finished before a crash, or queued twice: a server that was killed may have written the book and not its series.
  await aggregateSettled(context.database, [book.series_id])
  return { kind: 'unchanged' }
}

const announceErrors = ({ announcer }: Context, book: BookToAnalyze) =>
  announcer.soon(announcementsOf(book, { bookId: book.id, seriesId: book.series_id, changed: ['analysisErrors'] }))

/** Analyzes the file until it does not change in between, and writes the result. */
async function analyzeUntilStill(
  context: Context,
  run: TaskRun,
  { book, known, before, leave }: { book: BookToAnalyze; known: FileVersion; before: FileVersion; leave: () => void },
): Promise<AnalysisEnd> {
  const verifyPages = run.params.verifyPages === true
  const acceptsContent = run.params.acceptsContent === true
  let facts = before
  for (let change = 0; ; change++) {
    run.signal.throwIfAborted()
    const request = { ...fileToAnalyze(book), filter: book.filter, hasSidecar: book.has_sidecar, verifyPages }
    const found = await analyzeOrDescribe(context, request, run.signal)
    noteWork()
    const death = deathAmong(found.problems)
    if (death !== null) {
      await noteSuspects(context.database, { bookIds: [book.id] }, death)
      return { kind: 'died' }
    }
    const read = versionRead(found)
    const after = read ?? (await readVersion(fileToAnalyze(book), known))
    if (after === null) return await leaveToScan(context.database, book)
    leave()
    const analysis = context.motion.explain(run, after, found)
    if (await context.motion.waitsAfter(run, book, { before, after, analysis })) return { kind: 'waits' }
    const isSame = isSameVersion(facts, after) && (analysis.file === null || analysis.file.mtimeNs === after.mtimeNs)
    const settled = read !== null || isSame
    if (settled) refuseToGiveUp(analysis, run.attempt)
    let end: AnalysisEnd = settled ? await record(context, book, { facts: after, known, analysis, acceptsContent }) : { kind: 'changed' }
    if (end.kind === 'changed' && (context.motion.isOn || change < CHANGES_MAX)) {
      facts = (await readVersion(fileToAnalyze(book), known)) ?? after
      if (await context.motion.waitsAfter(run, book, { before: NO_FILE, after: facts, analysis })) return { kind: 'waits' }
      continue
    }
    if (end.kind === 'changed') end = await record(context, book, { facts: after, known, analysis: neverStill(), isStill: false })
    if (book.suspicion) await forgetSuspects(context.database, [book.id])
    if (analysis.problems.some(({ fatal }) => fatal)) context.report.fail(book.id)
    const id = end.kind === 'written' ? end.bookId : book.id
    if (end.kind !== 'deleted' && end.kind !== 'moved') await context.motion.lookLater(run, { ...book, id }, after, analysis)
    return end
  }
}

async function record(
  context: Context,
  book: BookToAnalyze,
  {
    acceptsContent = false,
    ...done
  }: Pick<AnalysisToWrite, 'facts' | 'known' | 'analysis'> & { isStill?: boolean; acceptsContent?: boolean },
): Promise<AnalysisEnd> {
  const { database } = context
  const { facts, known, analysis } = done
  const unread = unreadProblem(analysis)
  const problem = unread ?? (acceptsContent ? undefined : findRot(book, { facts, known, analysis }))
  const retryDue = unread !== undefined && !hasReachedLimit(unread)
  let end: AnalysisEnd = { kind: 'unchanged' }
  if (problem && isKnownContent(book, facts, known)) {
    // The file has not changed, as far as its size and time say: its recorded data is worth more than what could not be read now, or has rotted.
    await recordUnreadable(database, { bookId: book.id, mtimeNs: facts.mtimeNs, retryDue, problem })
    announceErrors(context, book)
  } else {
    end = await context.batches.add({ isStill: true, ...done, book, bookId: book.id, retryDue })
    if (end.kind === 'changed') return end
  }
  // After the row, so that a scan which records the folder in between still finds the retry there.
  if (retryDue || !isSameVersion(facts, known)) await forgetFolder(database, book)
  return end
}
