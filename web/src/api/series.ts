import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import { HISTORY_SHOWN_MAX } from '#api/readings.ts'
import type { BookRecord, CollectionRecord, FullSeriesRecord, Listed, SeriesCondition } from '#api/records.ts'

export const seriesQuery = (seriesId: string) =>
  queryOptions({
    queryKey: ['series', seriesId],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/api/v1/series/{seriesId}', { params: { path: { seriesId }, query: { full: true } }, signal }),
      ) as Promise<FullSeriesRecord>,
  })

/** Looked through for one that can be read: books whose file is broken have no pages. */
const NEXT_OF = 20

/** Where reading a series goes on. */
export interface NextBook {
  /** Null when the series has no book that can be read. */
  book: BookRecord | null
  kind: 'continue' | 'start' | 'again'
}

/** The book that was begun last, else the first unread one that can be read, else the first such. */
export const nextBookQuery = (seriesId: string) =>
  queryOptions({
    queryKey: ['books', 'next-of', seriesId],
    queryFn: async ({ signal }): Promise<NextBook> => {
      const of = { seriesId: { operator: 'is', value: seriesId } } as const
      const first = async (show: 'unread' | null) => {
        const condition = show ? { allOf: [of, { readStatus: { operator: 'is', value: show } } as const] } : of
        const query = { page: 1, pageSize: NEXT_OF, sort: 'number,asc' } as const
        const answer = await ask(api.POST('/api/v1/books/list', { params: { query }, body: { condition }, signal }))
        return (answer.data as BookRecord[]).find(({ pageCount }) => pageCount > 0) ?? null
      }
      const begun = await ask(api.GET('/api/v1/books/in-progress', { params: { query: { seriesId, page: 1, pageSize: 1 } }, signal }))
      if (begun.data[0]) return { book: begun.data[0] as BookRecord, kind: 'continue' }
      const unread = await first('unread')
      return unread ? { book: unread, kind: 'start' } : { book: await first(null), kind: 'again' }
    },
  })

/** The API's longest page; series with more books are rare, and their pages say so. */
export const BOOKS_MAX = 500

/** Books of a series in an order; the first so many. */
const booksOfSeries = (seriesId: string, sort: 'number,asc' | 'last_read,desc', pageSize: number) =>
  queryOptions({
    queryKey: ['books', 'all-of-series', seriesId, sort],
    queryFn: ({ signal }) =>
      ask(
        api.POST('/api/v1/books/list', {
          params: { query: { page: 1, pageSize, sort } },
          body: { condition: { seriesId: { operator: 'is', value: seriesId } } },
          signal,
        }),
      ) as Promise<Listed<BookRecord>>,
  })

export const allBooksQuery = (seriesId: string) => booksOfSeries(seriesId, 'number,asc', BOOKS_MAX)
/** Those that the user has read in stand first. */
export const lastReadQuery = (seriesId: string) => booksOfSeries(seriesId, 'last_read,desc', HISTORY_SHOWN_MAX)

export const collectionsOfSeriesQuery = (seriesId: string) =>
  queryOptions({
    queryKey: ['collections', 'of-series', seriesId],
    queryFn: ({ signal }) =>
      ask(api.GET('/api/v1/series/{seriesId}/collections', { params: { path: { seriesId } }, signal })) as Promise<
        Listed<CollectionRecord>
      >,
  })

/** Whether the user wants to read a series. */
export const isWantedQuery = (seriesId: string) =>
  queryOptions({
    queryKey: ['want-to-read', 'has', seriesId],
    queryFn: async ({ signal }): Promise<boolean> => {
      const condition: SeriesCondition = {
        allOf: [{ id: { operator: 'in', values: [seriesId] } }, { wantToRead: { operator: 'isTrue' } }],
      }
      const answer = await ask(
        api.POST('/api/v1/series/list', { params: { query: { page: 1, pageSize: 1 } }, body: { condition }, signal }),
      )
      return answer.total > 0
    },
  })

/** Looks for new, changed and missing files in the folder of a series. Needs `scans-start`. */
export async function scanSeries(seriesId: string): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/series/{seriesId}/scan', { params: { path: { seriesId } } }))
  await refresh(['scans'])
}
