import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { BULK_BOOKS_MAX, BULK_SERIES_MAX } from '#core/analysis/request-analyses.ts'
import { requestThumbnail, requestThumbnails } from '#core/analysis/request-thumbnails.ts'
import { Nullable, Uuid } from '#core/foundation/schema.ts'

type Services = Pick<DataServices, 'database'> & Pick<WorkServices, 'tasks'>
const endpoint = endpointOf<Services>()

const LibraryId = Type.Object({ libraryId: Uuid })
const force = Type.Optional(
  Type.Boolean({ title: 'DrawAnew', description: 'Also replace existing thumbnails; default false: only missing ones are generated.' }),
)
const Force = Type.Object({ force }, { additionalProperties: false })
const BookIds = Type.Array(Uuid, { minItems: 1, maxItems: BULK_BOOKS_MAX })
const SeriesIds = Type.Array(Uuid, { minItems: 1, maxItems: BULK_SERIES_MAX })
const TaskStarted = Type.Object({ taskId: Uuid })
const BulkTask = Type.Object({ message: Type.String(), taskId: Uuid })
const shared = { method: 'POST', tag: 'thumbnails', allow: { who: 'tasks-write' }, status: 202 } as const

export const thumbnailRoutes = [
  endpoint({
    ...shared,
    name: 'generateBookThumbnail',
    path: '/api/v1/books/:bookId/thumbnail/generate',
    summary: 'Generate the thumbnail of a book',
    params: Type.Object({ bookId: Uuid }),
    bodyOptional: true,
    body: Force,
    reply: TaskStarted,
    run: (call, { params, body }) => requestThumbnail(call.services, call.caller, { ...params, ...body }),
  }),
  endpoint({
    ...shared,
    name: 'generateSeriesThumbnail',
    path: '/api/v1/series/:seriesId/thumbnail/generate',
    summary: 'Generate the thumbnail of a series: that of its first book',
    params: Type.Object({ seriesId: Uuid }),
    bodyOptional: true,
    body: Force,
    reply: TaskStarted,
    run: (call, { params, body }) => requestThumbnail(call.services, call.caller, { ...params, ...body }),
  }),
  endpoint({
    ...shared,
    name: 'generateBookThumbnails',
    path: '/api/v1/books/thumbnails/generate',
    summary: 'Generate the thumbnails of selected books, or of all',
    bodyOptional: true,
    body: Type.Object(
      {
        bookIds: Type.Optional(Nullable(BookIds)),
        libraryId: Type.Optional(Nullable(Uuid)),
        seriesId: Type.Optional(Nullable(Uuid)),
        seriesIds: Type.Optional(Nullable(SeriesIds)),
        force,
      },
      { additionalProperties: false },
    ),
    reply: TaskStarted,
    run: async (call, { body: { seriesId, ...body } }) => {
      const seriesIds = seriesId ? [seriesId, ...(body.seriesIds ?? [])] : body.seriesIds
      const { taskId } = await requestThumbnails(call.services, call.caller, { of: 'books', ...body, seriesIds })
      return { taskId }
    },
  }),
  endpoint({
    ...shared,
    name: 'generateSeriesThumbnails',
    path: '/api/v1/series/thumbnails/generate',
    summary: 'Generate the thumbnails of selected series, or of all',
    bodyOptional: true,
    body: Type.Object(
      { libraryId: Type.Optional(Nullable(Uuid)), seriesIds: Type.Optional(Nullable(SeriesIds)), force },
      { additionalProperties: false },
    ),
    reply: TaskStarted,
    run: async (call, { body }) => {
      const { taskId } = await requestThumbnails(call.services, call.caller, { of: 'series', ...body })
      return { taskId }
    },
  }),
  ...(['books', 'series'] as const).map((of) =>
    endpoint({
      ...shared,
      name: of === 'books' ? 'generateLibraryBookThumbnails' : 'generateLibrarySeriesThumbnails',
      path: `/api/v1/libraries/:libraryId/${of}/thumbnails/generate`,
      summary: `Generate the thumbnails of all ${of} of a library`,
      params: LibraryId,
      bodyOptional: true,
      body: Force,
      reply: TaskStarted,
      run: async (call, { params, body }) => {
        const { taskId } = await requestThumbnails(call.services, call.caller, { of, ...params, ...body })
        return { taskId }
      },
    }),
  ),
  endpoint({
    ...shared,
    name: 'bulkGenerateBookThumbnails',
    path: '/api/v1/books/bulk/thumbnails/generate',
    summary: 'Generate the thumbnails of many books; an unknown id refuses the whole request',
    body: Type.Object({ bookIds: BookIds, force }, { additionalProperties: false }),
    reply: BulkTask,
    run: (call, { body }) => requestThumbnails(call.services, call.caller, { of: 'books', ...body }),
  }),
  ...(
    [
      {
        name: 'bulkGenerateSeriesThumbnails',
        path: '/api/v1/series/bulk/thumbnails/generate',
        of: 'series',
        what: 'many series',
      },
      {
        name: 'bulkGenerateSeriesBookThumbnails',
        path: '/api/v1/series/bulk/thumbnails/books/generate',
        of: 'books',
        what: 'all books of many series',
      },
    ] as const
  ).map(({ name, path, of, what }) =>
    endpoint({
      ...shared,
      name,
      path,
      summary: `Generate the thumbnails of ${what}; an unknown id refuses the whole request`,
      body: Type.Object({ seriesIds: SeriesIds, force }, { additionalProperties: false }),
      reply: BulkTask,
      run: (call, { body }) => requestThumbnails(call.services, call.caller, { of, ...body }),
    }),
  ),
]
