import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { sortNumberOf } from '#api/komga/book-view.ts'
import type { KomgaCall } from '#api/komga/lists.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { readingOrderOf } from '#api/komga/shelf-kind.ts'
import { listBookDetails } from '#core/catalog/book-detail-query.ts'
import { listIdsOfBooks } from '#core/catalog/book-query.ts'
import { getSeries } from '#core/catalog/series-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { AnyNumber, Uuid } from '#core/foundation/schema.ts'
import { listCompletion } from '#core/reading/progress-query.ts'
import { completeBooks } from '#core/reading/progress-store.ts'
import { findShelf } from '#core/shelves/shelf-query.ts'

type Services = Pick<DataServices, 'database'>
const komgaEndpoint = komgaEndpointOf<Services>()

/** More than the longest read list or series has. */
const BOOKS_MAX = 10_000
const open = { additionalProperties: true, maxProperties: 100 } as const
const counts = {
  booksCount: Type.Integer(),
  booksReadCount: Type.Integer(),
  booksUnreadCount: Type.Integer(),
  booksInProgressCount: Type.Integer(),
}

async function idsOfSeries(call: KomgaCall, seriesId: string): Promise<string[]> {
  const { database } = call.services
  const { id } = await getSeries(database, call.caller, seriesId)
  const list = { filter: { seriesId: id }, sort: { field: 'series', direction: 'asc' }, offset: 0, limit: BOOKS_MAX } as const
  return (await listIdsOfBooks(database, call.caller, list)).ids
}

async function idsOfReadList(call: KomgaCall, readListId: string): Promise<string[]> {
  const { database } = call.services
  const shelf = await findShelf(database, call.caller, 'read_list', readListId)
  if (!shelf) refuse('not_found', `There is no read list ${readListId}, or you may not see it.`)
  return await readingOrderOf(call, shelf)
}

/** How many of the books, in their order, are read. `continuous`: how many from the first on, without a gap. */
async function progressOf(call: KomgaCall, ids: readonly string[]) {
  const completion = await listCompletion(call.services.database, call.caller, ids)
  const isRead = (id: string) => completion.get(id) === true
  const booksReadCount = ids.filter(isRead).length
  const firstUnread = ids.findIndex((id) => !isRead(id))
  return {
    counts: {
      booksCount: ids.length,
      booksReadCount,
      booksUnreadCount: ids.length - completion.size,
      booksInProgressCount: completion.size - booksReadCount,
    },
    continuous: firstUnread < 0 ? ids.length : firstUnread,
  }
}

export const komgaTachiyomiRoutes = [
  komgaEndpoint({
    method: 'GET',
    path: '/api/v2/series/:seriesId/read-progress/tachiyomi',
    summary: 'How much of a series I have read, by the numbers of its books',
    who: 'progress-read',
    also: ['books-read'],
    params: Type.Object({ seriesId: Uuid }),
    reply: Type.Object({ ...counts, lastReadContinuousNumberSort: Type.Number(), maxNumberSort: Type.Number() }),
    run: async (call, { params }) => {
      const ids = await idsOfSeries(call, params.seriesId)
      const { counts, continuous } = await progressOf(call, ids)
      const details = await listBookDetails(call.services.database, ids)
      const numbers = ids.map((id) => sortNumberOf(details.get(id) ?? { number: null, position: null }))
      return { ...counts, lastReadContinuousNumberSort: numbers[continuous - 1] ?? 0, maxNumberSort: Math.max(0, ...numbers) }
    },
  }),
  komgaEndpoint({
    method: 'PUT',
    path: '/api/v2/series/:seriesId/read-progress/tachiyomi',
    summary: 'Mark the books of a series as read up to a number',
    who: 'progress-write',
    params: Type.Object({ seriesId: Uuid }),
    status: 204,
    body: Type.Object({ lastBookNumberSortRead: AnyNumber() }, open),
    run: async (call, { params, body }) => {
      const { database } = call.services
      const ids = await idsOfSeries(call, params.seriesId)
      const details = await listBookDetails(database, ids)
      const read = ids.filter((id) => sortNumberOf(details.get(id) ?? { number: null, position: null }) <= body.lastBookNumberSortRead)
      await completeBooks(database, call.caller.userId, read)
    },
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/readlists/:readListId/read-progress/tachiyomi',
    summary: 'How much of a read list I have read, by the positions of its books',
    who: 'progress-read',
    also: ['books-read'],
    params: Type.Object({ readListId: Uuid }),
    reply: Type.Object({ ...counts, lastReadContinuousIndex: Type.Integer() }),
    run: async (call, { params }) => {
      const { counts, continuous } = await progressOf(call, await idsOfReadList(call, params.readListId))
      return { ...counts, lastReadContinuousIndex: continuous }
    },
  }),
  komgaEndpoint({
    method: 'PUT',
    path: '/api/v1/readlists/:readListId/read-progress/tachiyomi',
    summary: 'Mark the first books of a read list as read',
    who: 'progress-write',
    params: Type.Object({ readListId: Uuid }),
    status: 204,
    body: Type.Object({ lastBookRead: Type.Integer({ minimum: 0, maximum: BOOKS_MAX }) }, open),
    run: async (call, { params, body }) => {
      const ids = await idsOfReadList(call, params.readListId)
      await completeBooks(call.services.database, call.caller.userId, ids.slice(0, body.lastBookRead))
    },
  }),
]
