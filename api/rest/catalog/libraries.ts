import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { TemplateServices } from '#api/areas/templates.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf, madeAt } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { SeriesRule } from '#api/rest/catalog/scan-preview.ts'
import { requestLibraryAnalysis } from '#core/analysis/request-analyses.ts'
import { CreateLibraryRequest, Library, UpdateLibraryRequest } from '#core/catalog/library.ts'
import { getLibrary, listLibraries } from '#core/catalog/library-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { described, Noun, OneOf, Uuid } from '#core/foundation/schema.ts'
import { createLibrary, editLibrary, previewLayout, removeLibrary } from '#core/scan/edit-library.ts'
import { purgeDeletedOf } from '#core/scan/purge-deleted.ts'
import { SCAN_PATH_LENGTH_MAX } from '#core/scan/scan-part.ts'
import { ScanStatus } from '#core/scan/scans.ts'

type Services = Pick<DataServices, 'database' | 'settings'> & Pick<TemplateServices, 'rules'> & Pick<WorkServices, 'scans' | 'tasks'>
const endpoint = endpointOf<Services>()

const params = Type.Object({ libraryId: Uuid })
const Count = Type.Integer({ minimum: 0 })
const EditedLibrary = Noun('EditedLibrary')({
  ...Library.properties,
  layoutChange: Type.Optional(
    Noun('LayoutChange')({
      booksMoved: Count,
      seriesKept: described(Count, 'Series that keep their id, metadata, locks, ratings, covers and places in collections.'),
      seriesNew: Count,
      seriesRemoved: described(Count, 'Series that have no books afterwards.'),
      examples: Type.Array(
        Type.Object({
          title: Type.String(),
          path: Type.String({ description: 'Below the folder of the library.' }),
          rule: SeriesRule,
          bookCount: Count,
          from: Type.Array(Type.String(), { description: 'Paths of the series that the books are in now, five at most.' }),
        }),
        { description: 'The first 50 series afterwards, of those whose books change.' },
      ),
    }),
  ),
})

/** Clients from before `auto` know only the other strategies. */
const shownLibrary = ({ settings }: Pick<Services, 'settings'>, library: Library): Library =>
  settings.compatibility.legacyNames && library.seriesStrategy === 'auto' ? { ...library, seriesStrategy: 'series_volume' } : library

/** They send back the name that they were given, which means no change. */
function meantRequest({ settings }: Pick<Services, 'settings'>, library: Library, body: UpdateLibraryRequest): UpdateLibraryRequest {
  const isShownName = settings.compatibility.legacyNames && library.seriesStrategy === 'auto' && body.seriesStrategy === 'series_volume'
  return isShownName ? { ...body, seriesStrategy: 'auto' } : body
}

const TaskStarted = Noun('TaskStarted')({ taskId: Uuid })
const tag = 'libraries'

/** A URL has no room for more, and `true` confirms all. */
const CONFIRMED_MAX = 100

function readConfirm(given: readonly string[] = []): boolean | readonly string[] {
  const folders = given.filter((text) => text !== 'true' && text !== 'false')
  return given.includes('true') || (folders.length > 0 && folders)
}

export const libraryRoutes = [
  endpoint({
    name: 'listLibraries',
    method: 'GET',
    path: '/api/v1/libraries',
    summary: 'List libraries',
    tag,
    allow: { who: 'libraries-read' },
    query: Type.Object(pageQuery),
    reply: Paginated(Library),
    run: async (call, { query }) => {
      const { items, total } = await listLibraries(call.services.database, call.caller, pageWindow(query))
      return paginate(call, query, { items: items.map((library) => shownLibrary(call.services, library)), total })
    },
  }),
  endpoint({
    name: 'createLibrary',
    method: 'POST',
    path: '/api/v1/libraries',
    summary: 'Create a library from a folder',
    tag,
    allow: { who: 'libraries-write' },
    status: 201,
    body: CreateLibraryRequest,
    reply: Library,
    run: async (call, { body }) => {
      const { services, caller } = call
      const libraryId = await createLibrary(services, body, caller)
      return madeAt(call, '/api/v1/libraries', shownLibrary(services, await getLibrary(services.database, caller, libraryId)))
    },
  }),
  endpoint({
    name: 'getLibrary',
    method: 'GET',
    path: '/api/v1/libraries/:libraryId',
    summary: 'Get a library',
    tag,
    allow: { who: 'libraries-read' },
    params,
    reply: Library,
    run: async ({ services, caller }, { params }) => shownLibrary(services, await getLibrary(services.database, caller, params.libraryId)),
  }),
  endpoint({
    name: 'patchLibrary',
    method: 'PATCH',
    path: '/api/v1/libraries/:libraryId',
    summary: 'Change a library',
    tag,
    allow: { who: 'libraries-write' },
    params,
    query: Type.Object({
      dryRun: Type.Optional(
        Type.Boolean({
          description: 'Changes nothing; `layoutChange` tells which books another seriesStrategy or seriesConfig would move.',
        }),
      ),
    }),
    body: UpdateLibraryRequest,
    reply: EditedLibrary,
    run: async ({ services, caller, signal }, { params, query, body }) => {
      const { libraryId } = params
      const before = await getLibrary(services.database, caller, libraryId)
      const request = meantRequest(services, before, body)
      if (query.dryRun) {
        const layoutChange = await previewLayout(services, libraryId, { request, by: caller, signal })
        return { ...shownLibrary(services, before), layoutChange }
      }
      await editLibrary(services, libraryId, request, caller)
      return shownLibrary(services, await getLibrary(services.database, caller, libraryId))
    },
  }),
  endpoint({
    name: 'deleteLibrary',
    method: 'DELETE',
    path: '/api/v1/libraries/:libraryId',
    summary: 'Delete a library; its files stay',
    tag,
    allow: { who: 'libraries-delete' },
    status: 204,
    params,
    run: ({ services, caller }, { params }) =>
      removeLibrary({ ...services, dataFolder: services.settings.dataFolder }, params.libraryId, caller),
  }),
  endpoint({
    name: 'scanLibrary',
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/scan',
    summary: 'Scan a library, or a part of it',
    tag,
    allow: { who: 'scans-start' },
    status: 202,
    params,
    query: Type.Object({
      mode: Type.Optional(OneOf(['normal', 'deep'])),
      path: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: SCAN_PATH_LENGTH_MAX,
          description: 'Scans only this folder and what is below it, relative to the library; of a file, its folder.',
        }),
      ),
      confirm: Type.Optional(
        Type.Array(Type.String({ maxLength: 2_500 }), {
          maxItems: CONFIRMED_MAX,
          description:
            'Confirms that missing books are gone for good: `true` all of them, or the names of folders that the last scan has withheld (`withheld` of its status); repeat it for several. Needs `libraries-write`. A folder named `true` is `true/`. A folder that cannot be read never changes anything.',
        }),
      ),
    }),
    reply: ScanStatus,
    run: async (call, { params, query }) => {
      const confirm = readConfirm(query.confirm)
      if (confirm !== false && !call.caller.permissions.has('libraries-write'))
        refuse('forbidden', 'To confirm that books are gone, you need the permission libraries-write.')
      return await call.services.scans.start(params.libraryId, query.mode, call.caller, { confirm, path: query.path })
    },
  }),
  endpoint({
    name: 'scanSeries',
    method: 'POST',
    path: '/api/v1/series/:seriesId/scan',
    summary: 'Scan the folder of a series',
    tag: 'series',
    allow: { who: 'scans-start' },
    status: 202,
    params: Type.Object({ seriesId: Uuid }),
    query: Type.Object({ mode: Type.Optional(OneOf(['normal', 'deep'])) }),
    reply: ScanStatus,
    run: async (call, { params, query }) => await call.services.scans.startSeries(params.seriesId, query.mode, call.caller),
  }),
  endpoint({
    name: 'getLibraryScanStatus',
    method: 'GET',
    path: '/api/v1/libraries/:libraryId/scan-status',
    summary: 'Get the state of the latest scan of a library',
    tag,
    allow: { who: 'libraries-read' },
    params,
    reply: ScanStatus,
    run: async (call, { params }) => await call.services.scans.getStatus(params.libraryId, call.caller),
  }),
  endpoint({
    name: 'cancelLibraryScan',
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/scan/cancel',
    summary: 'Stop the scan and the analyses of a library; keeps finished results',
    tag,
    allow: { who: 'libraries-write' },
    status: 204,
    params,
    run: ({ services, caller }, { params }) => services.scans.cancel(params.libraryId, caller),
  }),
  endpoint({
    name: 'purgeDeletedBooksOfLibrary',
    method: 'DELETE',
    path: '/api/v1/libraries/:libraryId/purge-deleted',
    summary: 'Delete books whose files are missing; returns their number',
    tag,
    allow: { who: 'libraries-write' },
    params,
    reply: Type.Integer({ minimum: 0 }),
    run: async ({ services, caller }, { params }) =>
      await purgeDeletedOf({ database: services.database, dataFolder: services.settings.dataFolder }, caller, params.libraryId),
  }),
  endpoint({
    name: 'analyzeLibrary',
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/analyze',
    summary: 'Analyze all books of a library again',
    tag,
    allow: { who: 'libraries-write' },
    status: 202,
    params,
    reply: TaskStarted,
    run: async ({ services, caller }, { params }) => await requestLibraryAnalysis(services, caller, { ...params, scope: 'all' }),
  }),
  endpoint({
    name: 'analyzeUnanalyzedBooksOfLibrary',
    method: 'POST',
    path: '/api/v1/libraries/:libraryId/analyze-unanalyzed',
    summary: 'Analyze the books of a library that have no successful analysis',
    tag,
    allow: { who: 'libraries-write' },
    status: 202,
    params,
    reply: TaskStarted,
    run: async ({ services, caller }, { params }) => await requestLibraryAnalysis(services, caller, { ...params, scope: 'unanalyzed' }),
  }),
  endpoint({
    name: 'listActiveScans',
    method: 'GET',
    path: '/api/v1/scans/active',
    summary: 'List waiting and running scans',
    tag: 'scans',
    allow: { who: 'libraries-read' },
    reply: Type.Array(ScanStatus),
    run: async (call) => await call.services.scans.listActive(call.caller),
  }),
]
