import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import type { BookRecord, FullBookRecord, Listed, ReadListRecord } from '#api/records.ts'

export const bookQuery = (bookId: string) =>
  queryOptions({
    queryKey: ['book', bookId],
    queryFn: ({ signal }) =>
      ask(api.GET('/api/v1/books/{bookId}', { params: { path: { bookId }, query: { full: true } }, signal })) as Promise<FullBookRecord>,
  })

/** The books before and after a book in its series. */
export interface Neighbors {
  prev: BookRecord | null
  next: BookRecord | null
}

export const neighborsQuery = (bookId: string) =>
  queryOptions({
    queryKey: ['books', 'neighbors', bookId],
    queryFn: ({ signal }) =>
      ask(api.GET('/api/v1/books/{bookId}/adjacent', { params: { path: { bookId } }, signal })) as Promise<Neighbors>,
  })

export const readListsOfBookQuery = (bookId: string) =>
  queryOptions({
    queryKey: ['read-lists', 'of-book', bookId],
    queryFn: ({ signal }) =>
      ask(api.GET('/api/v1/books/{bookId}/read-lists', { params: { path: { bookId } }, signal })) as Promise<Listed<ReadListRecord>>,
  })

/** How a text is put together: its chapters and contents. */
export const manifestQuery = (bookId: string) =>
  queryOptions({
    queryKey: ['manifest', bookId],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/books/{bookId}/manifest', { params: { path: { bookId } }, signal })),
  })

/** Reads the file of a book again. Needs `books-write`. */
export async function analyzeAgain(bookId: string): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/books/{bookId}/retry', { params: { path: { bookId } } }))
}
