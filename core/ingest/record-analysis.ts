import { lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Knex } from 'knex'
import { clearedBy, uniqueByType } from '#core/catalog/analysis-problems.ts'
import {
  type AnalysedBook,
  type BookToAnalyse,
  findBookToAnalyse,
  forgetFolder,
  isMarkedUnread,
  lockBook,
  lockSeriesOf,
  markUnread,
  type Recorded,
  recordAnalysed,
  recordUnreadable,
  storable,
} from '#core/catalog/book-store.ts'
import { deathAmong, describeRefusal, mannerOf } from '#core/catalog/suspect.ts'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import type { NewAnnouncement } from '#core/events/event.ts'
import { bookEvent, coverEvent } from '#core/events/event-store.ts'
import { duringWork, noteWork } from '#core/foundation/current-work.ts'
import type { Log } from '#core/foundation/log.ts'
import { openSharedLock } from '#core/foundation/shared-lock.ts'
import { recordEmbedded, saysSomething } from '#core/ingest/record-embedded.ts'
import { listGoneDuplicates, relinkMoved } from '#core/ingest/relink-moved.ts'
import { beginAlone, forgetSuspects, noteSuspects, recordRefused } from '#core/ingest/suspect-store.ts'
import { aggregateAfter, aggregateSettled } from '#core/metadata/aggregate-series.ts'
import type { Analyse, Analysis, AnalysisRequest, Problem } from '#core/metadata/analysis.ts'
import { chooseTitle } from '#core/metadata/book-title.ts'
import { removeCovers, writeCover } from '#core/metadata/cover-store.ts'
import type { Embedded } from '#core/metadata/embedded.ts'
import type { TaskHandler, TaskRun } from '#core/tasks/task.ts'

/** Disks that wake up, shares that come back and descriptors that are closed again: worth another try within seconds. */
const PASSING_CODES = new Set<unknown>(['EIO', 'ESTALE', 'ETIMEDOUT', 'EMFILE', 'ENFILE'])
/** As many as the queue gives; at the last the failure is written down. */
const TRIES_MAX = 4
/** A file that changes under the analysis is analysed again this often; one that is still being copied is left for the next scan. */
const CHANGES_MAX = 3

interface Parts {
  database: Knex
  analyse: Analyse
  /** Absolute. */
  dataFolder: string
  log: Log
  announcer: Announcer
}

/** Size and time by which a file is known. */
interface Facts {
  bytes: string
  mtimeNs: string
}

/**
 * The handler of `analyze_book`: analyses one file and writes what came out. A bad file is a result, never a failed task; only a disk that does
 * not deliver at the moment fails a try. A file that is suspected of having stopped the server or a thread is analysed with nothing beside it.
 */
export function analyzeBook(given: Omit<Parts, 'announcer'> & { announcer?: Announcer }): TaskHandler {
  const parts: Parts = { announcer: silentAnnouncer, ...given }
  const lock = openSharedLock()
  return async (run) => {
    for (let alone = false; ; ) {
      const analyze = () => analyzeOnce(parts, run, alone)
      const outcome: Outcome = await (alone ? lock.exclusive(analyze, run.signal) : lock.shared(analyze, run.signal))
      if (outcome === 'done') return
      // Every turn raises what stands against the file, or takes it alone, until it is refused.
      alone = outcome === 'alone'
    }
  }
}

/** `alone`: it must not be analysed beside others; `again`: a thread died over it, which has been noted. */
type Outcome = 'done' | 'alone' | 'again'

async function analyzeOnce(parts: Parts, run: TaskRun, alone: boolean): Promise<Outcome> {
  const book = await findBookToAnalyse(parts.database, run.bookId as string)
  if (!book) return 'done'
  // A deep scan forces too, but nobody asked for this one file.
  const retry = run.params.force === true && run.params.verifyPages !== true
  const manner = mannerOf(book.suspicion, { taskId: run.id, retry })
  if (manner === 'alone' && !alone) return 'alone'
  if (manner === 'alone') await beginAlone(parts.database, book.id, run.id)
  return await duringWork('file', nameOfFile(book), () => analyzeFound(parts, run, { book, refused: manner === 'refused' }))
}

/** By which a file is named to whoever asks what the server stood still over; long names lose their beginning, so the id stands last. */
const nameOfFile = ({ path, id }: BookToAnalyse) => `${path} (book ${id})`

async function analyzeFound(parts: Parts, run: TaskRun, { book, refused }: { book: BookToAnalyse; refused: boolean }): Promise<Outcome> {
  const { database } = parts
  const marked = isMarkedUnread(book.file_mtime_ns)
  const known: Facts = { bytes: book.file_size, mtimeNs: marked ? markUnread(book.file_mtime_ns) : book.file_mtime_ns }
  const before = book.deleted ? null : await readFacts(book.path, known)
  if (before === null && !book.deleted) return await reportVanished(parts, book)
  if (book.suspicion && refused) {
    // Its series is not brought up to date here: what stopped the server may have been done with the file's data, not with the file.
    await recordRefused(database, book.id, describeRefusal(book.suspicion))
    parts.announcer.soon(newsOf(book, book.id, { seriesId: book.series_id, changed: ['analysisErrors'] }))
    return 'done'
  }
  const isFinished = before && run.params.force !== true && !marked && book.state !== 'pending' && isSame(before, known)
  if (before && !isFinished) return await analyzeUntilStill(parts, run, { book, known, before })
  // Finished before a crash, or put in line twice: a server that was killed may have written the book and not its series.
  await aggregateSettled(database, book.series_id)
  return 'done'
}

/** Analyses the file until it has not changed meanwhile, and writes what came out. */
async function analyzeUntilStill(
  parts: Parts,
  run: TaskRun,
  { book, known, before }: { book: BookToAnalyse; known: Facts; before: Facts },
): Promise<'done' | 'again'> {
  const { database } = parts
  const verifyPages = run.params.verifyPages === true
  let facts = before
  for (let change = 0; ; change++) {
    run.signal.throwIfAborted()
    const analysis = await analyseOrDescribe(parts, { root: book.library_path, path: book.path, verifyPages }, run.signal)
    noteWork()
    const death = deathAmong(analysis.problems)
    if (death !== null) {
      await noteSuspects(database, { bookIds: [book.id] }, death)
      return 'again'
    }
    const after = await readFacts(book.path, known)
    if (after === null) return await reportVanished(parts, book)
    const settled = isSame(facts, after) && (analysis.file === null || analysis.file.mtimeNs === after.mtimeNs)
    if (settled) refuseToGiveUp(analysis, run.attempt)
    if (!settled || !(await record(parts, book, { facts: after, known, analysis }))) {
      if (change < CHANGES_MAX) {
        facts = (await readFacts(book.path, known)) ?? after
        continue
      }
      const message =
        'The file changed again and again while it was read, as one that is still being copied. Scan once more when it is complete.'
      await record(parts, book, { facts: after, known, analysis: failedAnalysis({ type: 'other', message, fatal: true }), isStill: false })
    }
    if (book.suspicion) await forgetSuspects(database, [book.id])
    return 'done'
  }
}

/** @throws when the disk failed and the queue has a try left */
function refuseToGiveUp(analysis: Analysis, attempt: number): void {
  if (analysis.file !== null || attempt >= TRIES_MAX) return
  const passing = analysis.problems.find(({ details }) => PASSING_CODES.has(details?.code))
  if (passing) throw new Error(passing.message)
}

const isSame = (one: Facts, other: Facts) => one.bytes === other.bytes && one.mtimeNs === other.mtimeNs

/** Null when there is no file at the path any more; what is known when the path cannot be looked at. */
async function readFacts(path: string, known: Facts): Promise<Facts | null> {
  try {
    const { size, mtimeNs } = await lstat(path, { bigint: true })
    return { bytes: String(size), mtimeNs: String(mtimeNs) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    // A folder above that may not be entered: analysis will say so of the file.
    return known
  }
}

/**
 * Leaves a book whose file has gone to the next scan: only who looks at the whole library can tell a file that was deleted from a disk that is
 * away, which takes thousands of files with it while thousands of analyses stand in line.
 */
async function reportVanished({ database }: Parts, book: BookToAnalyse): Promise<'done'> {
  await forgetFolder(database, book)
  return 'done'
}

/** @throws only when the task was cancelled or the server stops; whatever else goes wrong becomes a problem of the book */
async function analyseOrDescribe(parts: Parts, request: AnalysisRequest, signal: AbortSignal): Promise<Analysis> {
  try {
    // It has its deadline and its limit of memory there, counted from when a thread takes the file.
    return await parts.analyse(request, { signal })
  } catch (error) {
    if (signal.aborted) throw error
    parts.log.error({ err: error, path: request.path }, 'Analysis broke down')
    return failedAnalysis({
      type: 'other',
      message: 'Analysis broke down on this file, which is a fault of the server.',
      details: { reason: error instanceof Error ? error.message : String(error) },
      fatal: true,
    })
  }
}

const failedAnalysis = (problem: Problem): Analysis => ({
  file: null,
  format: null,
  pageCount: 0,
  pageSource: 'none',
  pages: [],
  embedded: {},
  cover: null,
  problems: [problem],
})

interface Done {
  /** Of the file, after the analysis. */
  facts: Facts
  /** Of the row, before it. */
  known: Facts
  analysis: Analysis
  /** False: of whatever file lies there; unless said it is written only while the file is the one that was analysed. */
  isStill?: boolean
}

/** Something else lies at the path than what was analysed; whatever was begun is rolled back. */
class FileChanged extends Error {}

/** @returns false when the file has changed since it was analysed: nothing was written */
async function record(parts: Parts, book: BookToAnalyse, done: Done): Promise<boolean> {
  try {
    await recordStill(parts, book, done)
    return true
  } catch (error) {
    if (error instanceof FileChanged) return false
    throw error
  }
}

async function recordStill(parts: Parts, book: BookToAnalyse, done: Done): Promise<void> {
  const { database } = parts
  const { facts, known, analysis } = done
  const { file } = analysis
  const problem = file === null ? analysis.problems.find(({ fatal }) => fatal) : undefined
  const unread = problem !== undefined && !hasReachedLimit(problem)
  if (problem && isKnownContent(book, facts, known)) {
    // The file is the one that was analysed: what is known of it is worth more than what could not be learned now.
    await recordUnreadable(database, { bookId: book.id, mtimeNs: unread ? markUnread(facts.mtimeNs) : facts.mtimeNs, problem })
    parts.announcer.soon(newsOf(book, book.id, { seriesId: book.series_id, changed: ['analysisErrors'] }))
  } else {
    const { due, news } =
      (await recordMoved(parts, book, done)) ?? (await write(parts, database, { ...done, book, bookId: book.id, unread }))
    // After the commit.
    parts.announcer.soon(news)
    for (const seriesId of due) await aggregateSettled(database, seriesId)
  }
  // After the row, so that a scan which notes the folder in between still finds the mark there.
  if (unread || !isSame(facts, known)) await forgetFolder(database, book)
}

/** What an analysis leaves behind. */
interface Written {
  /** Series that are to be aggregated when they are settled. */
  due: string[]
  /** To be announced after the commit. */
  news: NewAnnouncement[]
}

function newsOf(book: BookToAnalyse, bookId: string, { seriesId, changed }: Pick<Recorded, 'seriesId' | 'changed'>): NewAnnouncement[] {
  if (changed.length === 0) return []
  const place = { id: bookId, series_id: seriesId, library_id: book.library_id }
  const news: NewAnnouncement[] = [{ event: { ...bookEvent('book_updated', place), fields: changed } }]
  return changed.includes('cover') ? [...news, coverEvent('book', place)] : news
}

/** The same file would need as much time or memory the next time: trying at every scan would only cost them again. */
const hasReachedLimit = ({ details = {} }: Problem) => 'deadlineMs' in details || 'memoryMbMax' in details

/** Whether the row's hash is that of the file as it lies there now. A pending book has the hash of what was there before it changed. */
const isKnownContent = (book: BookToAnalyse, facts: Facts, known: Facts) =>
  book.file_hash !== null && book.state !== 'pending' && isSame(facts, known)

/** When the file is a book that was moved here, its row takes the place and the analysis, both or neither; null when it is not. */
async function recordMoved(parts: Parts, book: BookToAnalyse, done: Done): Promise<Written | null> {
  const { file } = done.analysis
  // Only a file that was never analysed can be one that was moved here.
  if (book.file_hash !== null || file === null) return null
  for (const duplicate of await listGoneDuplicates(parts.database, book, file.sha256)) {
    const adopted = await parts.database.transaction(async (trx) => {
      const moved = await relinkMoved(trx, book, duplicate)
      if (!moved) return null
      // What is known of the book came with its row, and so did the locks.
      const known = await findBookToAnalyse(trx, duplicate.id)
      const { described = true, cover_locked = false } = known ?? {}
      const written = await write(parts, trx, { ...done, book: { ...book, described, cover_locked }, bookId: duplicate.id, unread: false })
      if (moved.leftSeriesId === null) return written
      // It speaks for that one no longer.
      if (described) await aggregateAfter(trx, moved.leftSeriesId)
      return { ...written, due: [...written.due, moved.leftSeriesId] }
    })
    if (adopted) return adopted
  }
  return null
}

/** One transaction; the row is locked before the file of its cover is written, so that of two analyses the later never has the cover of the other. */
async function write(
  parts: Parts,
  database: Knex,
  what: Done & { book: BookToAnalyse; bookId: string; unread: boolean },
): Promise<Written> {
  const { book, bookId, facts, known, analysis, isStill = true } = what
  const withMetadata = isToCompare(book, analysis)
  const written = await database.transaction(async (trx) => {
    // Before the book: a change of the series goes on to its books, and the two would wait for each other.
    if (withMetadata) await lockSeriesOf(trx, bookId)
    if (!(await lockBook(trx, bookId))) return null
    const now = isStill ? await readFacts(book.path, known) : facts
    if (now === null || !isSame(now, facts)) throw new FileChanged()
    const row = await rowOf(parts, what)
    const recorded = withMetadata ? await writeWithMetadata(trx, book, row, analysis.embedded) : await recordAnalysed(trx, row)
    if (row.coverHash === null) await removeCovers(parts.dataFolder, [bookId])
    return recorded
  })
  if (written !== null) return { due: written.aggregateDue ? [written.seriesId] : [], news: newsOf(book, bookId, written) }
  await removeCovers(parts.dataFolder, [bookId])
  return { due: [], news: [] }
}

/** What is written of an analysis; its cover lies in the data folder then. */
async function rowOf({ dataFolder, log }: Parts, what: Parameters<typeof write>[2]): Promise<AnalysedBook> {
  const { book, bookId, facts, analysis, unread } = what
  const problems = uniqueByType(analysis.problems)
  let coverHash: string | null = null
  if (analysis.cover && !book.cover_locked) {
    try {
      coverHash = await writeCover(dataFolder, bookId, analysis.cover.jpeg)
    } catch (error) {
      log.error({ err: error, bookId }, 'A cover could not be written')
      const reason = (error as NodeJS.ErrnoException).code ?? String(error)
      if (!problems.some((problem) => problem.type === 'thumbnail')) {
        problems.push({ type: 'thumbnail', message: `The cover could not be kept in the data folder (${reason}).`, fatal: false })
      }
    }
  }
  return {
    bookId,
    ...facts,
    unread,
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
 * Books without any metadata, most of a large library, have nothing to be compared. A file whose metadata cannot be read now does not say that there is
 * none: what is known of it stays.
 */
function isToCompare(book: BookToAnalyse, { embedded, problems }: Analysis): boolean {
  if (problems.some(({ fatal }) => fatal)) return false
  if (saysSomething(embedded, book.book_strategy)) return true
  return book.described && !problems.some(({ type }) => type === 'metadata')
}

async function writeWithMetadata(
  trx: Knex.Transaction,
  book: BookToAnalyse,
  row: AnalysedBook,
  embedded: Embedded,
): Promise<Recorded | null> {
  const recorded = await recordAnalysed(trx, row)
  if (recorded === null) return null
  // A series beside nothing but the library itself is made of one book: what lies there speaks of them all.
  const { seriesSidecar, ...own } = embedded
  const said = seriesSidecar && dirname(book.path) !== book.library_path ? { ...own, seriesSidecar } : own
  const record = { bookId: row.bookId, fileName: book.file_name, bookStrategy: book.book_strategy, embedded: said }
  const changed = await recordEmbedded(trx, record)
  // A book that was moved speaks for another series now.
  if (!changed && row.bookId === book.id) return recorded
  return { ...recorded, changed: [...recorded.changed, ...(changed ?? [])], aggregateDue: await aggregateAfter(trx, recorded.seriesId) }
}
