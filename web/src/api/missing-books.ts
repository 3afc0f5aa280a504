import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import type { BookRecord } from '#api/records.ts'

const PAGE_SIZE = 50
/** What shows books that are removed. */
export const SHOWS_MISSING = ['books', 'book', 'series', 'series-list', 'libraries']

interface BookPage {
  data: BookRecord[]
  total: number
  page: number
  totalPages: number
}

/** The books whose files are missing, also those that a scan has withheld. @param libraryId null for all libraries */
export const missingBooksQuery = (libraryId: string | null) =>
  infiniteQueryOptions({
    queryKey: ['books', 'missing', libraryId],
    queryFn: async ({ pageParam: page, signal }) => {
      const query = {
        page,
        pageSize: PAGE_SIZE,
        deleted: 'only',
        sort: 'series,asc',
        ...(libraryId === null ? {} : { libraryId }),
      } as const
      return (await ask(api.GET('/api/v1/books', { params: { query }, signal }))) as BookPage
    },
    initialPageParam: 1,
    getNextPageParam: ({ page, totalPages }) => (page < totalPages ? page + 1 : undefined),
  })

/** How many of them can be removed: those that are withheld are not. */
export const removableCountQuery = (libraryId: string | null) =>
  queryOptions({
    queryKey: ['books', 'missing-removable', libraryId],
    queryFn: async ({ signal }) => {
      const isDeleted = { deleted: { operator: 'isTrue' as const } }
      const inLibrary = libraryId === null ? [] : [{ libraryId: { operator: 'is' as const, value: libraryId } }]
      const body = { condition: { allOf: [isDeleted, ...inLibrary] }, includeDeleted: true }
      const { total } = await ask(api.POST('/api/v1/books/list', { params: { query: { page: 1, pageSize: 1 } }, body, signal }))
      return total
    },
  })

/** Removes the records of all missing books of these libraries, except those that are withheld; returns how many. Needs `libraries-write`. */
export async function removeAllMissing(libraryIds: readonly string[]): Promise<number> {
  let removed = 0
  try {
    for (const libraryId of libraryIds)
      removed += await ask(api.DELETE('/api/v1/libraries/{libraryId}/purge-deleted', { params: { path: { libraryId } } }))
  } finally {
    await refresh(SHOWS_MISSING)
  }
  return removed
}
