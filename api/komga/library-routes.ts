import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { KomgaLibrary, komgaLibrary } from '#api/komga/library-view.ts'
import { komgaEndpointOf, komgaStreamOf } from '#api/komga/route.ts'
import { seriesThumbnail, thumbnailQuery } from '#api/views/thumbnail.ts'
import { getLibrary, listLibraries } from '#core/catalog/library-query.ts'
import { listIdsOfSeries } from '#core/catalog/series-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Uuid } from '#core/foundation/schema.ts'

type Services = Pick<DataServices, 'database' | 'settings'>
const komgaEndpoint = komgaEndpointOf<Services>()
const komgaStream = komgaStreamOf<Services>()

/** This list is not paginated. A server has far fewer libraries, and each is one line. */
const LIBRARIES_MAX = 1_000
const params = Type.Object({ libraryId: Uuid })

export const komgaLibraryRoutes = [
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/libraries',
    summary: 'List libraries',
    who: 'libraries-read',
    reply: Type.Array(KomgaLibrary),
    run: async (call) => {
      const { items } = await listLibraries(call.services.database, call.caller, { offset: 0, limit: LIBRARIES_MAX })
      return items.map(komgaLibrary)
    },
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/libraries/:libraryId',
    summary: 'One library',
    who: 'libraries-read',
    params,
    reply: KomgaLibrary,
    run: async (call, { params }) => komgaLibrary(await getLibrary(call.services.database, call.caller, params.libraryId)),
  }),
  komgaStream({
    path: '/api/v1/libraries/:libraryId/thumbnail',
    summary: 'The thumbnail of the first series of a library',
    who: 'libraries-read',
    params,
    query: Type.Object(thumbnailQuery),
    mediaTypes: ['image/jpeg'],
    run: async (call, { params, query }) => {
      const { database } = call.services
      const { id } = await getLibrary(database, call.caller, params.libraryId)
      const { ids } = await listIdsOfSeries(database, call.caller, { filter: { libraryId: id }, sort: null, offset: 0, limit: 1 })
      return await seriesThumbnail(call, ids[0] ?? refuse('not_found', 'This library has no series.'), query)
    },
  }),
]
