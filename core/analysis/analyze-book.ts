import type { Knex } from 'knex'
import { AnalysisBatches, type Together } from '#core/analysis/analysis-batches.ts'
import { analyzeOrDescribe, refuseToGiveUp } from '#core/analysis/analyze-file.ts'
import {
  type AnalysisToWrite,
  announcementsOf,
  hasReachedLimit,
  isInDoubt,
  isKnownContent,
  isToCompare,
  NO_FILE,
  storeAnalyzed,
  unreadProblem,
  versionRead,
} from '#core/analysis/analyzed-book.ts'
import {
  type BookToAnalyze,
  findBooksToAnalyze,
  forgetFolder,
  type LockedBook,
  listExisting,
  lockBooks,
  lockSeriesOf,
  type Patience,
  recordAnalyzed,
  recordUnreadable,
} from '#core/analysis/book-store.ts'
import { type Consequences, describeBooks, finishWriting } from '#core/analysis/describe-books.ts'
import { type FileVersion, isSameVersion, readVersion, readVersions } from '#core/analysis/file-version.ts'
import { listGoneDuplicates, relinkMoved } from '#core/analysis/relink-moved.ts'
import { openSharedLock } from '#core/analysis/shared-lock.ts'
import { deathAmong, describeRefusal, mannerOf } from '#core/analysis/suspect.ts'
import { beginAlone, forgetSuspects, noteSuspects, recordRefused } from '#core/analysis/suspect-store.ts'
import { removeCovers } from '#core/covers/cover-store.ts'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import { type Analyze, failedAnalysis, SMALL_FILE_BYTES_MAX } from '#core/fields/analysis.ts'
import { duringWork, noteWork } from '#core/foundation/current-work.ts'
import type { Log } from '#core/foundation/log.ts'
import { Precedence } from '#core/foundation/precedence.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import { aggregateAfter, aggregateSettled } from '#core/metadata/aggregate-series.ts'
import type { Settings } from '#core/settings/settings.ts'
import { StatementBatch } from '#core/tasks/statement-batch.ts'
import type { TaskHandler, TaskQueue, TaskRun } from '#core/tasks/task.ts'

/** A file that changes during analysis is analyzed again this many times; one that is still being copied is left to the next scan. */
const CHANGES_MAX = 3

/** Pages of one transaction: a megabyte of text. */
const PAGES_MAX = 5_000
/** While a scan has rows to write, an analysis waits for it this long: people see all books of a new library sooner. */
const SCAN_MS = 1_000
/** Small books are analyzed within milliseconds: with so many more tasks at a time, each statement of the queue is for some ten. */
const BURST = 92
/** So many small files take the place of another one: threads take several of them at a time, and must not wait for the next ones. */
const SMALL_PER_FILE = 8
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
  places: Semaphore
  smallPlaces: Semaphore
  finds: StatementBatch<string, BookToAnalyze | undefined>
  batches: AnalysisBatches<AnalysisToWrite, Written>
}

/**
 * Queues books for analysis; returns how many were not queued already.
 * @param options.deep analyzes unchanged books too, and reads every page. It has its own queue entry, otherwise an ordinary one would
 *   replace it.
 */
export async function queueAnalyses(
  tasks: TaskQueue,
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

/** Registers the handler of `analyze_book` with the queue; call before its start(). */
export function openBookAnalyses(
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
  tasks.handle('analyze_book', { concurrency: filesAtOnce, burst: BURST }, handler)
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
    places: new Semaphore(dependencies.filesAtOnce),
    smallPlaces: new Semaphore(dependencies.filesAtOnce * SMALL_PER_FILE),
    finds: new StatementBatch({ run: (ids) => findBooksToAnalyze(database, ids), retries: async () => false }),
    batches: new AnalysisBatches({
      together: (all) => writeTogether(dependencies, all),
      alone: (one) => writeAlone(dependencies, one),
      keyOf: ({ bookId }) => bookId,
      costOf: ({ analysis }) => analysis.pages.length,
      costMax: PAGES_MAX,
      // With fewer, threads would soon have no file to read.
      isMoreComing: () => context.places.running > dependencies.filesAtOnce / 2,
    }),
  }
  const lock = openSharedLock()
  return async (run) => {
    for (let alone = false; ; ) {
      const analyze = () => analyzeOnce(context, run, alone)
      const outcome: Outcome = await (alone ? lock.exclusive(analyze, run.signal) : lock.shared(analyze, run.signal))
      if (outcome === 'done') return
      // Every repetition increases the suspicion count of the file, or analyzes it alone, until the file is refused.
      alone = outcome === 'alone'
    }
  }
}

/** `alone`: it must not be analyzed concurrently with others; `again`: a thread died while analyzing it, which was recorded. */
type Outcome = 'done' | 'alone' | 'again'

async function analyzeOnce(context: Context, run: TaskRun, alone: boolean): Promise<Outcome> {
  const book = await context.finds.add(run.bookId as string)
  if (!book) return 'done'
  // A deep scan forces too, but nobody requested this file in particular.
  const retry = run.params.force === true && run.params.verifyPages !== true
  const manner = mannerOf(book.suspicion, { taskId: run.id, retry })
  if (manner === 'alone' && !alone) return 'alone'
  if (manner === 'alone') await beginAlone(context.database, book.id, run.id)
  const analyze = (leave: () => void) =>
    duringWork('file', nameOfFile(book), () => analyzeFound(context, run, { book, refused: manner === 'refused', leave }))
  await context.precedence.after(SCAN_MS, run.signal)
  const places = Number(book.file_size) <= SMALL_FILE_BYTES_MAX ? context.smallPlaces : context.places
  return await places.run(analyze, run.signal)
}

/** The name of a file in the report of a stall; long names lose their beginning, so the id comes last. */
const nameOfFile = ({ path, id }: BookToAnalyze) => `${path} (book ${id})`

/** `leave` lets the next file be read. */
async function analyzeFound(
  context: Context,
  run: TaskRun,
  { book, refused, leave }: { book: BookToAnalyze; refused: boolean; leave: () => void },
): Promise<Outcome> {
  const known: FileVersion = { bytes: book.file_size, mtimeNs: book.file_mtime_ns }
  // Reading the file of a waiting book shows its version, and whether it is there.
  const isWaiting = book.state === 'pending' && !refused
  const before = book.deleted ? null : isWaiting ? known : await readVersion(book.path, known)
  if (before === null && !book.deleted) return await reportVanished(context, book)
  if (book.suspicion && refused) {
    // Its series is not aggregated here: the data of the file may have stopped the server, not the file itself.
    await recordRefused(context.database, book.id, describeRefusal(book.suspicion))
    context.announcer.soon(announcementsOf(book, book.id, { seriesId: book.series_id, changed: ['analysisErrors'] }))
    return 'done'
  }
  const isFinished = before && run.params.force !== true && !book.retry_due && book.state !== 'pending' && isSameVersion(before, known)
  if (before && !isFinished) return await analyzeUntilStill(context, run, { book, known, before, leave })
  // Finished before a crash, or queued twice: a server that was killed may have written the book and not its series.
  await aggregateSettled(context.database, [book.series_id])
  return 'done'
}

/** Analyzes the file until it does not change in between, and writes the result. */
async function analyzeUntilStill(
  context: Context,
  run: TaskRun,
  { book, known, before, leave }: { book: BookToAnalyze; known: FileVersion; before: FileVersion; leave: () => void },
): Promise<'done' | 'again'> {
  const verifyPages = run.params.verifyPages === true
  let facts = before
  for (let change = 0; ; change++) {
    run.signal.throwIfAborted()
    // A suspected file must not take others with it.
    const file = { root: book.library_path, path: book.path, ...(!book.suspicion && { bytes: Number(facts.bytes) }) }
    const analysis = await analyzeOrDescribe(context, { ...file, verifyPages }, run.signal)
    noteWork()
    const death = deathAmong(analysis.problems)
    if (death !== null) {
      await noteSuspects(context.database, { bookIds: [book.id] }, death)
      return 'again'
    }
    const read = versionRead(analysis)
    const after = read ?? (await readVersion(book.path, known))
    if (after === null) return await reportVanished(context, book)
    leave()
    run.worked?.()
    const isSame = isSameVersion(facts, after) && (analysis.file === null || analysis.file.mtimeNs === after.mtimeNs)
    const settled = read !== null || isSame
    if (settled) refuseToGiveUp(analysis, run.attempt)
    if (!settled || !(await record(context, book, { facts: after, known, analysis }))) {
      if (change < CHANGES_MAX) {
        facts = (await readVersion(book.path, known)) ?? after
        continue
      }
      const message =
        'The file changed several times while it was read, like a file that is still being copied. Scan again when it is complete.'
      const failed = failedAnalysis({ type: 'other', message, fatal: true })
      await record(context, book, { facts: after, known, analysis: failed, isStill: false })
    }
    if (book.suspicion) await forgetSuspects(context.database, [book.id])
    return 'done'
  }
}

/**
 * Leaves a book whose file is missing to the next scan: only a scan of the whole library can distinguish a deleted file from a missing
 * disk, which affects thousands of files while thousands of analyses are queued.
 */
async function reportVanished({ database }: Context, book: BookToAnalyze): Promise<'done'> {
  await forgetFolder(database, book)
  return 'done'
}

/** @returns false when the file has changed since the analysis: nothing was written */
async function record(
  context: Context,
  book: BookToAnalyze,
  done: Pick<AnalysisToWrite, 'facts' | 'known' | 'analysis'> & { isStill?: boolean },
): Promise<boolean> {
  const { database, announcer } = context
  const { facts, known, analysis } = done
  const problem = unreadProblem(analysis)
  const retryDue = problem !== undefined && !hasReachedLimit(problem)
  if (problem && isKnownContent(book, facts, known)) {
    // The file has not changed: its recorded data is worth more than what could not be read now.
    await recordUnreadable(database, { bookId: book.id, mtimeNs: facts.mtimeNs, retryDue, problem })
    announcer.soon(announcementsOf(book, book.id, { seriesId: book.series_id, changed: ['analysisErrors'] }))
  } else {
    const written = await context.batches.add({ isStill: true, ...done, book, bookId: book.id, retryDue })
    if (written === 'changed') return false
  }
  // After the row, so that a scan which records the folder in between still finds the retry there.
  if (retryDue || !isSameVersion(facts, known)) await forgetFolder(database, book)
  return true
}

/** `changed`: the file at the path is not the analyzed version any more, and nothing was written. */
type Written = 'written' | 'changed'

const NONE: Consequences = { due: [], announcements: [] }

/** Only a file that was never analyzed can be a moved one. */
const newOnes = (all: readonly AnalysisToWrite[]) =>
  all.flatMap(({ book, analysis: { file } }) => (book.file_hash === null && file !== null ? [{ ...book, sha256: file.sha256 }] : []))

/** Writes many analyses in one transaction, except those of moved books. */
async function writeTogether(dependencies: Dependencies, all: readonly AnalysisToWrite[]): Promise<Together<Written>[]> {
  const moved = await listGoneDuplicates(dependencies.database, newOnes(all))
  const rest = all.filter(({ bookId }) => !moved.has(bookId))
  const outcomes = rest.length === 0 ? [] : await write(dependencies, dependencies.database, { all: rest, patience: 'skip' })
  await finishWriting(
    dependencies,
    outcomes.filter((outcome) => typeof outcome === 'object'),
  )
  const ends = new Map(rest.map((one, index) => [one, outcomes[index] as Outcomes]))
  return all.map((one) => {
    const end = ends.get(one) ?? 'alone'
    if (typeof end === 'object') return { answer: 'written' }
    return end === 'changed' ? { answer: 'changed' } : end
  })
}

/** Writes one analysis, as that of the book that was moved here, if there is one. */
async function writeAlone(dependencies: Dependencies, one: AnalysisToWrite): Promise<Written> {
  try {
    const end = (await recordMoved(dependencies, one)) ?? (await writeOne(dependencies, dependencies.database, one))
    await finishWriting(dependencies, [end])
    return 'written'
  } catch (error) {
    if (error instanceof FileChanged) return 'changed'
    throw error
  }
}

/** The file at the path is not the analyzed version; the transaction is rolled back. */
class FileChanged extends Error {}

/** @throws FileChanged */
async function writeOne(dependencies: Dependencies, database: Knex, one: AnalysisToWrite): Promise<Consequences> {
  const [end] = await write(dependencies, database, { all: [one], patience: 'wait' })
  if (typeof end !== 'object') throw new FileChanged()
  return end
}

/** If the file is a book that was moved here, updates its row with the new path and the analysis, both or neither; otherwise null. */
async function recordMoved(dependencies: Dependencies, one: AnalysisToWrite): Promise<Consequences | null> {
  const { book } = one
  for (const duplicate of (await listGoneDuplicates(dependencies.database, newOnes([one]))).get(book.id) ?? []) {
    const relinked = await dependencies.database.transaction(async (trx) => {
      const moved = await relinkMoved(trx, book, duplicate)
      if (!moved) return null
      // The book's data came with its row, and so did the locks.
      const [known] = await findBooksToAnalyze(trx, [duplicate.id])
      const { described = true, cover_locked = false } = known ?? {}
      const what = { ...one, book: { ...book, described, cover_locked }, bookId: duplicate.id, retryDue: false }
      const written = await writeOne(dependencies, trx, what)
      if (moved.leftSeriesId === null) return written
      // It no longer contributes to the series that it left.
      if (described) await aggregateAfter(trx, [moved.leftSeriesId])
      return { ...written, due: [...written.due, moved.leftSeriesId] }
    })
    if (relinked) return relinked
  }
  return null
}

type Outcomes = Consequences | 'changed' | 'busy' | 'alone'

/** One transaction; it locks the rows before writing the cover files, so that of two analyses the later one never has the cover of the other. */
async function write(
  dependencies: Dependencies,
  database: Knex,
  { all, patience }: { all: readonly AnalysisToWrite[]; patience: Patience },
): Promise<Outcomes[]> {
  const ends = await database.transaction((trx) => writeLocked(dependencies, trx, { all, patience }))
  const gone = all.filter((_, index) => ends[index] === NONE).map(({ bookId }) => bookId)
  await removeCovers(dependencies.dataFolder, gone)
  return ends
}

async function writeLocked(
  dependencies: Dependencies,
  trx: Knex.Transaction,
  { all, patience }: { all: readonly AnalysisToWrite[]; patience: Patience },
): Promise<Outcomes[]> {
  const compared = new Set(all.filter(isToCompare))
  const idsOf = (some: Iterable<AnalysisToWrite>) => [...some].map(({ bookId }) => bookId)
  // Before the books: a change of the series is followed by changes of its books, and the two would wait for each other.
  const series = await lockSeriesOf(trx, idsOf(compared), patience)
  const books = await lockBooks(trx, idsOf(all), patience)
  const others = idsOf(all).filter((id) => !books.has(id))
  const existing = patience === 'skip' && others.length > 0 ? await listExisting(trx, others) : new Set<string>()
  const isFree = (one: AnalysisToWrite) =>
    patience === 'wait' || !compared.has(one) || series.has((books.get(one.bookId) as LockedBook).seriesId)
  const free = all.filter((one) => books.has(one.bookId) && isFree(one))
  const inDoubt = free.filter((one) => isInDoubt(one, books.get(one.bookId) as LockedBook))
  const versions = await readVersions(
    inDoubt.map(({ book, known }) => ({ path: book.path, known })),
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
  await removeCovers(dependencies.dataFolder, idsOf(still.filter((_, index) => rows[index]?.coverHash === null)))
  return all.map((one): Outcomes => {
    const written = recorded.get(one.bookId)
    if (written)
      return { due: written.aggregateDue ? [written.seriesId] : [], announcements: announcementsOf(one.book, one.bookId, written) }
    if (!books.has(one.bookId)) return existing.has(one.bookId) ? 'busy' : NONE
    if (!isFree(one)) return 'busy'
    return versions.has(one.book.path) ? 'changed' : 'alone'
  })
}
