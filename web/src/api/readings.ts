import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import type { BookRecord } from '#api/records.ts'
import type { components } from '#api/schema.d.ts'

/** What was read of a book on one day. */
export type DayReading = components['schemas']['DayOfReading']

const PAGE_SIZE = 50

/** In which days begin and end for the person. */
const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

async function askPage(page: number, of: { bookId?: string; pageSize?: number }, signal: AbortSignal) {
  return await ask(api.GET('/api/v1/user/readings', { params: { query: { timeZone, page, pageSize: PAGE_SIZE, ...of } }, signal }))
}

/** What the user has read, by day, latest first. */
export const readingsQuery = infiniteQueryOptions({
  queryKey: ['readings'],
  queryFn: async ({ pageParam, signal }) => {
    const answer = await askPage(pageParam, {}, signal)
    return { ...answer, books: await findBooks([...new Set(answer.data.map(({ bookId }) => bookId))], signal) }
  },
  initialPageParam: 1,
  getNextPageParam: ({ page, totalPages }) => (page < totalPages ? page + 1 : undefined),
})

/** On the page of a book or series; the page of the history has all. */
export const HISTORY_SHOWN_MAX = 8

/** The days on which the user has read a book. */
export const readingsOfBookQuery = (bookId: string) =>
  queryOptions({
    queryKey: ['readings', 'of-book', bookId],
    queryFn: ({ signal }) => askPage(1, { bookId }, signal),
  })

async function findBooks(ids: string[], signal: AbortSignal): Promise<BookRecord[]> {
  if (ids.length === 0) return []
  const body = { condition: { id: { operator: 'in', values: ids } } } as const
  const answer = await ask(api.POST('/api/v1/books/list', { params: { query: { page: 1, pageSize: PAGE_SIZE } }, body, signal }))
  return answer.data as BookRecord[]
}

/** Forgets one reading of a book with all its days; the place in the book stays. */
export async function deleteReading(readingId: string): Promise<void> {
  await ask<unknown>(api.DELETE('/api/v1/user/readings/{readingId}', { params: { path: { readingId } } }))
  await refresh(['readings', 'book', 'books'])
}

/** Forgets all readings of the user; places in books stay. */
export async function deleteAllReadings(): Promise<void> {
  await ask<unknown>(api.DELETE('/api/v1/user/readings'))
  await refresh(['readings', 'book', 'books'])
}
