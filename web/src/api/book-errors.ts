import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import type { components } from '#api/schema.d.ts'

export type BookError = components['schemas']['BookError']
export type ErrorType = components['schemas']['BookErrorType']

const PAGE_SIZE = 20

/** How many books have errors of each type. @param libraryId null for all libraries */
export const errorCountsQuery = (libraryId: string | null) =>
  queryOptions({
    queryKey: ['books', 'errors', 'counts', libraryId],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/books/errors', { params: { query: { ...inLibrary(libraryId), pageSize: 1 } }, signal })),
  })

/** The books with errors of a type. */
export const errorsQuery = (errorType: ErrorType, libraryId: string | null) =>
  infiniteQueryOptions({
    queryKey: ['books', 'errors', errorType, libraryId],
    queryFn: ({ pageParam: page, signal }) =>
      ask(
        api.GET('/api/v1/books/errors', { params: { query: { ...inLibrary(libraryId), errorType, page, pageSize: PAGE_SIZE } }, signal }),
      ),
    // Unlike other lists, this one begins at 0.
    initialPageParam: 0,
    getNextPageParam: ({ page, totalPages }) => (page + 1 < totalPages ? page + 1 : undefined),
  })

/** The errors of a book, oldest first. */
export const errorsOfBookQuery = (bookId: string) =>
  queryOptions({
    queryKey: ['books', 'errors', 'of-book', bookId],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/books/errors', { params: { query: { bookId, pageSize: 1 } }, signal })),
    // Each group has the book with all of its errors.
    select: ({ groups }): readonly BookError[] => groups[0]?.books[0]?.errors ?? [],
  })

/** Whether the content of the file has changed and its date has not. */
export const isRot = ({ errorType, details }: BookError): boolean =>
  errorType === 'other' && (details as { integrity?: unknown } | null | undefined)?.integrity === true

/** Takes the content that a rotten file has now. Needs `books-write`. */
export async function acceptContent(bookId: string): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/books/{bookId}/accept-content', { params: { path: { bookId } } }))
}

/** Reads the files of all books with errors of a type again. Needs `books-write`. */
export async function readAllAgain(errorType: ErrorType, libraryId: string | null): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/books/retry-all-errors', { body: { errorType, libraryId } }))
  await refresh(['books'])
}

const inLibrary = (libraryId: string | null) => (libraryId === null ? {} : { libraryId })
