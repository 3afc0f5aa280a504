import Type, { type TSchema } from 'typebox'
import { type Call, endpointOf, madeAt, type StreamReply, streamOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, paginate, readPage } from '#api/http/pagination.ts'
import type { Needs } from '#api/http/services.ts'
import { BOOK_SORT, FULL, ListedBook, listedBooks } from '#api/views/book-view.ts'
import { FULL_SERIES, ListedSeries, listedSeries, SERIES_SORT } from '#api/views/series-view.ts'
import { bookThumbnail, seriesThumbnail, thumbnailQuery } from '#api/views/thumbnail.ts'
import { getBook } from '#core/catalog/book-query.ts'
import { readBookSort } from '#core/catalog/book-sort-query.ts'
import { getSeries } from '#core/catalog/series-query.ts'
import { readSeriesSort } from '#core/catalog/series-sort-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Uuid } from '#core/foundation/schema.ts'
import * as shapes from '#core/shelves/shelf.ts'
import { findShelf, listCollectionSeries, listReadListBooks, listShelves } from '#core/shelves/shelf-query.ts'
import { addShelf, editMembers, editShelf, removeShelf } from '#core/shelves/shelf-store.ts'

type Services = Needs<'database' | 'settings'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

type Shelf = shapes.Shelf
/** The query of a shelf's member list. */
interface ListQuery {
  page?: number
  pageSize?: number
  full?: boolean
  sort?: string
}

/** How collections and read lists differ. */
interface Kind {
  kind: shapes.ShelfKind
  noun: string
  /** Last part of the address of the list, and the tag. */
  path: string
  idName: string
  /** The kind of the members, in addresses and sentences. */
  members: 'series' | 'books'
  memberId: string
  /** Members of bodies and answers. */
  memberIds: string
  countName: string
  read: 'series-read' | 'books-read'
  write: 'series-write' | 'books-write'
  Reply: TSchema
  New: TSchema
  Ids: TSchema
  ListedMember: TSchema
  full: TSchema
  sort: TSchema
  /** @throws not_found for a member that the caller may not see */
  checkMember(call: Call<Services>, id: string): Promise<unknown>
  listMembers(call: Call<Services>, shelf: Shelf, query: ListQuery): Promise<object>
  /** The cover of the first member; null if there is none. */
  firstCover(call: Call<Services>, shelf: Shelf, query: { placeholder?: boolean }): Promise<StreamReply | null>
}

const COLLECTION: Kind = {
  ...{ kind: 'collection', noun: 'collection', path: 'collections', idName: 'collectionId', countName: 'seriesCount' },
  ...{ members: 'series', memberId: 'seriesId', memberIds: 'seriesIds', read: 'series-read', write: 'series-write' },
  ...{ Reply: shapes.Collection, New: shapes.NewCollection, Ids: shapes.SeriesIds, ListedMember: ListedSeries },
  ...{ full: FULL_SERIES, sort: SERIES_SORT },
  checkMember: ({ services, caller }, id) => getSeries(services.database, caller, id),
  async listMembers(call, shelf, query) {
    const { page, pageSize, ...window } = readPage(query)
    const list = { ...window, sort: readSeriesSort(query.sort), shelf }
    const { items, total } = await listCollectionSeries(call.services.database, call.caller, list)
    return paginate({ call, page, pageSize, total, data: listedSeries(call, items, query) })
  },
  async firstCover(call, shelf, query) {
    const { items } = await listCollectionSeries(call.services.database, call.caller, { offset: 0, limit: 1, sort: null, shelf })
    return items[0] ? await seriesThumbnail(call, items[0].id, query) : null
  },
}

const READ_LIST: Kind = {
  ...{ kind: 'read_list', noun: 'read list', path: 'read-lists', idName: 'readListId', countName: 'bookCount' },
  ...{ members: 'books', memberId: 'bookId', memberIds: 'bookIds', read: 'books-read', write: 'books-write' },
  ...{ Reply: shapes.ReadList, New: shapes.NewReadList, Ids: shapes.BookIds, ListedMember: ListedBook },
  ...{ full: FULL, sort: BOOK_SORT },
  checkMember: ({ services, caller }, id) => getBook(services.database, caller, id),
  async listMembers(call, shelf, query) {
    const { page, pageSize, ...window } = readPage(query)
    const list = { ...window, sort: readBookSort(query.sort), shelf }
    const { items, total } = await listReadListBooks(call.services.database, call.caller, list)
    return paginate({ call, page, pageSize, total, data: listedBooks(call, items, query) })
  },
  async firstCover(call, shelf, query) {
    const { items } = await listReadListBooks(call.services.database, call.caller, { offset: 0, limit: 1, sort: null, shelf })
    return items[0] ? await bookThumbnail(call, items[0].id, query) : null
  },
}

/** The record of a shelf, with the name that its kind uses for the count. */
export const shelfView = (countName: string, { count, ...shelf }: Shelf) => ({ ...shelf, [countName]: count })

/** Addresses, permissions and shapes of a kind. */
function reachOf(of: Kind) {
  const list = `/api/v1/${of.path}`
  const one = `${list}/:${of.idName}`
  const idOf = (params: unknown) => (params as Record<string, string>)[of.idName] as string
  return {
    ...{ list, one, idOf, params: Type.Object({ [of.idName]: Uuid }) },
    ...{ tag: of.path, read: { who: of.read }, write: { who: of.write } },
    show: (shelf: Shelf) => shelfView(of.countName, shelf),
    async get({ services, caller }: Call<Services>, params: unknown): Promise<Shelf> {
      const found = await findShelf(services.database, caller, of.kind, idOf(params))
      return found ?? refuse('not_found', `There is no ${of.noun} ${idOf(params)}, or you may not see it.`)
    },
  }
}

/** List all shelves or those of one member, and create new ones. */
function listRoutes(of: Kind) {
  const { list, tag, read, write, show } = reachOf(of)
  const answer = async (call: Call<Services>, query: ListQuery, memberId?: string) => {
    const { page, pageSize, ...window } = readPage(query)
    const { items, total } = await listShelves(call.services.database, call.caller, of.kind, { ...window, memberId })
    return paginate({ call, page, pageSize, total, data: items.map(show) })
  }
  const [query, reply] = [Type.Object(pageQuery), Paginated(of.Reply)]
  return [
    endpoint({
      ...{ method: 'GET', path: list, dependsOn: 'catalog', summary: `List ${of.noun}s by name`, tag, allow: read, query, reply },
      run: (call, { query }) => answer(call, query),
    }),
    endpoint({
      ...{ method: 'POST', path: list, summary: `Create a ${of.noun}`, tag, allow: write, status: 201, body: of.New, reply: of.Reply },
      run: async (call, { body }) => {
        const { [of.memberIds]: memberIds = [], ...shelf } = body as Record<string, string[]>
        const added = { ...(shelf as unknown as { name: string }), memberIds }
        return madeAt(call, list, show(await addShelf(call.services.database, call.caller, of.kind, added)))
      },
    }),
    endpoint({
      ...{ method: 'GET', path: `/api/v1/${of.members}/:${of.memberId}/${of.path}`, tag, allow: read, query, reply },
      summary: `List the ${of.noun}s that contain a ${of.memberId.replace('Id', '')}`,
      params: Type.Object({ [of.memberId]: Uuid }),
      run: async (call, { params, query }) => {
        const memberId = (params as Record<string, string>)[of.memberId] as string
        await of.checkMember(call, memberId)
        return await answer(call, query, memberId)
      },
    }),
  ]
}

/** One shelf. */
function recordRoutes(of: Kind) {
  const { one, params, idOf, tag, read, write, show, get } = reachOf(of)
  const { noun, kind, Reply: reply } = of
  return [
    endpoint({
      ...{ method: 'GET', path: one, summary: `Get a ${noun}`, tag, allow: read, params, reply },
      run: async (call, { params }) => show(await get(call, params)),
    }),
    endpoint({
      ...{ method: 'PATCH', path: one, summary: `Change the name, summary or ordering of a ${noun}`, tag, allow: write, params, reply },
      body: shapes.ShelfEdit,
      run: async (call, { params, body }) =>
        show(await editShelf(call.services.database, call.caller, kind, { id: idOf(params), edit: body })),
    }),
    endpoint({
      ...{ method: 'DELETE', path: one, summary: `Delete a ${noun}; its members stay`, tag, allow: write, status: 204, params },
      run: async (call, { params }) => {
        await removeShelf(call.services.database, call.caller, kind, idOf(params))
        return undefined
      },
    }),
    stream({
      ...{
        path: `${one}/thumbnail`,
        summary: `Get the small cover of a ${noun}: that of its first ${of.memberId.replace('Id', '')}`,
        tag,
        params,
      },
      allow: { ...read, cookie: true },
      query: Type.Object(thumbnailQuery),
      mediaTypes: ['image/jpeg'],
      run: async (call, { params, query }) =>
        (await of.firstCover(call, await get(call, params), query)) ?? refuse('not_found', `This ${noun} is empty.`),
    }),
  ]
}

/** The members of a shelf. */
function memberRoutes(of: Kind) {
  const { one, params, idOf, tag, read, write, show, get } = reachOf(of)
  const { noun, members } = of
  const path = `${one}/${members}`
  const change = (how: 'replace' | 'append') => async (call: Call<Services>, input: { params: unknown; body: unknown }) => {
    const memberIds = (input.body as Record<string, string[]>)[of.memberIds] ?? []
    return show(await editMembers(call.services.database, call.caller, of.kind, { id: idOf(input.params), how, memberIds }))
  }
  const write204 = { tag, allow: write, status: 204 } as const
  return [
    endpoint({
      ...{ method: 'GET', path, dependsOn: 'catalog', summary: `List the ${members} of a ${noun} in its order`, tag, allow: read, params },
      query: Type.Object({ ...pageQuery, full: of.full, sort: of.sort }),
      reply: Paginated(of.ListedMember),
      run: async (call, { params, query }) => (await of.listMembers(call, await get(call, params), query as ListQuery)) as never,
    }),
    endpoint({
      ...{ method: 'PUT', path, summary: `Set the ${members} of a ${noun} and their order`, tag, allow: write, params },
      ...{ body: of.Ids, reply: of.Reply, run: change('replace') },
    }),
    endpoint({
      ...{ method: 'POST', path, summary: `Add ${members} at the end of a ${noun}`, tag, allow: write, params },
      ...{ body: of.Ids, reply: of.Reply, run: change('append') },
    }),
    endpoint({
      ...{
        method: 'DELETE',
        path: `${path}/:${of.memberId}`,
        summary: `Remove a ${of.memberId.replace('Id', '')} from a ${noun}`,
        ...write204,
      },
      params: Type.Object({ [of.idName]: Uuid, [of.memberId]: Uuid }),
      run: async (call, { params }) => {
        const memberIds = [(params as Record<string, string>)[of.memberId] as string]
        await editMembers(call.services.database, call.caller, of.kind, { id: idOf(params), how: 'remove', memberIds })
        return undefined
      },
    }),
  ]
}

/** Routes of collections of series, or of read lists of books. */
export function shelfRoutes(kind: shapes.ShelfKind) {
  const of = kind === 'collection' ? COLLECTION : READ_LIST
  return [...listRoutes(of), ...recordRoutes(of), ...memberRoutes(of)]
}
