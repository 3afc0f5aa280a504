import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import type { BookRecord, CollectionRecord, Listed, ReadListRecord, SeriesRecord } from '#api/records.ts'
import type { components } from '#api/schema.d.ts'

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

/** Lets a person order a read list; before, its books stand by their dates. Needs `books-write`. */
export async function setReadListOrdered(readListId: string): Promise<void> {
  await ask<unknown>(api.PATCH('/api/v1/read-lists/{readListId}', { params: { path: { readListId } }, body: { ordered: true } }))
  await refresh(['read-list'])
}

/** The first series of a collection, in its order. */
export const collectionSeriesQuery = (collectionId: string) =>
  queryOptions({
    queryKey: ['collection', collectionId, 'all-series'],
    queryFn: ({ signal }) =>
      ask(api.GET('/api/v1/collections/{collectionId}/series', { params: { path: { collectionId }, query }, signal })) as Promise<
        Listed<SeriesRecord>
      >,
  })

/** Puts the series of a collection in this order, and keeps it instead of that by name. Needs `series-write`. */
export async function orderCollection(collectionId: string, seriesIds: string[], isOrdered: boolean): Promise<void> {
  const params = { path: { collectionId } }
  if (!isOrdered) await ask<unknown>(api.PATCH('/api/v1/collections/{collectionId}', { params, body: { ordered: true } }))
  await ask<unknown>(api.PUT('/api/v1/collections/{collectionId}/series', { params, body: { seriesIds } }))
  await refresh(['collection'])
}

export type ReadListImport = components['schemas']['ReadListImport']

/** Makes a read list from a file in the format CBL; its books are found by series, number and year. Needs `books-write`. */
export async function importReadList(file: File): Promise<ReadListImport> {
  const form = new FormData()
  form.append('file', file)
  const made = await ask(api.POST('/api/v1/read-lists/import', { body: form as never, bodySerializer: () => form }))
  await refresh(['read-lists'])
  return made
}
