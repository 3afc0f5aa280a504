import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { BULK_SERIES_MAX } from '#core/analysis/request-analyses.ts'
import { Nullable, Uuid } from '#core/foundation/schema.ts'
import { reprocessLibraryTitles, reprocessTitle, reprocessTitles } from '#core/scan/reprocess-titles.ts'

type Services = Pick<DataServices, 'database'> & Pick<WorkServices, 'tasks'>
const endpoint = endpointOf<Services>()

const tag = 'series'
const ReprocessRequest = Type.Object({
  dryRun: Type.Optional(Type.Boolean({ description: 'Changes nothing; the result of the task lists the changes.' })),
})
const Enqueued = Type.Object(
  { success: Type.Boolean(), message: Type.String(), taskIds: Type.Array(Uuid), tasksEnqueued: Type.Integer({ minimum: 0 }) },
  { title: 'EnqueueReprocessTitleResponse' },
)
const SeriesIds = Type.Array(Uuid, { minItems: 1, maxItems: BULK_SERIES_MAX })

export const seriesTitleRoutes = [
  endpoint({
    name: 'reprocessLibrarySeriesTitles',
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/series/titles/reprocess',
    summary: 'Apply the title rules of a library to all its series again',
    tag,
    allow: { who: 'libraries-write' },
    params: Type.Object({ libraryId: Uuid }),
    bodyOptional: true,
    body: ReprocessRequest,
    reply: Enqueued,
    run: async ({ services, caller }, { params, body }) => await reprocessLibraryTitles(services, caller, { ...params, ...body }),
  }),
  endpoint({
    name: 'bulkReprocessSeriesTitles',
    method: 'POST',
    path: '/api/v1/series/bulk/titles/reprocess',
    summary: 'Apply the title rules of the libraries to many series again; an unknown id refuses the whole request',
    tag,
    allow: { who: 'series-write' },
    body: Type.Object({ seriesIds: SeriesIds }),
    reply: Type.Object({ message: Type.String(), taskId: Uuid }),
    run: async (call, { body }) => {
      const { message, taskIds } = await reprocessTitles(call.services, call.caller, body)
      // The number of series is small enough for one task.
      return { message, taskId: taskIds[0] as string }
    },
  }),
  endpoint({
    name: 'reprocessSeriesTitles',
    method: 'POST',
    path: '/api/v1/series/titles/reprocess',
    summary: 'Apply title rules to selected series, or to those of a library, again',
    tag,
    allow: { who: 'series-write' },
    bodyOptional: true,
    body: Type.Object({ libraryId: Type.Optional(Nullable(Uuid)), seriesIds: Type.Optional(Nullable(SeriesIds)) }),
    reply: Enqueued,
    run: async (call, { body }) => await reprocessTitles(call.services, call.caller, body),
  }),
  endpoint({
    name: 'reprocessSeriesTitle',
    method: 'POST',
    path: '/api/v1/series/:seriesId/title/reprocess',
    summary: 'Apply the title rules of its library to a series again',
    tag,
    allow: { who: 'series-write' },
    params: Type.Object({ seriesId: Uuid }),
    bodyOptional: true,
    body: ReprocessRequest,
    reply: Enqueued,
    run: async (call, { params, body }) => await reprocessTitle(call.services, call.caller, { ...params, ...body }),
  }),
]
