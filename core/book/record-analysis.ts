import { lstat, readdir } from 'node:fs/promises'
import type { Knex } from 'knex'
import { adoptMoved } from '#core/book/adopt-moved.ts'
import type { Analyse, Analysis, BookErrorType, Problem } from '#core/book/analysis.ts'
import { BOOK_ERROR_TYPES } from '#core/book/analysis.ts'
import { type BookToAnalyse, findBookToAnalyse, forgetFolder, markVanished, recordAnalysed, storable } from '#core/book/book-store.ts'
import { removeCovers, writeCover } from '#core/book/cover-store.ts'
import { chooseTitle } from '#core/book/title.ts'
import type { Log } from '#core/log.ts'
import type { TaskHandler } from '#core/task/task.ts'

/**
 * The pool stops a file at its deadline, counted from when a thread takes it. Here waiting for a thread counts as well, for at most one file's time,
 * so this is only for an analysis that does not come back at all.
 */
const DEADLINE_FACTOR = 3
/** A file that changes under the analysis is analysed again this often; one that is still being copied is left for the next scan. */
const CHANGES_MAX = 3

interface Parts {
  database: Knex
  analyse: Analyse
  /** Absolute. */
  dataFolder: string
  deadlineMs: number
  log: Log
}

/** Size and time by which a file is known. */
interface Facts {
  bytes: string
  mtimeNs: string
}

/** The handler of `analyze_book`: analyses one file and writes what came out. A bad file is a result, never a failed task. */
export function analyzeBook(parts: Parts): TaskHandler {
  return async (run) => {
    const book = await findBookToAnalyse(parts.database, run.bookId as string)
    if (!book || book.deleted) return
    const known: Facts = { bytes: book.file_size, mtimeNs: book.file_mtime_ns }
    const before = await readFacts(book.path, known)
    if (before === null) return await reportVanished(parts, book)
    const force = run.params.force === true
    // Finished before a crash, or put in line twice.
    if (!force && book.state !== 'pending' && isSame(before, known)) return

    const verifyPages = run.params.verifyPages === true
    let facts = before
    for (let change = 0; ; change++) {
      run.signal.throwIfAborted()
      const analysis = await analyseOnce(parts, { path: book.path, verifyPages }, run.signal)
      const after = await readFacts(book.path, known)
      if (after === null) return await reportVanished(parts, book)
      const settled = isSame(facts, after) && (analysis.file === null || analysis.file.mtimeNs === after.mtimeNs)
      if (settled) return await record(parts, book, { facts: after, analysis })
      facts = after
      if (change === CHANGES_MAX) {
        const message =
          'The file changed again and again while it was read, as one that is still being copied. Scan once more when it is complete.'
        return await record(parts, book, { facts: after, analysis: failedAnalysis({ type: 'other', message, fatal: true }) })
      }
    }
  }
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

/** Marks the book as deleted, but only when its library is there: an unplugged disk takes all files with it, and must not take the books. */
async function reportVanished({ database }: Parts, book: BookToAnalyse): Promise<void> {
  const entries = await readdir(book.library_path).catch(() => [])
  if (entries.length > 0) await markVanished(database, book)
}

/** @throws only when the task was cancelled or the server stops; whatever else goes wrong becomes a problem of the book */
async function analyseOnce(parts: Parts, request: { path: string; verifyPages: boolean }, signal: AbortSignal): Promise<Analysis> {
  const deadline = new AbortController()
  const deadlineMs = parts.deadlineMs * DEADLINE_FACTOR
  const timer = setTimeout(() => deadline.abort(new DOMException('The deadline has passed', 'TimeoutError')), deadlineMs)
  try {
    return await parts.analyse(request, { signal: AbortSignal.any([signal, deadline.signal]) })
  } catch (error) {
    if (signal.aborted) throw error
    return failedAnalysis(problemOf(error, deadline.signal.aborted ? deadlineMs : null, parts.log, request.path))
  } finally {
    clearTimeout(timer)
  }
}

function problemOf(error: unknown, deadlineMs: number | null, log: Log, path: string): Problem {
  if (deadlineMs !== null) {
    const message = `Analysis took longer than ${Math.round(deadlineMs / 1000)} s and was stopped: the file may be damaged, or the disk very slow.`
    return { type: 'other', message, details: { deadlineMs }, fatal: true }
  }
  const { code, message } = error as Error & { code?: string }
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return {
      type: 'other',
      message: 'Analysis needed more memory than it may have: the file is damaged, or built to do harm.',
      fatal: true,
    }
  }
  log.error({ err: error, path }, 'Analysis broke down')
  return {
    type: 'other',
    message: 'Analysis broke down on this file, which is a fault of the server.',
    details: { reason: message },
    fatal: true,
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

async function record(parts: Parts, book: BookToAnalyse, done: { facts: Facts; analysis: Analysis }): Promise<void> {
  const { database, dataFolder, log } = parts
  const { facts, analysis } = done
  const sha256 = analysis.file?.sha256 ?? null
  // Only a file that was never analysed can be one that was moved here.
  const adoptedId = book.file_hash === null && sha256 !== null ? await adoptMoved(database, book, sha256) : null
  const bookId = adoptedId ?? book.id
  const problems = uniqueByType(analysis.problems)
  let coverHash: string | null = null
  if (analysis.cover) {
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
  if (!isSame(facts, { bytes: book.file_size, mtimeNs: book.file_mtime_ns })) await forgetFolder(database, book)
  const written = await recordAnalysed(database, {
    bookId,
    ...facts,
    sha256,
    readerHash: analysis.file?.readerHash ?? null,
    format: analysis.format,
    pageSource: analysis.pageSource,
    pageCount: analysis.pageCount,
    pages: analysis.pages,
    title: storable(chooseTitle({ strategy: book.book_strategy, fileName: book.file_name, embedded: analysis.embedded.title })),
    coverHash,
    state: problems.some((problem) => problem.fatal) ? 'failed' : 'analyzed',
    problems,
    cleared: clearedBy(analysis),
  })
  if (coverHash === null || !written) await removeCovers(dataFolder, [bookId])
}

/** One row per type: the fatal one if there is one, else the first. */
function uniqueByType(problems: readonly Problem[]): Problem[] {
  const byType = new Map<BookErrorType, Problem>()
  for (const problem of problems) {
    const known = byType.get(problem.type)
    if (!known || (problem.fatal && !known.fatal)) byType.set(problem.type, problem)
  }
  return [...byType.values()]
}

/** The steps of an analysis in their order; a fatal problem keeps the later ones from being tried. */
const STEPS: readonly BookErrorType[] = [
  'other',
  'format_detection',
  'parser',
  'page_extraction',
  'pdf_rendering',
  'zero_pages',
  'metadata',
  'thumbnail',
]

/** Error types that this analysis disproves: those of the steps it came through. */
function clearedBy(analysis: Analysis): BookErrorType[] {
  const fatal = analysis.problems.find((problem) => problem.fatal)
  return fatal ? STEPS.slice(0, STEPS.indexOf(fatal.type)) : BOOK_ERROR_TYPES
}
