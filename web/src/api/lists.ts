import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import type { BookRecord, CollectionRecord, Listed, ReadListRecord } from '#api/records.ts'

/** The API's longest page: more lists, or books of a list, than a person arranges by hand. */
export const LISTS_MAX = 500

const query = { page: 1, pageSize: LISTS_MAX }

export const collectionsQuery = queryOptions({
  queryKey: ['collections'],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/collections', { params: { query }, signal })) as Promise<Listed<CollectionRecord>>,
})

export const collectionQuery = (collectionId: string) =>
  queryOptions({
    queryKey: ['collection', collectionId],
    queryFn: ({ signal }) =>
      ask(api.GET('/api/v1/collections/{collectionId}', { params: { path: { collectionId } }, signal })) as Promise<CollectionRecord>,
  })

export const readListsQuery = queryOptions({
  queryKey: ['read-lists'],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/read-lists', { params: { query }, signal })) as Promise<Listed<ReadListRecord>>,
})

export const readListQuery = (readListId: string) =>
  queryOptions({
    queryKey: ['read-list', readListId],
    queryFn: ({ signal }) =>
      ask(api.GET('/api/v1/read-lists/{readListId}', { params: { path: { readListId } }, signal })) as Promise<ReadListRecord>,
  })

export const readListBooksQuery = (readListId: string) =>
  queryOptions({
    queryKey: ['read-list', readListId, 'books'],
    queryFn: ({ signal }) =>
      ask(api.GET('/api/v1/read-lists/{readListId}/books', { params: { path: { readListId }, query }, signal })) as Promise<
        Listed<BookRecord>
      >,
  })

/** Puts the books of a read list in this order. Needs `books-write`. */
export async function orderReadList(readListId: string, bookIds: string[]): Promise<void> {
  await ask<unknown>(api.PUT('/api/v1/read-lists/{readListId}/books', { params: { path: { readListId } }, body: { bookIds } }))
  await refresh(['read-list'])
}
