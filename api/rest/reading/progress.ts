import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Caller } from '#core/account/caller.ts'
import { ReadProgress } from '#core/catalog/book.ts'
import { progressOf } from '#core/catalog/progress.ts'
import { getSeries } from '#core/catalog/series-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { readInstant } from '#core/foundation/instant.ts'
import { described, Noun, Nullable, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { getReading, listBookIds, listProgress, listProgressChanges } from '#core/reading/progress-query.ts'
import { completeBooks, forgetProgress, saveWantToRead } from '#core/reading/progress-store.ts'
import { Progression } from '#core/reading/progression.ts'
import { getProgression, recordPage, recordProgression } from '#core/reading/reading-position.ts'
import { PROGRESSION_TYPE } from '#core/reading/web-publication.ts'

type Services = Pick<ContentServices, 'publications'> & Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()

const BookId = Type.Object({ bookId: Uuid })
const SeriesId = Type.Object({ seriesId: Uuid })
/** One page of a large list. */
const bookIds = Type.Array(Uuid, { minItems: 1, maxItems: 500 })
/** Series have some twenty books each, often more. */
const seriesIds = Type.Array(Uuid, { minItems: 1, maxItems: 100 })
const Marked = Noun('MarkedRead')({ count: Type.Integer({ minimum: 0, description: 'Number of changed books.' }), message: Type.String() })
const ProgressChanges = Noun('ProgressChanges')({
  progress: Type.Array(ReadProgress),
  total: Type.Integer({ minimum: 0, description: 'How many there are, also beyond those in the answer.' }),
  removed: Type.Optional(
    Type.Array(Noun('RemovedProgress')({ bookId: Uuid, removedAt: Timestamp }), {
      description: 'Books in which you no longer have progress. Only with updatedAfter.',
    }),
  ),
  asOf: described(Timestamp, 'The updatedAfter of your next request. Nothing recorded before it is missing from the answers so far.'),
})
const basedOn = Type.Optional(
  Nullable(
    described(
      Timestamp,
      'The updatedAt of the progress from which you started, null for none. If another position was recorded later, the answer is 409 with it in `details`, as `progress` and `progression`.',
    ),
  ),
)
const PAGE_MAX = 2_147_483_647

/** For routes whose answer also reveals previous progress. */
const mark = { who: 'progress-write', also: ['progress-read'] } as const

const BasedProgression = Type.Object({ ...Progression.properties, basedOn }, { additionalProperties: false, title: 'BasedProgression' })

interface MarkRequest {
  call: { caller: Caller; services: Services }
  of: { bookIds?: readonly string[]; seriesIds?: readonly string[] }
}

async function markAs(state: 'read' | 'unread', { call: { services, caller }, of }: MarkRequest) {
  const change = state === 'read' ? completeBooks : forgetProgress
  const count = await change(services.database, caller.userId, await listBookIds(services.database, caller, of))
  return { count, message: `Marked ${count} ${count === 1 ? 'book' : 'books'} as ${state}.` }
}

export const progressRoutes = [
  endpoint({
    name: 'listMyProgress',
    method: 'GET',
    path: '/api/v1/progress',
    summary: 'List my reading progress, latest first, or what has changed since the last list, oldest first',
    tag: 'progress',
    allow: { who: 'progress-read' },
    query: Type.Object({
      updatedAfter: Type.Optional(
        described(Timestamp, 'Only what the server recorded after this time. Send the asOf of the last answer. At most a year ago.'),
      ),
    }),
    reply: ProgressChanges,
    statesTime: true,
    run: async (call, { query }) => {
      const { database } = call.services
      const after = query.updatedAfter === undefined ? null : readInstant(query.updatedAfter)
      const list = after === null ? await listProgress(database, call.caller) : await listProgressChanges(database, call.caller, after)
      const { items, ...rest } = list
      return { progress: items.map(progressOf), ...rest }
    },
  }),
  endpoint({
    name: 'getBookProgress',
    method: 'GET',
    path: '/api/v1/books/:bookId/progress',
    summary: 'Get my progress in a book; null if I have not begun it',
    tag: 'progress',
    allow: { who: 'progress-read' },
    params: BookId,
    reply: Nullable(ReadProgress),
    run: async (call, { params }) => {
      const { progress } = await getReading(call.services.database, call.caller, params.bookId)
      return progress && progressOf(progress)
    },
  }),
  endpoint({
    name: 'putBookProgress',
    method: 'PUT',
    path: '/api/v1/books/:bookId/progress',
    summary: 'Set my progress in a book',
    tag: 'progress',
    allow: { who: 'progress-write' },
    params: BookId,
    body: Type.Object(
      {
        currentPage: Type.Integer({ minimum: 1, maximum: PAGE_MAX }),
        progressPercentage: Type.Optional(Nullable(Type.Number({ minimum: 0, maximum: 1 }))),
        completed: Type.Optional(Nullable(Type.Boolean({ description: 'Default: true on the last page.' }))),
        basedOn,
      },
      { additionalProperties: false },
    ),
    reply: ReadProgress,
    run: async (call, { params, body }) => progressOf(await recordPage(call.services, { caller: call.caller, ...params }, body)),
  }),
  endpoint({
    name: 'deleteBookProgress',
    method: 'DELETE',
    path: '/api/v1/books/:bookId/progress',
    summary: 'Delete my progress in a book',
    tag: 'progress',
    allow: { who: 'progress-write' },
    params: BookId,
    status: 204,
    run: async (call, { params }) => {
      await markAs('unread', { call, of: { bookIds: [params.bookId] } })
    },
  }),
  endpoint({
    name: 'getBookProgression',
    method: 'GET',
    path: '/api/v1/books/:bookId/progression',
    summary: 'Get my progress in a book in the format of Readium',
    tag: 'progress',
    allow: { who: 'progress-read' },
    params: BookId,
    reply: Progression,
    mediaTypes: [PROGRESSION_TYPE],
    mayBeEmpty: true,
    run: async (call, { params }) => (await getProgression(call.services, { caller: call.caller, ...params })) ?? undefined,
  }),
  endpoint({
    name: 'putBookProgression',
    method: 'PUT',
    path: '/api/v1/books/:bookId/progression',
    summary: 'Set my progress in a book in the format of Readium',
    tag: 'progress',
    allow: { who: 'progress-write' },
    params: BookId,
    body: BasedProgression,
    reply: ReadProgress,
    mayBeEmpty: true,
    run: async (call, { params, body: { basedOn, ...progression } }) => {
      const row = await recordProgression(call.services, { caller: call.caller, ...params }, progression, { basedOn })
      // Other clients know the answer of the specification, which is empty.
      return basedOn === undefined ? undefined : progressOf(row)
    },
  }),
  endpoint({
    name: 'markBookRead',
    method: 'POST',
    path: '/api/v1/books/:bookId/read',
    summary: 'Mark a book as read',
    tag: 'progress',
    allow: mark,
    params: BookId,
    reply: ReadProgress,
    run: async (call, { params }) => {
      await markAs('read', { call, of: { bookIds: [params.bookId] } })
      const { progress } = await getReading(call.services.database, call.caller, params.bookId)
      return progressOf(progress ?? refuse('conflict', 'The book was marked as unread at the same time.'))
    },
  }),
  endpoint({
    name: 'markBookUnread',
    method: 'POST',
    path: '/api/v1/books/:bookId/unread',
    summary: 'Mark a book as unread',
    tag: 'progress',
    allow: { who: 'progress-write' },
    params: BookId,
    status: 204,
    run: async (call, { params }) => {
      await markAs('unread', { call, of: { bookIds: [params.bookId] } })
    },
  }),
  ...(['read', 'unread'] as const).flatMap((state) => {
    const word = state === 'read' ? 'Read' : 'Unread'
    return [
      endpoint({
        name: `markSeries${word}`,
        method: 'POST',
        path: `/api/v1/series/:seriesId/${state}`,
        summary: `Mark all books of a series as ${state}`,
        tag: 'progress',
        allow: mark,
        params: SeriesId,
        reply: Marked,
        run: (call, { params }) => markAs(state, { call, of: { seriesIds: [params.seriesId] } }),
      }),
      endpoint({
        name: `bulkMarkBooks${word}`,
        method: 'POST',
        path: `/api/v1/books/bulk/${state}`,
        summary: `Mark many books as ${state}`,
        tag: 'progress',
        allow: mark,
        body: Type.Object({ bookIds }, { additionalProperties: false }),
        reply: Marked,
        run: (call, { body }) => markAs(state, { call, of: body }),
      }),
      endpoint({
        name: `bulkMarkSeries${word}`,
        method: 'POST',
        path: `/api/v1/series/bulk/${state}`,
        summary: `Mark all books of many series as ${state}`,
        tag: 'progress',
        allow: mark,
        body: Type.Object({ seriesIds }, { additionalProperties: false }),
        reply: Marked,
        run: (call, { body }) => markAs(state, { call, of: body }),
      }),
    ]
  }),
  ...(['PUT', 'DELETE'] as const).map((method) =>
    endpoint({
      name: method === 'PUT' ? 'addToMyWantToRead' : 'removeFromMyWantToRead',
      method,
      path: '/api/v1/user/want-to-read/:seriesId',
      summary: method === 'PUT' ? 'Add a series to my want-to-read list' : 'Remove a series from my want-to-read list',
      tag: 'progress',
      allow: { who: 'progress-write', also: ['series-read'] },
      params: SeriesId,
      status: 204,
      run: async ({ services, caller }, { params }) => {
        const { id: seriesId } = await getSeries(services.database, caller, params.seriesId)
        await saveWantToRead(services.database, { userId: caller.userId, seriesId, wanted: method === 'PUT' })
      },
    }),
  ),
]
