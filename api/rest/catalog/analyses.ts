import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { pageQuery, readPageWindow } from '#api/http/pagination.ts'
import { bookView } from '#api/views/book-view.ts'
import {
  BULK_BOOKS_MAX,
  BULK_SERIES_MAX,
  requestAnalysesOfBooks,
  requestAnalysesOfSeries,
  requestBookAnalysis,
  retryBook,
  retryBooks,
} from '#core/analysis/request-analyses.ts'
import { acceptContent, requestVerification } from '#core/analysis/verify-library.ts'
import { BookErrorTypeName, BooksWithErrors } from '#core/catalog/book.ts'
import { listBooksWithErrors } from '#core/catalog/book-error-query.ts'
import { BOOK_ERROR_TYPES } from '#core/fields/analysis.ts'
import { Noun, Nullable, OneOf, Uuid } from '#core/foundation/schema.ts'

type Services = Pick<DataServices, 'database' | 'settings'> & Pick<WorkServices, 'tasks'>
const endpoint = endpointOf<Services>()

const BookId = Type.Object({ bookId: Uuid })
const SeriesId = Type.Object({ seriesId: Uuid })
const TaskStarted = Noun('TaskStarted')({ taskId: Uuid })
const Enqueued = Type.Object(
  { message: Type.String(), tasksEnqueued: Type.Integer({ minimum: 0 }), taskId: Uuid },
  { title: 'Enqueued', description: 'The task ends when all books are analyzed. Canceling it skips the books that still wait.' },
)
const ErrorType = OneOf(BOOK_ERROR_TYPES)
const force = Type.Optional(Type.Boolean({ description: 'Also analyze books that were analyzed before; default false.' }))
const onBooks = { method: 'POST', tag: 'books', allow: { who: 'books-write' }, status: 202 } as const
const onSeries = { method: 'POST', tag: 'series', allow: { who: 'series-write' }, status: 202 } as const

export const analysisRoutes = [
  endpoint({
    name: 'listBookErrors',
    method: 'GET',
    path: '/api/v1/books/errors',
    summary: 'List the books with errors, grouped by error type',
    tag: 'books',
    allow: { who: 'books-read' },
    query: Type.Object({
      libraryId: Type.Optional(Uuid),
      seriesId: Type.Optional(Uuid),
      bookId: Type.Optional(Uuid),
      errorType: Type.Optional(BookErrorTypeName),
      page: Type.Optional(
        Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'From 0, unlike every other list; 0 unless said.' }),
      ),
      pageSize: pageQuery.pageSize,
    }),
    reply: BooksWithErrors,
    run: async (call, { query }) => {
      const { pageSize } = readPageWindow({ pageSize: query.pageSize })
      const found = await listBooksWithErrors(call.services.database, call.caller, {
        filter: { libraryId: query.libraryId, seriesId: query.seriesId, bookId: query.bookId, errorType: query.errorType },
        page: query.page ?? 0,
        pageSize,
      })
      for (const group of found.groups) for (const entry of group.books) entry.book = bookView(call.services, entry.book)
      return found
    },
  }),
  endpoint({
    ...onBooks,
    name: 'bulkAnalyzeBooks',
    path: '/api/v1/books/bulk/analyze',
    summary: 'Analyze many books; an unknown id refuses the whole request',
    body: Type.Object({ bookIds: Type.Array(Uuid, { maxItems: BULK_BOOKS_MAX }), force }),
    reply: Enqueued,
    run: (call, { body }) =>
      requestAnalysesOfBooks(call.services, call.caller, { bookIds: body.bookIds, choice: body.force ? 'all' : 'unanalyzed' }),
  }),
  endpoint({
    ...onSeries,
    name: 'bulkAnalyzeSeries',
    path: '/api/v1/series/bulk/analyze',
    summary: 'Analyze the books of many series; an unknown id refuses the whole request',
    body: Type.Object({ seriesIds: Type.Array(Uuid, { maxItems: BULK_SERIES_MAX }), force }),
    reply: Enqueued,
    run: (call, { body }) =>
      requestAnalysesOfSeries(call.services, call.caller, {
        seriesIds: body.seriesIds,
        choice: body.force ? 'all' : 'unanalyzed',
      }),
  }),
  endpoint({
    ...onBooks,
    name: 'retryAllErrorsOfBooks',
    path: '/api/v1/books/retry-all-errors',
    summary: 'Analyze all books with errors again',
    bodyOptional: true,
    body: Type.Object({ errorType: Type.Optional(Nullable(ErrorType)), libraryId: Type.Optional(Nullable(Uuid)) }),
    reply: Enqueued,
    run: (call, { body }) => retryBooks(call.services, call.caller, body),
  }),
  endpoint({
    ...onBooks,
    name: 'retryBook',
    path: '/api/v1/books/:bookId/retry',
    summary: 'Analyze a book with errors again',
    params: BookId,
    bodyOptional: true,
    body: Type.Object({ errorTypes: Type.Optional(Nullable(Type.Array(ErrorType, { maxItems: BOOK_ERROR_TYPES.length }))) }),
    reply: Enqueued,
    run: (call, { params, body }) => retryBook(call.services, call.caller, { ...params, ...body }),
  }),
  endpoint({
    ...onBooks,
    name: 'analyzeBook',
    path: '/api/v1/books/:bookId/analyze',
    summary: 'Analyze a book again',
    params: BookId,
    reply: TaskStarted,
    run: (call, { params }) => requestBookAnalysis(call.services, call.caller, { ...params, choice: 'all' }),
  }),
  endpoint({
    ...onBooks,
    name: 'acceptBookContent',
    path: '/api/v1/books/:bookId/accept-content',
    summary: 'Accept the content of a file that has changed without its date',
    params: BookId,
    reply: TaskStarted,
    run: (call, { params }) => acceptContent(call.services, call.caller, params.bookId),
  }),
  endpoint({
    name: 'verifyLibrary',
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/verify',
    summary: 'Compare all files of a library with their hashes and checksums',
    tag: 'libraries',
    allow: { who: 'libraries-write' },
    status: 202,
    params: Type.Object({ libraryId: Uuid }),
    reply: TaskStarted,
    run: (call, { params }) => requestVerification(call.services, call.caller, params.libraryId),
  }),
  endpoint({
    ...onBooks,
    name: 'analyzeUnanalyzedBook',
    path: '/api/v1/books/:bookId/analyze-unanalyzed',
    summary: 'Analyze a book if it has no successful analysis',
    params: BookId,
    reply: TaskStarted,
    run: (call, { params }) => requestBookAnalysis(call.services, call.caller, { ...params, choice: 'unanalyzed' }),
  }),
  endpoint({
    ...onSeries,
    name: 'analyzeSeries',
    path: '/api/v1/series/:seriesId/analyze',
    summary: 'Analyze all books of a series again',
    params: SeriesId,
    reply: Enqueued,
    run: (call, { params }) => requestAnalysesOfSeries(call.services, call.caller, { seriesIds: [params.seriesId], choice: 'all' }),
  }),
  endpoint({
    ...onSeries,
    name: 'analyzeUnanalyzedBooksOfSeries',
    path: '/api/v1/series/:seriesId/analyze-unanalyzed',
    summary: 'Analyze the books of a series that have no successful analysis',
    params: SeriesId,
    reply: Enqueued,
    run: (call, { params }) => requestAnalysesOfSeries(call.services, call.caller, { seriesIds: [params.seriesId], choice: 'unanalyzed' }),
  }),
]
