import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import {
  type AnalysableBook,
  getAnalysableBooks,
  getAnalysableBooksOfSeries,
  listBooksToRetry,
  listErrorTypes,
} from '#core/ingest/analysis-choice-query.ts'
import { queueAnalyses } from '#core/ingest/queue-analyses.ts'
import type { BookErrorType } from '#core/metadata/analysis.ts'
import type { TaskQueue } from '#core/tasks/task.ts'

/** One call stays one short transaction of the queue. */
export const BULK_BOOKS_MAX = 500
export const BULK_SERIES_MAX = 100

interface Parts {
  database: Knex
  tasks: TaskQueue
}

/** How many books were put in line that were not in it already, the same in words, and the task that ends when all of them are done. */
export interface Enqueued {
  taskId: string
  message: string
  tasksEnqueued: number
}

/** Which of the chosen books: `all`, also those that were analysed before; `unanalyzed`, the waiting and the failed ones. */
export type Choice = 'all' | 'unanalyzed'

/** Puts one book in line and answers its task. @throws not_found; invalid_request when there is nothing to analyse */
export async function requestBookAnalysis(
  { database, tasks }: Parts,
  caller: Caller,
  request: { bookId: string; choice: Choice },
): Promise<{ taskId: string }> {
  const [book] = await getAnalysableBooks(database, caller, [request.bookId])
  if (!book || book.deleted) refuse('invalid_request', `The file of the book ${request.bookId} has gone: there is nothing to analyse.`)
  if (request.choice === 'unanalyzed' && book.state === 'analyzed') {
    refuse('invalid_request', `"${book.fileName}" has been analysed; ask for /analyze to do it once more.`)
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

/** All or nothing: one unknown or hidden id and no book is put in line. @throws not_found */
export async function requestAnalysesOfBooks(
  parts: Parts,
  caller: Caller,
  request: { bookIds: readonly string[]; choice: Choice },
): Promise<Enqueued> {
  return await enqueue(parts, choose(await getAnalysableBooks(parts.database, caller, request.bookIds), request.choice))
}

/** The same for all books of some series. @throws not_found */
export async function requestAnalysesOfSeries(
  parts: Parts,
  caller: Caller,
  request: { seriesIds: readonly string[]; choice: Choice },
): Promise<Enqueued> {
  return await enqueue(parts, choose(await getAnalysableBooksOfSeries(parts.database, caller, request.seriesIds), request.choice))
}

/** Analyses a book with errors once more, which is what may clear them. @throws not_found; invalid_request without such errors */
export async function retryBook(
  parts: Parts,
  caller: Caller,
  request: { bookId: string; errorTypes?: readonly BookErrorType[] | null | undefined },
): Promise<Enqueued> {
  const books = await getAnalysableBooks(parts.database, caller, [request.bookId])
  const types = await listErrorTypes(parts.database, request.bookId)
  const meant = request.errorTypes?.length ? types.filter((type) => request.errorTypes?.includes(type)) : types
  const [book] = books
  if (meant.length === 0) refuse('invalid_request', `"${book?.fileName}" has no such errors to try again.`)
  if (book?.deleted) refuse('invalid_request', `The file "${book.fileName}" has gone: put it back and scan its library.`)
  return await enqueue(parts, books)
}

/** Analyses every book with errors once more that the caller may see. */
export async function retryBooks(
  parts: Parts,
  caller: Caller,
  filter: { errorType?: BookErrorType | null | undefined; libraryId?: string | null | undefined },
): Promise<Enqueued> {
  return await enqueue(parts, await listBooksToRetry(parts.database, caller, filter))
}

const choose = (books: readonly AnalysableBook[], choice: Choice) =>
  books.filter((book) => !book.deleted && (choice === 'all' || book.state !== 'analyzed'))

async function enqueue({ tasks }: Parts, books: readonly Pick<AnalysableBook, 'id' | 'libraryId'>[]): Promise<Enqueued> {
  const byLibrary = Map.groupBy(books, ({ libraryId }) => libraryId)
  const parentId = randomUUID()
  let tasksEnqueued = 0
  for (const [libraryId, mine] of byLibrary) {
    const ids = mine.map(({ id }) => id)
    tasksEnqueued += await queueAnalyses(tasks, libraryId, ids, { deep: false, force: true, parentId })
  }
  const waiting = books.length - tasksEnqueued
  const message = `Put ${tasksEnqueued} of ${books.length} books in line for analysis${waiting > 0 ? `; ${waiting} stood in it already` : ''}.`
  // After its parts: it ends as soon as it finds none that wait.
  const { taskId } = await tasks.add({ id: parentId, type: 'analyze_books', dedupeKey: parentId, params: { books: tasksEnqueued } })
  return { message, tasksEnqueued, taskId }
}
