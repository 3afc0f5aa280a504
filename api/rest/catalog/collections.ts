import Type from 'typebox'
import { type Call, endpointOf, madeAt, streamOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, paginate, readPage } from '#api/http/pagination.ts'
import type { Needs } from '#api/http/services.ts'
import { FULL_SERIES, SERIES_SORT, ShownSeries, shownSeries } from '#api/views/series-view.ts'
import { seriesThumbnail, thumbnailQuery } from '#api/views/thumbnail.ts'
import { getSeries, readSeriesSort } from '#core/catalog/series-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { Collection, NewCollection, SeriesIds, type Shelf, ShelfEdit } from '#core/shelves/shelf.ts'
import { findShelf, listCollectionSeries, listShelves } from '#core/shelves/shelf-query.ts'
import { addShelf, editMembers, editShelf, removeShelf } from '#core/shelves/shelf-store.ts'

type Services = Needs<'database' | 'settings'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

const params = Type.Object({ collectionId: Uuid })
const kind = 'collection'
const tag = 'collections'
const read = { who: 'series-read' } as const
const write = { who: 'series-write' } as const

const shown = ({ count, ...shelf }: Shelf) => ({ ...shelf, seriesCount: count })

async function getShelf(call: Call<Services>, id: string): Promise<Shelf> {
  const found = await findShelf(call.services.database, call.caller, kind, id)
  return found ?? refuse('not_found', `There is no collection ${id}, or you may not see it.`)
}

export const collectionRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/collections',
    summary: 'List collections by name',
    tag,
    allow: read,
    query: Type.Object(pageQuery),
    reply: Paginated(Collection),
    run: async (call, { query }) => {
      const { page, pageSize, ...window } = readPage(query)
      const { items, total } = await listShelves(call.services.database, call.caller, kind, window)
      return paginate({ call, page, pageSize, total, data: items.map(shown) })
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/collections',
    summary: 'Make a collection',
    tag,
    allow: write,
    status: 201,
    body: NewCollection,
    reply: Collection,
    run: async (call, { body: { seriesIds = [], ...shelf } }) => {
      const added = await addShelf(call.services.database, call.caller, kind, { ...shelf, memberIds: seriesIds })
      return madeAt(call, '/api/v1/collections', shown(added))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/collections/:collectionId',
    summary: 'One collection',
    tag,
    allow: read,
    params,
    reply: Collection,
    run: async (call, { params }) => shown(await getShelf(call, params.collectionId)),
  }),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/collections/:collectionId',
    summary: 'Change the name, summary or ordering of a collection',
    tag,
    allow: write,
    params,
    body: ShelfEdit,
    reply: Collection,
    run: async (call, { params, body }) =>
      shown(await editShelf(call.services.database, call.caller, kind, { id: params.collectionId, edit: body })),
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/collections/:collectionId',
    summary: 'Delete a collection; what stood on it stays',
    tag,
    allow: write,
    status: 204,
    params,
    run: async (call, { params }) => {
      await removeShelf(call.services.database, call.caller, kind, params.collectionId)
      return undefined
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/collections/:collectionId/series',
    summary: 'The series of a collection, in its order',
    tag,
    allow: read,
    params,
    query: Type.Object({ ...pageQuery, full: FULL_SERIES, sort: SERIES_SORT }),
    reply: Paginated(ShownSeries),
    run: async (call, { params, query }) => {
      const { page, pageSize, ...window } = readPage(query)
      const list = { ...window, sort: readSeriesSort(query.sort), shelf: await getShelf(call, params.collectionId) }
      const { items, total } = await listCollectionSeries(call.services.database, call.caller, list)
      return paginate({ call, page, pageSize, total, data: shownSeries(call, items, query) })
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/api/v1/collections/:collectionId/series',
    summary: 'Set the series of a collection and their order',
    tag,
    allow: write,
    params,
    body: SeriesIds,
    reply: Collection,
    run: async (call, { params, body }) => {
      const change = { id: params.collectionId, how: 'replace', memberIds: body.seriesIds } as const
      return shown(await editMembers(call.services.database, call.caller, kind, change))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/collections/:collectionId/series',
    summary: 'Add series at the end of a collection',
    tag,
    allow: write,
    params,
    body: SeriesIds,
    reply: Collection,
    run: async (call, { params, body }) => {
      const change = { id: params.collectionId, how: 'append', memberIds: body.seriesIds } as const
      return shown(await editMembers(call.services.database, call.caller, kind, change))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/collections/:collectionId/series/:seriesId',
    summary: 'Take one of the series from a collection',
    tag,
    allow: write,
    status: 204,
    params: Type.Object({ collectionId: Uuid, seriesId: Uuid }),
    run: async (call, { params }) => {
      const change = { id: params.collectionId, how: 'remove', memberIds: [params.seriesId] } as const
      await editMembers(call.services.database, call.caller, kind, change)
      return undefined
    },
  }),
  stream({
    path: '/api/v1/collections/:collectionId/thumbnail',
    summary: 'The cover of the first of the series of a collection, small',
    tag,
    allow: { ...read, cookie: true },
    params,
    query: Type.Object(thumbnailQuery),
    mediaTypes: ['image/jpeg'],
    run: async (call, { params, query }) => {
      const caller = call.caller
      const list = { offset: 0, limit: 1, sort: null, shelf: await getShelf(call, params.collectionId) }
      const { items } = await listCollectionSeries(call.services.database, caller, list)
      return await seriesThumbnail(call, items[0]?.id ?? refuse('not_found', 'Nothing stands on this collection.'), query)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/series/:seriesId/collections',
    summary: 'The collections that hold one of the series',
    tag,
    allow: read,
    params: Type.Object({ seriesId: Uuid }),
    query: Type.Object(pageQuery),
    reply: Paginated(Collection),
    run: async (call, { params, query }) => {
      const { page, pageSize, ...window } = readPage(query)
      const caller = call.caller
      await getSeries(call.services.database, caller, params.seriesId)
      const { items, total } = await listShelves(call.services.database, caller, kind, { ...window, memberId: params.seriesId })
      return paginate({ call, page, pageSize, total, data: items.map(shown) })
    },
  }),
]
