import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { requestAnalysesOfSeries, requestBookAnalysis, requestLibraryAnalysis } from '#core/analysis/request-analyses.ts'
import { requestThumbnails } from '#core/analysis/request-thumbnails.ts'
import { Nullable, Uuid } from '#core/foundation/schema.ts'
import { removeAllTasks } from '#core/maintenance/change-task.ts'
import { requestPurge } from '#core/scan/purge-deleted.ts'

type Services = Pick<DataServices, 'database' | 'log'> & Pick<WorkServices, 'scans' | 'tasks'>
const komgaEndpoint = komgaEndpointOf<Services>()

const LibraryId = Type.Object({ libraryId: Uuid })
const SeriesId = Type.Object({ seriesId: Uuid })
const BookId = Type.Object({ bookId: Uuid })
const Started = Type.Object({ taskId: Nullable(Uuid) }, { title: 'KomgaTaskStarted' })

/** An analysis reads the file and its metadata, so that both paths do the same. */
const ANALYSES = [
  ['analyze', 'again'],
  ['metadata/refresh', 'again, for their metadata'],
] as const

export const komgaMaintenanceRoutes = [
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/scan',
    summary: 'Scan a library',
    who: 'libraries-write',
    params: LibraryId,
    query: Type.Object({ deep: Type.Optional(Type.Boolean({ description: 'Reads every file again.' })) }),
    status: 202,
    reply: Started,
    run: async (call, { params, query }) => {
      const { taskId = null } = await call.services.scans.start(params.libraryId, query.deep ? 'deep' : 'normal', call.caller)
      return { taskId }
    },
  }),
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/empty-trash',
    summary: 'Remove the books of a library whose files are deleted',
    who: 'libraries-write',
    params: LibraryId,
    status: 202,
    reply: Started,
    run: (call, { params }) => requestPurge(call.services, call.caller, params.libraryId),
  }),
  ...ANALYSES.flatMap(([path, how]) => [
    komgaEndpoint({
      method: 'POST',
      path: `/api/v1/libraries/:libraryId/${path}`,
      summary: `Read all files of a library ${how}`,
      who: 'libraries-write',
      params: LibraryId,
      status: 202,
      reply: Started,
      run: (call, { params }) => requestLibraryAnalysis(call.services, call.caller, { ...params, scope: 'all' }),
    }),
    komgaEndpoint({
      method: 'POST',
      path: `/api/v1/series/:seriesId/${path}`,
      summary: `Read the files of a series ${how}`,
      who: 'series-write',
      params: SeriesId,
      status: 202,
      reply: Started,
      run: async (call, { params }) => {
        const { taskId } = await requestAnalysesOfSeries(call.services, call.caller, {
          seriesIds: [params.seriesId],
          choice: 'all',
        })
        return { taskId }
      },
    }),
    komgaEndpoint({
      method: 'POST',
      path: `/api/v1/books/:bookId/${path}`,
      summary: `Read the file of a book ${how}`,
      who: 'books-write',
      params: BookId,
      status: 202,
      reply: Started,
      run: (call, { params }) => requestBookAnalysis(call.services, call.caller, { ...params, choice: 'all' }),
    }),
  ]),
  komgaEndpoint({
    method: 'PUT',
    path: '/api/v1/books/thumbnails',
    summary: 'Generate the thumbnails of all books again',
    who: 'tasks-write',
    query: Type.Object({
      for_bigger_result_only: Type.Optional(Type.Boolean({ description: 'Only the missing ones: all others have their size already.' })),
    }),
    status: 202,
    reply: Started,
    run: async (call, { query }) => {
      const force = !query.for_bigger_result_only
      const { taskId } = await requestThumbnails(call.services, call.caller, { of: 'books', force })
      return { taskId }
    },
  }),
  komgaEndpoint({
    method: 'DELETE',
    path: '/api/v1/tasks',
    summary: 'Cancel and delete all tasks; returns how many',
    who: 'system-admin',
    status: 200,
    reply: Type.Integer({ minimum: 0 }),
    run: async ({ services, caller }) => {
      const deleted = await removeAllTasks(services)
      services.log.warn({ deleted, by: caller.userId }, 'All tasks were cancelled')
      return deleted
    },
  }),
]
