import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { Noun, TimeZone, Uuid } from '#core/foundation/schema.ts'
import { Day, DayOfReading } from '#core/reading/readings.ts'
import { deleteReading, deleteReadings, listDaysOfReading } from '#core/reading/readings-store.ts'

type Services = Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()

const filter = {
  from: Type.Optional(Day),
  to: Type.Optional(Day),
  timeZone: Type.Optional(TimeZone({ description: 'In which days begin and end; default UTC.' })),
  bookId: Type.Optional(Uuid),
}

export const readingHistoryRoutes = [
  endpoint({
    name: 'listMyReadings',
    method: 'GET',
    path: '/api/v1/user/readings',
    summary: 'List what I have read by day, latest first, also of books that I have read again or marked as unread',
    tag: 'progress',
    allow: { who: 'progress-read' },
    query: Type.Object({ ...filter, ...pageQuery }),
    reply: Paginated(DayOfReading),
    run: async (call, { query: { timeZone = 'UTC', from, to, bookId, ...query } }) => {
      const list = { timeZone, from, to, bookId, ...pageWindow(query) }
      return paginate(call, query, await listDaysOfReading(call.services.database, call.caller, list))
    },
  }),
  endpoint({
    name: 'deleteMyReadings',
    method: 'DELETE',
    path: '/api/v1/user/readings',
    summary: 'Delete my readings that began in these days, or all of them; my progress stays',
    tag: 'progress',
    allow: { who: 'progress-write' },
    query: Type.Object(filter),
    reply: Noun('DeletedReadings')({ count: Type.Integer({ minimum: 0, description: 'Those of books that the caller sees.' }) }),
    run: async (call, { query: { timeZone = 'UTC', ...rest } }) => ({
      count: await deleteReadings(call.services.database, call.caller, { timeZone, ...rest }),
    }),
  }),
  endpoint({
    name: 'deleteMyReading',
    method: 'DELETE',
    path: '/api/v1/user/readings/:readingId',
    summary: 'Delete one of my readings; my progress stays',
    tag: 'progress',
    allow: { who: 'progress-write' },
    params: Type.Object({ readingId: Uuid }),
    status: 204,
    run: (call, { params }) => deleteReading(call.services.database, call.caller, params.readingId),
  }),
]
