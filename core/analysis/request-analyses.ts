import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { Viewer } from '#core/account/visibility.ts'
import {
  type AnalyzableBook,
  getAnalyzableBooks,
  getAnalyzableBooksOfSeries,
  listBooksToRetry,
  listErrorTypes,
} from '#core/analysis/analysis-choice-query.ts'
import { queueAnalyses } from '#core/analysis/analyze-book.ts'
import { getLibraryRow } from '#core/analysis/named-records.ts'
import { listBooksToAnalyze } from '#core/catalog/library-store.ts'
import type { BookErrorType } from '#core/fields/analysis.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { TaskAdder, TaskHandler } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'
import { countParts, isCanceled } from '#core/tasks/task-store.ts'

/** So that one call is one short transaction of the queue. */
export const BULK_BOOKS_MAX = 500
export const BULK_SERIES_MAX = 100
/** Bulk analyses that are awaited at the same time; people start only a few. */
const AWAITED_MAX = 100
/** Often enough for a moving progress bar; each check is one count over an index. */
const LOOK_MS = 1_000

interface Dependencies {
  database: Knex
  tasks: TaskAdder
}

type HandlerDependencies = Dependencies & { tasks: TaskQueue }

/** How many books were newly queued, a message about it, and the task that ends when all of them are done. */
interface Enqueued {
  taskId: string
  message: string
  tasksEnqueued: number
}

/** Which of the chosen books: `all`, including analyzed ones; `unanalyzed`, the waiting and the failed ones. */
type Choice = 'all' | 'unanalyzed'

/** Registers the handlers of analyses of many books with the queue; call before its start(). */
export function handleBulkAnalyses({ database, tasks }: HandlerDependencies): void {
  // They only wait; but a task that has not started could not cancel its parts.
  tasks.handle('analyze_books', { concurrency: AWAITED_MAX }, awaitAnalyses({ database, tasks }))
  tasks.handle('analyze_library', { concurrency: 1 }, analyzeLibrary({ database, tasks }))
}

/** Queues one book and returns its task. @throws not_found; conflict when there is nothing to analyze */
export async function requestBookAnalysis(
  { database, tasks }: Dependencies,
  caller: Caller,
  request: { bookId: string; choice: Choice },
): Promise<{ taskId: string }> {
  const [book] = await getAnalyzableBooks(database, caller, [request.bookId])
  if (!book || book.deleted) refuse('conflict', `The file of the book ${request.bookId} is missing: there is nothing to analyze.`)
  if (request.choice === 'unanalyzed' && book.state === 'analyzed') {
    refuse('conflict', `"${book.fileName}" has been analyzed already; use /analyze to do it again.`)
  }
  const { taskId } = await tasks.add({
    type: 'analyze_book',
    libraryId: book.libraryId,
    bookId: book.id,
    dedupeKey: `${book.id}:force`,
    params: { force: true, verifyPages: false },
  })
  return { taskId }
}

/** All or nothing: if one id is unknown or hidden, no book is queued. @throws not_found */
export async function requestAnalysesOfBooks(
  dependencies: Dependencies,
  caller: Caller,
  request: { bookIds: readonly string[]; choice: Choice },
): Promise<Enqueued> {
  return await enqueue(dependencies, choose(await getAnalyzableBooks(dependencies.database, caller, request.bookIds), request.choice))
}

/** The same for all books of some series. @throws not_found */
export async function requestAnalysesOfSeries(
  dependencies: Dependencies,
  caller: Caller,
  request: { seriesIds: readonly string[]; choice: Choice },
): Promise<Enqueued> {
  return await enqueue(
    dependencies,
    choose(await getAnalyzableBooksOfSeries(dependencies.database, caller, request.seriesIds), request.choice),
  )
}

/** Analyzes a book with errors again, which may clear them. @throws not_found; conflict without such errors, or without its file */
export async function retryBook(
  dependencies: Dependencies,
  caller: Caller,
  request: { bookId: string; errorTypes?: readonly BookErrorType[] | null | undefined },
): Promise<Enqueued> {
  const books = await getAnalyzableBooks(dependencies.database, caller, [request.bookId])
  const types = await listErrorTypes(dependencies.database, request.bookId)
  const meant = request.errorTypes?.length ? types.filter((type) => request.errorTypes?.includes(type)) : types
  const [book] = books
  if (meant.length === 0) refuse('conflict', `"${book?.fileName}" has no such errors to retry.`)
  if (book?.deleted) refuse('conflict', `The file "${book.fileName}" is missing: put it back and scan its library.`)
  return await enqueue(dependencies, books)
}

/** Analyzes every book with errors that the caller may see again. */
export async function retryBooks(
  dependencies: Dependencies,
  caller: Caller,
  filter: { errorType?: BookErrorType | null | undefined; libraryId?: string | null | undefined },
): Promise<Enqueued> {
  return await enqueue(dependencies, await listBooksToRetry(dependencies.database, caller, filter))
}

const choose = (books: readonly AnalyzableBook[], choice: Choice) =>
  books.filter((book) => !book.deleted && (choice === 'all' || book.state !== 'analyzed'))

async function enqueue({ tasks }: Dependencies, books: readonly Pick<AnalyzableBook, 'id' | 'libraryId'>[]): Promise<Enqueued> {
  const byLibrary = Map.groupBy(books, ({ libraryId }) => libraryId)
  const parentId = randomUUID()
  let tasksEnqueued = 0
  for (const [libraryId, mine] of byLibrary) {
    const ids = mine.map(({ id }) => id)
    tasksEnqueued += await queueAnalyses(tasks, libraryId, ids, { deep: false, force: true, parentId })
  }
  const waiting = books.length - tasksEnqueued
  const message = `Queued ${tasksEnqueued} of ${books.length} books for analysis${waiting > 0 ? `; ${waiting} were queued already` : ''}.`
  // After its parts: it ends as soon as none of them waits.
  const { taskId } = await tasks.add({ id: parentId, type: 'analyze_books', dedupeKey: parentId, params: { books: tasksEnqueued } })
  return { message, tasksEnqueued, taskId }
}

/**
 * The handler of `analyze_books`, whose parts are the analyses of many books: reports how many are done, and ends with the last of them.
 * If canceled, it cancels the remaining ones; if the server stops, it continues with the next start.
 */
export function awaitAnalyses({ database, tasks }: HandlerDependencies): TaskHandler {
  return async (run) => {
    const books = Number(run.params.books)
    try {
      for (;;) {
        const { waiting, failed, cancelled } = await countParts(database, run.id)
        run.progress(Math.max(0, books - waiting), books)
        if (waiting === 0) return { books, failed, cancelled }
        await sleep(LOOK_MS, undefined, { signal: run.signal })
      }
    } finally {
      if (await isCanceled(database, run.id)) await tasks.cancelAll({ type: 'analyze_book', parentId: run.id })
    }
  }
}

/** Queues the analysis of a library's books, all of them or those that are `unanalyzed`; returns the task that does this. @throws not_found */
export async function requestLibraryAnalysis(
  { database, tasks }: Dependencies,
  caller: Viewer,
  { libraryId, scope }: { libraryId: string; scope: Choice },
): Promise<{ taskId: string }> {
  await getLibraryRow(database, caller, libraryId)
  const { taskId } = await tasks.add({ type: 'analyze_library', libraryId, dedupeKey: `${libraryId}:${scope}`, params: { scope } })
  return { taskId }
}

/** The handler of `analyze_library`: queues the books, some thousand at a time. */
function analyzeLibrary({ database, tasks }: HandlerDependencies): TaskHandler {
  return async (run) => {
    const libraryId = run.libraryId as string
    const scope: Choice = run.params.scope === 'all' ? 'all' : 'unanalyzed'
    let queued = 0
    try {
      for await (const ids of listBooksToAnalyze(database, libraryId, scope)) {
        run.signal.throwIfAborted()
        queued += await queueAnalyses(tasks, libraryId, ids, { deep: false, force: true })
        run.progress(queued, queued)
      }
    } finally {
      // If the server stops, this continues later, and queued books stay queued. If canceled, it may have queued books in the meantime.
      if (await isCanceled(database, run.id)) await tasks.cancelAll({ type: 'analyze_book', libraryId })
    }
    return { queued }
  }
}
