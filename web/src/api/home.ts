import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import type { BookRecord, Listed, SeriesRecord } from '#api/records.ts'

/** Enough to fill a shelf of a wide window twice. */
export const SHELF_LENGTH = 20

const query = { pageSize: SHELF_LENGTH, page: 1 }
const full = { full: false }

export const keepReadingQuery = queryOptions({
  queryKey: ['books', 'in-progress', query],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/books/in-progress', { params: { query }, signal })) as Promise<Listed<BookRecord>>,
})

export const onDeckQuery = queryOptions({
  queryKey: ['books', 'on-deck', query],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/books/on-deck', { params: { query }, signal })) as Promise<Listed<BookRecord>>,
})

export const recentlyAddedQuery = queryOptions({
  queryKey: ['books', 'recently-added', query],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/books/recently-added', { params: { query }, signal })) as Promise<Listed<BookRecord>>,
})

export const recentlyUpdatedQuery = queryOptions({
  queryKey: ['series-list', 'recently-updated', SHELF_LENGTH],
  queryFn: ({ signal }) =>
    ask(api.GET('/api/v1/series/recently-updated', { params: { query: { limit: SHELF_LENGTH, ...full } }, signal })) as Promise<
      SeriesRecord[]
    >,
})

export const wantToReadQuery = queryOptions({
  queryKey: ['want-to-read', query],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/user/want-to-read', { params: { query }, signal })) as Promise<Listed<SeriesRecord>>,
})
