import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { Call } from '#api/http/endpoint.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { type Extent, type ReadPosition, readPositionOf } from '#core/catalog/progress.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Nullable, Uuid } from '#core/foundation/schema.ts'
import { getReading, listBookIds } from '#core/reading/progress-query.ts'
import { completeBooks, forgetProgress, saveProgress } from '#core/reading/progress-store.ts'

type Services = Pick<DataServices, 'database'>
const komgaEndpoint = komgaEndpointOf<Services>()

const BookId = Type.Object({ bookId: Uuid })
const SeriesId = Type.Object({ seriesId: Uuid })
const PAGE_MAX = 2_147_483_647

/** The last page completes a book; `completed` without a page means the last page. @throws invalid_value for a page that the book does not have */
function placeGiven(extent: Extent, given: { page?: number | null; completed?: boolean | null }): ReadPosition {
  const { page = null, completed = null } = given
  const last = extent.analyzed && extent.pageCount > 0 ? extent.pageCount : null
  if (completed === true && page === null) return readPositionOf(extent, { currentPage: last ?? 1, completed: true })
  if (page === null)
    refuse('invalid_value', 'Send a page, or completed: true.', {
      details: [{ path: '/page', message: 'is required unless completed is true' }],
    })
  if (page < 1 || (last !== null && page > last)) {
    const message = last === null ? 'must be at least 1' : `must be from 1 to ${last}`
    refuse('invalid_value', `The page ${message}.`, { details: [{ path: '/page', message }] })
  }
  return readPositionOf(extent, { currentPage: page, completed: completed === true || undefined })
}

/** Completes the books, or forgets their progress, without those that the caller may not see. */
async function recordVisible(
  { services, caller }: Call<Services>,
  record: typeof completeBooks | typeof forgetProgress,
  books: Parameters<typeof listBookIds>[2],
): Promise<void> {
  await record(services.database, caller.userId, await listBookIds(services.database, caller, books))
}

export const komgaProgressRoutes = [
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/books/:bookId/read-progress',
    summary: 'Save my progress in a book',
    who: 'progress-write',
    params: BookId,
    status: 204,
    body: Type.Object(
      {
        page: Type.Optional(Nullable(Type.Integer({ minimum: -PAGE_MAX, maximum: PAGE_MAX }))),
        completed: Type.Optional(Nullable(Type.Boolean())),
      },
      { additionalProperties: true, maxProperties: 100 },
    ),
    run: async (call, { params, body }) => {
      const { database } = call.services
      const { userId, narrowedBy: apiKeyId } = call.caller
      const { bookId, extent } = await getReading(database, call.caller, params.bookId)
      await saveProgress(database, { userId, bookId, position: placeGiven(extent, body), pageCount: extent.pageCount, from: { apiKeyId } })
    },
  }),
  komgaEndpoint({
    method: 'DELETE',
    path: '/api/v1/books/:bookId/read-progress',
    summary: 'Delete my progress in a book',
    who: 'progress-write',
    params: BookId,
    status: 204,
    run: async (call, { params }) => await recordVisible(call, forgetProgress, { bookIds: [params.bookId] }),
  }),
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/series/:seriesId/read-progress',
    summary: 'Mark all books of a series as read',
    who: 'progress-write',
    params: SeriesId,
    status: 204,
    run: async (call, { params }) => await recordVisible(call, completeBooks, { seriesIds: [params.seriesId] }),
  }),
  komgaEndpoint({
    method: 'DELETE',
    path: '/api/v1/series/:seriesId/read-progress',
    summary: 'Mark all books of a series as unread',
    who: 'progress-write',
    params: SeriesId,
    status: 204,
    run: async (call, { params }) => await recordVisible(call, forgetProgress, { seriesIds: [params.seriesId] }),
  }),
]
