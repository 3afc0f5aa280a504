import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { BULK_BOOKS_MAX, BULK_SERIES_MAX } from '#core/analysis/request-analyses.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { purgeBooks, purgeDeletedOfSeries } from '#core/scan/purge-deleted.ts'
import { renumberManySeries, renumberSeries } from '#core/scan/renumber.ts'

type Services = Pick<DataServices, 'database' | 'settings'> & Pick<WorkServices, 'tasks'>
const endpoint = endpointOf<Services>()

const SeriesId = Type.Object({ seriesId: Uuid })
const tag = 'series'

export const seriesMaintenanceRoutes = [
  endpoint({
    name: 'purgeDeletedBooksOfSeries',
    method: 'DELETE',
    path: '/api/v1/series/:seriesId/purge-deleted',
    summary: 'Delete books of a series whose files are missing; returns their number',
    tag,
    allow: { who: 'series-write' },
    params: SeriesId,
    reply: Type.Integer({ minimum: 0 }),
    run: async (call, { params }) => {
      const { database, settings } = call.services
      return await purgeDeletedOfSeries({ database, dataFolder: settings.dataFolder }, call.caller, params.seriesId)
    },
  }),
  endpoint({
    name: 'purgeDeletedBook',
    method: 'DELETE',
    path: '/api/v1/books/:bookId/purge-deleted',
    summary: 'Delete a book whose file is missing',
    tag: 'books',
    allow: { who: 'series-write' },
    status: 204,
    params: Type.Object({ bookId: Uuid }),
    run: async (call, { params }) => {
      const { database, settings } = call.services
      await purgeBooks({ database, dataFolder: settings.dataFolder }, call.caller, [params.bookId])
    },
  }),
  endpoint({
    name: 'bulkPurgeDeletedBooks',
    method: 'POST',
    path: '/api/v1/books/bulk/purge-deleted',
    summary: 'Delete many books whose files are missing; a book that is there, or an unknown id, refuses the whole request',
    tag: 'books',
    allow: { who: 'series-write' },
    body: Type.Object({ bookIds: Type.Array(Uuid, { minItems: 1, maxItems: BULK_BOOKS_MAX }) }),
    reply: Type.Object({ removed: Type.Integer({ minimum: 0 }) }),
    run: async (call, { body }) => {
      const { database, settings } = call.services
      return { removed: await purgeBooks({ database, dataFolder: settings.dataFolder }, call.caller, body.bookIds) }
    },
  }),
  endpoint({
    name: 'renumberSeries',
    method: 'POST',
    path: '/api/v1/series/:seriesId/renumber',
    summary: 'Number the books of a series by their file names again; keeps locked numbers and those from better sources',
    tag,
    allow: { who: 'series-write' },
    status: 202,
    params: SeriesId,
    reply: Type.Object({ taskId: Uuid }),
    run: (call, { params }) => renumberSeries(call.services, call.caller, params.seriesId),
  }),
  endpoint({
    name: 'bulkRenumberSeries',
    method: 'POST',
    path: '/api/v1/series/bulk/renumber',
    summary: 'Number the books of many series by their file names again; an unknown id refuses the whole request',
    tag,
    allow: { who: 'series-write' },
    status: 202,
    body: Type.Object({ seriesIds: Type.Array(Uuid, { minItems: 1, maxItems: BULK_SERIES_MAX }) }),
    reply: Type.Object({ message: Type.String(), taskId: Uuid }),
    run: (call, { body }) => renumberManySeries(call.services, call.caller, body.seriesIds),
  }),
]
