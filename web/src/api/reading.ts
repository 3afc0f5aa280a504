import { api, ask } from '#api/client.ts'
import { queries } from '#api/queries.ts'
import type { BookRecord, SeriesRecord } from '#api/records.ts'

/** What shows reading progress: lists and records of books and series, and the shelves of the home page. */
export const SHOWS_PROGRESS = ['books', 'book', 'series-list', 'series', 'want-to-read', 'read-lists', 'read-list', 'collection', 'search']

/** Asks again for what is shown of these nouns, the first words of the keys of queries. */
export async function refresh(nouns: readonly string[]): Promise<void> {
  await queries.invalidateQueries({ predicate: ({ queryKey }) => nouns.includes(String(queryKey[0])) })
}

export async function markBook(book: BookRecord, isRead: boolean): Promise<void> {
  const call = { params: { path: { bookId: book.id } } }
  await ask<unknown>(isRead ? api.POST('/api/v1/books/{bookId}/read', call) : api.POST('/api/v1/books/{bookId}/unread', call))
  await refresh(SHOWS_PROGRESS)
}

export async function markSeries(series: SeriesRecord, isRead: boolean): Promise<void> {
  const call = { params: { path: { seriesId: series.id } } }
  await ask<unknown>(isRead ? api.POST('/api/v1/series/{seriesId}/read', call) : api.POST('/api/v1/series/{seriesId}/unread', call))
  await refresh(SHOWS_PROGRESS)
}

export async function wantToRead(seriesId: string, isWanted: boolean): Promise<void> {
  const call = { params: { path: { seriesId } } }
  await ask<unknown>(
    isWanted ? api.PUT('/api/v1/user/want-to-read/{seriesId}', call) : api.DELETE('/api/v1/user/want-to-read/{seriesId}', call),
  )
  await refresh(['want-to-read', 'series', 'series-list'])
}
