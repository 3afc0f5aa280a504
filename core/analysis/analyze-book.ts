import type { Knex } from 'knex'
import { AnalysisBatches } from '#core/analysis/analysis-batches.ts'
import {
  type AnalysisToWrite,
  announcementsOf,
  describeBooks,
  findRot,
  finishWriting,
  hasReachedLimit,
  isInDoubt,
  isKnownContent,
  isToCompare,
  refuseToGiveUp,
  storeAnalyzed,
  unreadProblem,
  versionRead,
} from '#core/analysis/analysis-to-write.ts'
import {
  type AnalysisEnd,
  type BookToAnalyze,
  fileToAnalyze,
  findBooksToAnalyze,
  forgetFolder,
  type LockedBook,
  lockBooks,
  lockSeriesOf,
  type Patience,
  recordAnalyzed,
  recordUnreadable,
} from '#core/analysis/book-store.ts'
import { FileReport } from '#core/analysis/file-report.ts'
import { type FileVersion, isSameVersion, NO_FILE, readVersion, readVersions } from '#core/analysis/file-version.ts'
import { analyzeOrDescribe } from '#core/analysis/fit-analysis.ts'
import { listGoneDuplicates, relinkMoved } from '#core/analysis/relink-moved.ts'
import type { Duplicate } from '#core/analysis/relink-store.ts'
import { deathAmong, describeRefusal, mannerOf } from '#core/analysis/suspect.ts'
import { beginAlone, forgetSuspects, noteSuspects, recordRefused } from '#core/analysis/suspect-store.ts'
import { handleVerification } from '#core/analysis/verify-library.ts'
import { removeCovers } from '#core/covers/book-cover-files.ts'
import { listKnownIds } from '#core/database/known-ids-query.ts'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import { type Analyze, failedAnalysis } from '#core/fields/analysis.ts'
import { duringWork, noteWork } from '#core/foundation/current-work.ts'
import type { Log } from '#core/foundation/log.ts'
import { Precedence } from '#core/foundation/precedence.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import { aggregateAfter, aggregateSettled } from '#core/metadata/aggregate-series.ts'
import type { Settings } from '#core/settings/settings.ts'
import { StatementBatch } from '#core/tasks/statement-batch.ts'
import type { TaskAdder, TaskHandler, TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** A file that changes during analysis is analyzed again this many times; one that is still being copied is left to the next scan. */
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
/** How long a transaction of many books waits for the disks of their files; those that do not answer are written on their own. */
const DISK_MS = 500

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
    settings: Pick<Settings, 'dataFolder' | 'workers'>
  },
): void {
  const { tasks, settings, ...dependencies } = given
  // More than there are threads: while threads analyze some books, others are opened, which is mostly waiting for the disk.
  const filesAtOnce = settings.workers * 2 + 4
  const handler = analyzeBook({ ...dependencies, filesAtOnce, dataFolder: settings.dataFolder })
  tasks.handle('analyze_book', { concurrency: filesAtOnce + 2 * WRITTEN_TOGETHER }, handler)
  handleVerification({ database: dependencies.database, analyze: dependencies.analyze, analyzeBook: handler, tasks })
}

/**
 * The handler of `analyze_book`: analyzes one file and writes the result. A bad file is a result, never a failed task; only a disk that does
 * not answer at the moment fails an attempt. A file suspected of having stopped the server or a thread is analyzed alone.
 */
export function analyzeBook(given: Omit<Dependencies, 'announcer' | 'filesAtOnce' | 'precedence'> & Partial<Dependencies>): TaskHandler {
  const dependencies: Dependencies = { announcer: silentAnnouncer, filesAtOnce: 1, precedence: new Precedence(), ...given }
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
      if (end.kind !== 'alone' && end.kind !== 'died') return
      // Every repetition increases the suspicion count of the file, or analyzes it alone, until the file is refused.
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
  const isWaiting = book.state === 'pending' && !refused
  const before = book.deleted ? null : isWaiting ? known : await readVersion(fileToAnalyze(book), known)
  if (before === null && !book.deleted) return await reportVanished(context, book)
  if (book.suspicion && refused) {
    // Its series is not aggregated here: the data of the file may have stopped the server, not the file itself.
    await recordRefused(context.database, book.id, describeRefusal(book.suspicion))
    context.report.fail(book.id)
    announceErrors(context, book)
    return { kind: 'unchanged' }
  }
  const isFinished = before && run.params.force !== true && !book.retry_due && book.state !== 'pending' && isSameVersion(before, known)
  if (before && !isFinished) return await analyzeUntilStill(context, run, { book, known, before, leave })
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
    const analysis = await analyzeOrDescribe(context, { ...fileToAnalyze(book), verifyPages }, run.signal)
    noteWork()
    const death = deathAmong(analysis.problems)
    if (death !== null) {
      await noteSuspects(context.database, { bookIds: [book.id] }, death)
      return { kind: 'died' }
    }
    const read = versionRead(analysis)
    const after = read ?? (await readVersion(fileToAnalyze(book), known))
    if (after === null) return await reportVanished(context, book)
    leave()
    const isSame = isSameVersion(facts, after) && (analysis.file === null || analysis.file.mtimeNs === after.mtimeNs)
    const settled = read !== null || isSame
    if (settled) refuseToGiveUp(analysis, run.attempt)
    let end: AnalysisEnd = settled ? await record(context, book, { facts: after, known, analysis, acceptsContent }) : { kind: 'changed' }
    if (end.kind === 'changed' && change < CHANGES_MAX) {
      facts = (await readVersion(fileToAnalyze(book), known)) ?? after
      continue
    }
    if (end.kind === 'changed') {
      const message =
        'The file changed several times while it was read, like a file that is still being copied. Scan again when it is complete.'
      const failed = failedAnalysis({ type: 'other', message, fatal: true })
      end = await record(context, book, { facts: after, known, analysis: failed, isStill: false })
    }
    if (book.suspicion) await forgetSuspects(context.database, [book.id])
    if (analysis.problems.some(({ fatal }) => fatal)) context.report.fail(book.id)
    return end
  }
}

/**
 * Leaves a book whose file is missing to the next scan: only a scan of the whole library can distinguish a deleted file from a missing
 * disk, which affects thousands of files while thousands of analyses are queued.
 */
async function reportVanished({ database }: Context, book: BookToAnalyze): Promise<AnalysisEnd> {
  await forgetFolder(database, book)
  return { kind: 'unchanged' }
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

/** Only a file that was never analyzed can be a moved one. */
const newOnes = (all: readonly AnalysisToWrite[]) =>
  all.flatMap(({ book, analysis: { file } }) => (book.file_hash === null && file !== null ? [{ ...book, sha256: file.sha256 }] : []))

/** Writes many analyses in one transaction, except those of moved books. */
async function writeTogether(dependencies: Dependencies, all: readonly AnalysisToWrite[]): Promise<AnalysisEnd[]> {
  const { database } = dependencies
  const moved = await listGoneDuplicates(database, newOnes(all))
  const rest = all.filter(({ bookId }) => !moved.has(bookId))
  const ends = rest.length === 0 ? [] : await database.transaction((trx) => write(dependencies, trx, { all: rest, patience: 'skip' }))
  await finishWriting(dependencies, rest, ends)
  const endOf = new Map(rest.map((one, index) => [one, ends[index] as AnalysisEnd]))
  return all.map((one) => endOf.get(one) ?? { kind: 'alone' })
}

/** Writes one analysis, as that of the book that was moved here, if there is one. */
async function writeAlone(dependencies: Dependencies, one: AnalysisToWrite): Promise<AnalysisEnd> {
  const end = (await writeMoved(dependencies, one)) ?? (await dependencies.database.transaction((trx) => writeOne(dependencies, trx, one)))
  await finishWriting(dependencies, [one], [end])
  return end
}

async function writeOne(dependencies: Dependencies, trx: Knex.Transaction, one: AnalysisToWrite): Promise<AnalysisEnd> {
  const [end] = await write(dependencies, trx, { all: [one], patience: 'wait' })
  return end as AnalysisEnd
}

/** The file at the path is not the analyzed version; the transaction is rolled back. */
class FileChanged extends Error {}

/** If the file is a book that was moved here, updates its row with the new path and the analysis, both or neither; otherwise null. */
async function writeMoved(dependencies: Dependencies, one: AnalysisToWrite): Promise<AnalysisEnd | null> {
  const { database } = dependencies
  for (const duplicate of (await listGoneDuplicates(database, newOnes([one]))).get(one.book.id) ?? []) {
    try {
      const end = await database.transaction((trx) => writeRelinked(dependencies, trx, { one, duplicate }))
      if (end !== null) return end
    } catch (error) {
      if (error instanceof FileChanged) return { kind: 'changed' }
      throw error
    }
  }
  return null
}

/** Null when another copy of the file was faster. @throws FileChanged */
async function writeRelinked(
  dependencies: Dependencies,
  trx: Knex.Transaction,
  { one, duplicate }: { one: AnalysisToWrite; duplicate: Duplicate },
): Promise<AnalysisEnd | null> {
  const moved = await relinkMoved(trx, one.book, duplicate)
  if (!moved) return null
  // The book's data came with its row, and so did the locks.
  const [known] = await findBooksToAnalyze(trx, [duplicate.id])
  const { described = true, cover_locked = false } = known ?? {}
  const book = { ...one.book, described, cover_locked }
  const end = await writeOne(dependencies, trx, { ...one, book, bookId: duplicate.id, retryDue: false })
  if (end.kind === 'changed') throw new FileChanged()
  if (end.kind !== 'written' || moved.leftSeriesId === null) return end
  // It no longer contributes to the series that it left.
  if (described) await aggregateAfter(trx, [moved.leftSeriesId])
  return { ...end, due: [...end.due, moved.leftSeriesId] }
}

/** Locks the rows before it writes the cover files, so that of two analyses the later one never has the cover of the other. */
async function write(
  dependencies: Dependencies,
  trx: Knex.Transaction,
  { all, patience }: { all: readonly AnalysisToWrite[]; patience: Patience },
): Promise<AnalysisEnd[]> {
  const compared = new Set(all.filter(isToCompare))
  const idsOf = (some: Iterable<AnalysisToWrite>) => [...some].map(({ bookId }) => bookId)
  // Before the books: a change of the series is followed by changes of its books, and the two would wait for each other.
  const series = await lockSeriesOf(trx, idsOf(compared), patience)
  const books = await lockBooks(trx, idsOf(all), patience)
  const others = idsOf(all).filter((id) => !books.has(id))
  const existing = patience === 'skip' && others.length > 0 ? await listKnownIds(trx, 'books', others) : new Set<string>()
  const isFree = (one: AnalysisToWrite) =>
    patience === 'wait' || !compared.has(one) || series.has((books.get(one.bookId) as LockedBook).seriesId)
  const free = all.filter((one) => books.has(one.bookId) && isFree(one))
  const inDoubt = free.filter((one) => isInDoubt(one, books.get(one.bookId) as LockedBook))
  const versions = await readVersions(
    inDoubt.map(({ book, known }) => ({ ...fileToAnalyze(book), known })),
    patience === 'skip' ? DISK_MS : null,
  )
  const isStill = (one: AnalysisToWrite) => !inDoubt.includes(one) || isSameVersion(versions.get(one.book.path) ?? NO_FILE, one.facts)
  const still = free.filter(isStill)
  const rows = await storeAnalyzed(dependencies, still)
  const analyzed = await recordAnalyzed(trx, rows)
  const recorded = await describeBooks(
    trx,
    still.filter((one) => compared.has(one)),
    analyzed,
  )
  await removeCovers(dependencies.dataFolder, idsOf(still.filter((_, index) => rows[index]?.cover === null)))
  return all.map((one): AnalysisEnd => {
    const written = recorded.get(one.bookId)
    if (written) return written
    if (!books.has(one.bookId)) return { kind: existing.has(one.bookId) ? 'busy' : 'deleted' }
    if (!isFree(one)) return { kind: 'busy' }
    return { kind: versions.has(one.book.path) ? 'changed' : 'alone' }
  })
}
