import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import {
  type AnalyzableBook,
  getAnalyzableBooks,
  getAnalyzableBooksOfSeries,
  listBooksToRetry,
  listErrorTypes,
} from '#core/analysis/analysis-choice-query.ts'
import { queueAnalyses } from '#core/analysis/analyze-book.ts'
import type { BookErrorType } from '#core/fields/analysis.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { TaskQueue } from '#core/tasks/task.ts'

/** So that one call is one short transaction of the queue. */
export const BULK_BOOKS_MAX = 500
export const BULK_SERIES_MAX = 100

interface Dependencies {
  database: Knex
  tasks: TaskQueue
}

/** How many books were newly queued, a message about it, and the task that ends when all of them are done. */
interface Enqueued {
  taskId: string
  message: string
  tasksEnqueued: number
}

/** Which of the chosen books: `all`, including analyzed ones; `unanalyzed`, the waiting and the failed ones. */
type Choice = 'all' | 'unanalyzed'

/** Queues one book and returns its task. @throws not_found; invalid_request when there is nothing to analyze */
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

/** Analyzes a book with errors again, which may clear them. @throws not_found; invalid_request without such errors */
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
