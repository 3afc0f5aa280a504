import { dirname } from 'node:path'
import type { Knex } from 'knex'
import { clearedBy, uniqueByType } from '#core/catalog/analysis-problems.ts'
import {
  type AnalyzedBook,
  type BookToAnalyze,
  findBookToAnalyze,
  forgetFolder,
  lockBook,
  lockSeriesOf,
  type Recorded,
  recordAnalyzed,
  recordUnreadable,
} from '#core/catalog/book-store.ts'
import { type FileVersion, isSameVersion, readVersion } from '#core/catalog/file-version.ts'
import { deathAmong, describeRefusal, mannerOf } from '#core/catalog/suspect.ts'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import type { NewAnnouncement } from '#core/events/event.ts'
import { bookEvent, coverEvent } from '#core/events/event-store.ts'
import { duringWork, noteWork } from '#core/foundation/current-work.ts'
import type { Log } from '#core/foundation/log.ts'
import { openSharedLock } from '#core/foundation/shared-lock.ts'
import { storable } from '#core/foundation/storable-text.ts'
import { hasMetadata, recordEmbedded } from '#core/ingest/record-embedded.ts'
import { listGoneDuplicates, relinkMoved } from '#core/ingest/relink-moved.ts'
import { beginAlone, forgetSuspects, noteSuspects, recordRefused } from '#core/ingest/suspect-store.ts'
import { aggregateAfter, aggregateSettled } from '#core/metadata/aggregate-series.ts'
import { type Analysis, type AnalysisRequest, type Analyze, failedAnalysis, type Problem } from '#core/metadata/analysis.ts'
import { chooseTitle } from '#core/metadata/book-title.ts'
import { removeCovers, writeCover } from '#core/metadata/cover-store.ts'
import type { Embedded } from '#core/metadata/embedded.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { TaskHandler, TaskQueue, TaskRun } from '#core/tasks/task.ts'

/** Waking disks, returning network shares and temporarily missing descriptors: a retry within seconds is worthwhile. */
const PASSING_CODES = new Set<unknown>(['EIO', 'ESTALE', 'ETIMEDOUT', 'EMFILE', 'ENFILE'])
/** The queue's number of attempts; the last failure is recorded. */
const TRIES_MAX = 4
/** A file that changes during analysis is analyzed again this many times; one that is still being copied is left to the next scan. */
const CHANGES_MAX = 3

interface Dependencies {
  database: Knex
  analyze: Analyze
  /** Absolute. */
  dataFolder: string
  log: Log
  announcer: Announcer
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
  given: Omit<Dependencies, 'announcer' | 'dataFolder'> & {
    tasks: TaskQueue
    /** Without it, no events are sent. */
    announcer?: Announcer
    settings: Pick<Settings, 'dataFolder' | 'workers'>
  },
): void {
  const { tasks, settings, ...dependencies } = given
  // More than there are threads: while threads analyze some books, others are read or written, which is mostly waiting for the disk.
  tasks.handle('analyze_book', { concurrency: settings.workers * 2 + 4 }, analyzeBook({ ...dependencies, dataFolder: settings.dataFolder }))
}

/**
 * The handler of `analyze_book`: analyzes one file and writes the result. A bad file is a result, never a failed task; only a disk that does
 * not answer at the moment fails an attempt. A file suspected of having stopped the server or a thread is analyzed alone.
 */
export function analyzeBook(given: Omit<Dependencies, 'announcer'> & { announcer?: Announcer }): TaskHandler {
  const dependencies: Dependencies = { announcer: silentAnnouncer, ...given }
  const lock = openSharedLock()
  return async (run) => {
    for (let alone = false; ; ) {
      const analyze = () => analyzeOnce(dependencies, run, alone)
      const outcome: Outcome = await (alone ? lock.exclusive(analyze, run.signal) : lock.shared(analyze, run.signal))
      if (outcome === 'done') return
      // Every repetition increases the suspicion count of the file, or analyzes it alone, until the file is refused.
      alone = outcome === 'alone'
    }
  }
}

/** `alone`: it must not be analyzed concurrently with others; `again`: a thread died while analyzing it, which was recorded. */
type Outcome = 'done' | 'alone' | 'again'

async function analyzeOnce(dependencies: Dependencies, run: TaskRun, alone: boolean): Promise<Outcome> {
  const book = await findBookToAnalyze(dependencies.database, run.bookId as string)
  if (!book) return 'done'
  // A deep scan forces too, but nobody requested this file in particular.
  const retry = run.params.force === true && run.params.verifyPages !== true
  const manner = mannerOf(book.suspicion, { taskId: run.id, retry })
  if (manner === 'alone' && !alone) return 'alone'
  if (manner === 'alone') await beginAlone(dependencies.database, book.id, run.id)
  return await duringWork('file', nameOfFile(book), () => analyzeFound(dependencies, run, { book, refused: manner === 'refused' }))
}

/** The name of a file in the report of a stall; long names lose their beginning, so the id comes last. */
const nameOfFile = ({ path, id }: BookToAnalyze) => `${path} (book ${id})`

async function analyzeFound(
  dependencies: Dependencies,
  run: TaskRun,
  { book, refused }: { book: BookToAnalyze; refused: boolean },
): Promise<Outcome> {
  const known: FileVersion = { bytes: book.file_size, mtimeNs: book.file_mtime_ns }
  const before = book.deleted ? null : await readVersion(book.path, known)
  if (before === null && !book.deleted) return await reportVanished(dependencies, book)
  if (book.suspicion && refused) {
    // Its series is not aggregated here: the data of the file may have stopped the server, not the file itself.
    await recordRefused(dependencies.database, book.id, describeRefusal(book.suspicion))
    dependencies.announcer.soon(announcementsOf(book, book.id, { seriesId: book.series_id, changed: ['analysisErrors'] }))
    return 'done'
  }
  const isFinished = before && run.params.force !== true && !book.retry_due && book.state !== 'pending' && isSameVersion(before, known)
  if (before && !isFinished) return await analyzeUntilStill(dependencies, run, { book, known, before })
  // Finished before a crash, or queued twice: a server that was killed may have written the book and not its series.
  await aggregateSettled(dependencies.database, book.series_id)
  return 'done'
}

/** Analyzes the file until it does not change in between, and writes the result. */
async function analyzeUntilStill(
  dependencies: Dependencies,
  run: TaskRun,
  { book, known, before }: { book: BookToAnalyze; known: FileVersion; before: FileVersion },
): Promise<'done' | 'again'> {
  const verifyPages = run.params.verifyPages === true
  let facts = before
  for (let change = 0; ; change++) {
    run.signal.throwIfAborted()
    const analysis = await analyzeOrDescribe(dependencies, { root: book.library_path, path: book.path, verifyPages }, run.signal)
    noteWork()
    const death = deathAmong(analysis.problems)
    if (death !== null) {
      await noteSuspects(dependencies.database, { bookIds: [book.id] }, death)
      return 'again'
    }
    const after = await readVersion(book.path, known)
    if (after === null) return await reportVanished(dependencies, book)
    const settled = isSameVersion(facts, after) && (analysis.file === null || analysis.file.mtimeNs === after.mtimeNs)
    if (settled) refuseToGiveUp(analysis, run.attempt)
    if (!settled || !(await record(dependencies, book, { facts: after, known, analysis }))) {
      if (change < CHANGES_MAX) {
        facts = (await readVersion(book.path, known)) ?? after
        continue
      }
      const message =
        'The file changed several times while it was read, like a file that is still being copied. Scan again when it is complete.'
      const failed = failedAnalysis({ type: 'other', message, fatal: true })
      await record(dependencies, book, { facts: after, known, analysis: failed, isStill: false })
    }
    if (book.suspicion) await forgetSuspects(dependencies.database, [book.id])
    return 'done'
  }
}

/** @throws when the disk failed and the queue has a try left */
function refuseToGiveUp(analysis: Analysis, attempt: number): void {
  if (analysis.file !== null || attempt >= TRIES_MAX) return
  const passing = analysis.problems.find(({ details }) => PASSING_CODES.has(details?.code))
  if (passing) throw new Error(passing.message)
}

/**
 * Leaves a book whose file is missing to the next scan: only a scan of the whole library can distinguish a deleted file from a missing
 * disk, which affects thousands of files while thousands of analyses are queued.
 */
async function reportVanished({ database }: Dependencies, book: BookToAnalyze): Promise<'done'> {
  await forgetFolder(database, book)
  return 'done'
}

/** @throws only when the task was canceled or the server stops; any other error becomes a problem of the book */
async function analyzeOrDescribe(dependencies: Dependencies, request: AnalysisRequest, signal: AbortSignal): Promise<Analysis> {
  try {
    // The pool applies the deadline and the memory limit, from the moment when a thread takes the file.
    return await dependencies.analyze(request, { signal })
  } catch (error) {
    if (signal.aborted) throw error
    dependencies.log.error({ err: error, path: request.path }, 'An analysis failed unexpectedly')
    return failedAnalysis({
      type: 'other',
      message: 'The analysis of this file failed because of an error in the server.',
      details: { reason: error instanceof Error ? error.message : String(error) },
      fatal: true,
    })
  }
}

interface Done {
  /** Of the file, after the analysis. */
  facts: FileVersion
  /** Of the row, before it. */
  known: FileVersion
  analysis: Analysis
  /** False: write it for any file at the path; by default it is written only while the file is the analyzed version. */
  isStill?: boolean
}

/** The file at the path is not the analyzed version; the transaction is rolled back. */
class FileChanged extends Error {}

/** @returns false when the file has changed since the analysis: nothing was written */
async function record(dependencies: Dependencies, book: BookToAnalyze, done: Done): Promise<boolean> {
  try {
    await recordStill(dependencies, book, done)
    return true
  } catch (error) {
    if (error instanceof FileChanged) return false
    throw error
  }
}

async function recordStill(dependencies: Dependencies, book: BookToAnalyze, done: Done): Promise<void> {
  const { database } = dependencies
  const { facts, known, analysis } = done
  const { file } = analysis
  const problem = file === null ? analysis.problems.find(({ fatal }) => fatal) : undefined
  const retryDue = problem !== undefined && !hasReachedLimit(problem)
  if (problem && isKnownContent(book, facts, known)) {
    // The file has not changed: its recorded data is worth more than what could not be read now.
    await recordUnreadable(database, { bookId: book.id, mtimeNs: facts.mtimeNs, retryDue, problem })
    dependencies.announcer.soon(announcementsOf(book, book.id, { seriesId: book.series_id, changed: ['analysisErrors'] }))
  } else {
    const { due, announcements } =
      (await recordMoved(dependencies, book, done)) ?? (await write(dependencies, database, { ...done, book, bookId: book.id, retryDue }))
    // After the commit.
    dependencies.announcer.soon(announcements)
    for (const seriesId of due) await aggregateSettled(database, seriesId)
  }
  // After the row, so that a scan which records the folder in between still finds the retry there.
  if (retryDue || !isSameVersion(facts, known)) await forgetFolder(database, book)
}

/** The consequences of writing an analysis. */
interface Written {
  /** Series to aggregate when all of their analyses have ended. */
  due: string[]
  /** To be announced after the commit. */
  announcements: NewAnnouncement[]
}

function announcementsOf(
  book: BookToAnalyze,
  bookId: string,
  { seriesId, changed }: Pick<Recorded, 'seriesId' | 'changed'>,
): NewAnnouncement[] {
  if (changed.length === 0) return []
  const place = { id: bookId, series_id: seriesId, library_id: book.library_id }
  const announcements: NewAnnouncement[] = [{ event: { ...bookEvent('book_updated', place), fields: changed } }]
  return changed.includes('cover') ? [...announcements, coverEvent('book', place)] : announcements
}

/** The same file would need as much time or memory again: retrying with every scan would only cost that again. */
const hasReachedLimit = ({ details = {} }: Problem) => 'deadlineMs' in details || 'memoryMbMax' in details

/** Whether the row's hash is that of the current file. A pending book has the hash of the version before its change. */
const isKnownContent = (book: BookToAnalyze, facts: FileVersion, known: FileVersion) =>
  book.file_hash !== null && book.state !== 'pending' && isSameVersion(facts, known)

/** If the file is a book that was moved here, updates its row with the new path and the analysis, both or neither; otherwise null. */
async function recordMoved(dependencies: Dependencies, book: BookToAnalyze, done: Done): Promise<Written | null> {
  const { file } = done.analysis
  // Only a file that was never analyzed can be a moved one.
  if (book.file_hash !== null || file === null) return null
  for (const duplicate of await listGoneDuplicates(dependencies.database, book, file.sha256)) {
    const relinked = await dependencies.database.transaction(async (trx) => {
      const moved = await relinkMoved(trx, book, duplicate)
      if (!moved) return null
      // The book's data came with its row, and so did the locks.
      const known = await findBookToAnalyze(trx, duplicate.id)
      const { described = true, cover_locked = false } = known ?? {}
      const what = { ...done, book: { ...book, described, cover_locked }, bookId: duplicate.id, retryDue: false }
      const written = await write(dependencies, trx, what)
      if (moved.leftSeriesId === null) return written
      // It no longer contributes to the series that it left.
      if (described) await aggregateAfter(trx, moved.leftSeriesId)
      return { ...written, due: [...written.due, moved.leftSeriesId] }
    })
    if (relinked) return relinked
  }
  return null
}

/** One transaction; it locks the row before writing the cover file, so that of two analyses the later one never has the cover of the other. */
async function write(
  dependencies: Dependencies,
  database: Knex,
  what: Done & { book: BookToAnalyze; bookId: string; retryDue: boolean },
): Promise<Written> {
  const { book, bookId, facts, known, analysis, isStill = true } = what
  const withMetadata = isToCompare(book, analysis)
  const written = await database.transaction(async (trx) => {
    // Before the book: a change of the series is followed by changes of its books, and the two would wait for each other.
    if (withMetadata) await lockSeriesOf(trx, bookId)
    if (!(await lockBook(trx, bookId))) return null
    const now = isStill ? await readVersion(book.path, known) : facts
    if (now === null || !isSameVersion(now, facts)) throw new FileChanged()
    const row = await rowOf(dependencies, what)
    const recorded = withMetadata ? await writeWithMetadata(trx, book, row, analysis.embedded) : await recordAnalyzed(trx, row)
    if (row.coverHash === null) await removeCovers(dependencies.dataFolder, [bookId])
    return recorded
  })
  if (written !== null)
    return { due: written.aggregateDue ? [written.seriesId] : [], announcements: announcementsOf(book, bookId, written) }
  await removeCovers(dependencies.dataFolder, [bookId])
  return { due: [], announcements: [] }
}

/** The columns of an analysis; its cover is then in the data folder. */
async function rowOf({ dataFolder, log }: Dependencies, what: Parameters<typeof write>[2]): Promise<AnalyzedBook> {
  const { book, bookId, facts, analysis, retryDue } = what
  const problems = uniqueByType(analysis.problems)
  let coverHash: string | null = null
  if (analysis.cover && !book.cover_locked) {
    try {
      coverHash = await writeCover(dataFolder, bookId, analysis.cover.jpeg)
    } catch (error) {
      log.error({ err: error, bookId }, 'Could not write a cover')
      const reason = (error as NodeJS.ErrnoException).code ?? String(error)
      if (!problems.some((problem) => problem.type === 'thumbnail')) {
        problems.push({ type: 'thumbnail', message: `The server could not store the cover in the data folder (${reason}).`, fatal: false })
      }
    }
  }
  return {
    bookId,
    ...facts,
    retryDue,
    sha256: analysis.file?.sha256 ?? null,
    readerHash: analysis.file?.readerHash ?? null,
    format: analysis.format,
    pageSource: analysis.pageSource,
    pageCount: analysis.pageCount,
    pages: analysis.pages,
    title: storable(chooseTitle({ strategy: book.book_strategy, fileName: book.file_name, embedded: analysis.embedded.title })),
    coverHash: book.cover_locked ? 'keep' : coverHash,
    state: problems.some((problem) => problem.fatal) ? 'failed' : 'analyzed',
    problems,
    cleared: clearedBy(analysis),
  }
}

/**
 * Books without any metadata, most of a large library, need no comparison. A file whose metadata cannot be read now does not say that there is
 * none: the recorded data stays.
 */
function isToCompare(book: BookToAnalyze, { embedded, problems }: Analysis): boolean {
  if (problems.some(({ fatal }) => fatal)) return false
  if (hasMetadata(embedded, book.book_strategy)) return true
  return book.described && !problems.some(({ type }) => type === 'metadata')
}

async function writeWithMetadata(
  trx: Knex.Transaction,
  book: BookToAnalyze,
  row: AnalyzedBook,
  embedded: Embedded,
): Promise<Recorded | null> {
  const recorded = await recordAnalyzed(trx, row)
  if (recorded === null) return null
  // A series directly in the root of the library is made of one book: the sidecar files there belong to all of them.
  const { seriesSidecar, ...own } = embedded
  const merged = seriesSidecar && dirname(book.path) !== book.library_path ? { ...own, seriesSidecar } : own
  const record = { bookId: row.bookId, fileName: book.file_name, bookStrategy: book.book_strategy, embedded: merged }
  const changed = await recordEmbedded(trx, record)
  // A moved book now contributes to another series.
  if (!changed && row.bookId === book.id) return recorded
  return { ...recorded, changed: [...recorded.changed, ...(changed ?? [])], aggregateDue: await aggregateAfter(trx, recorded.seriesId) }
}
