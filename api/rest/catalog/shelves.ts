import Type, { type TSchema } from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { type Call, endpointOf, madeAt, streamOf } from '#api/http/endpoint.ts'
import { type ListPage, Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { BOOK_SORT, FULL, ListedBook, listedBooks } from '#api/views/book-view.ts'
import { FULL_SERIES, ListedSeries, listedSeries, SERIES_SORT } from '#api/views/series-view.ts'
import { SIZED_MEDIA_TYPES, type SizedThumbnailServices, sizedThumbnail, sizedThumbnailQuery } from '#api/views/thumbnail.ts'
import { readBookSort } from '#core/catalog/book-sort-query.ts'
import { readSeriesSort } from '#core/catalog/series-sort-query.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { checkVisible } from '#core/metadata/visible-records-query.ts'
import * as shapes from '#core/shelves/shelf.ts'
import { findShelf, listCollectionSeries, listReadListBooks, listShelves } from '#core/shelves/shelf-query.ts'
import { addShelf, editMembers, editShelf, removeShelf } from '#core/shelves/shelf-store.ts'

type Services = Pick<DataServices, 'database' | 'settings'>
const endpoint = endpointOf<Services>()
const stream = streamOf<SizedThumbnailServices>()

type Shelf = shapes.Shelf
/** The query of a shelf's member list. */
interface ListQuery {
  page?: number
  pageSize?: number
  full?: boolean
  sort?: string
}

/** How collections and read lists differ. */
interface ShelfRoutes {
  kind: shapes.ShelfKind
  noun: string
  /** The kind and its members in names of operations, such as `listReadListBooks`. */
  names: { one: string; member: string; members: string }
  /** Last part of the address of the list, and the tag. */
  path: string
  idName: string
  /** The kind of the members, in addresses and sentences. */
  members: 'series' | 'books'
  member: Kind
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
  listMembers(call: Call<Services>, shelf: Shelf, query: ListQuery): Promise<ListPage<unknown>>
  /** The id of the first member, whose cover is shown; null if there is none. */
  findFirst(call: Call<Services>, shelf: Shelf): Promise<string | null>
}

const COLLECTION: ShelfRoutes = {
  kind: 'collection',
  noun: 'collection',
  names: { one: 'Collection', member: 'Series', members: 'Series' },
  path: 'collections',
  idName: 'collectionId',
  countName: 'seriesCount',
  members: 'series',
  member: 'series',
  memberId: 'seriesId',
  memberIds: 'seriesIds',
  read: 'series-read',
  write: 'series-write',
  Reply: shapes.Collection,
  New: shapes.NewCollection,
  Ids: shapes.SeriesIds,
  ListedMember: ListedSeries,
  full: FULL_SERIES,
  sort: SERIES_SORT,
  async listMembers(call, shelf, query) {
    const list = { ...pageWindow(query), sort: readSeriesSort(query.sort), shelf }
    const { items, total } = await listCollectionSeries(call.services.database, call.caller, list)
    return paginate(call, query, { items: listedSeries(call, items, query), total })
  },
  async findFirst(call, shelf) {
    const { items } = await listCollectionSeries(call.services.database, call.caller, { offset: 0, limit: 1, sort: null, shelf })
    return items[0]?.id ?? null
  },
}

const READ_LIST: ShelfRoutes = {
  kind: 'read_list',
  noun: 'read list',
  names: { one: 'ReadList', member: 'Book', members: 'Books' },
  path: 'read-lists',
  idName: 'readListId',
  countName: 'bookCount',
  members: 'books',
  member: 'book',
  memberId: 'bookId',
  memberIds: 'bookIds',
  read: 'books-read',
  write: 'books-write',
  Reply: shapes.ReadList,
  New: shapes.NewReadList,
  Ids: shapes.BookIds,
  ListedMember: ListedBook,
  full: FULL,
  sort: BOOK_SORT,
  async listMembers(call, shelf, query) {
    const list = { ...pageWindow(query), sort: readBookSort(query.sort), shelf }
    const { items, total } = await listReadListBooks(call.services.database, call.caller, list)
    return paginate(call, query, { items: listedBooks(call, items, query), total })
  },
  async findFirst(call, shelf) {
    const { items } = await listReadListBooks(call.services.database, call.caller, { offset: 0, limit: 1, sort: null, shelf })
    return items[0]?.id ?? null
  },
}

/** Addresses, permissions and shapes of a kind. */
function reachOf(of: ShelfRoutes) {
  const list = `/api/v1/${of.path}`
  const one = `${list}/:${of.idName}`
  const idOf = (params: unknown) => (params as Record<string, string>)[of.idName] as string
  return {
    list,
    one,
    idOf,
    params: Type.Object({ [of.idName]: Uuid }),
    tag: of.path,
    read: { who: of.read },
    write: { who: of.write },
    // The count has a name of its own in each kind.
    show: ({ count, ...shelf }: Shelf) => ({ ...shelf, [of.countName]: count }),
    async get({ services, caller }: Call<Services>, params: unknown): Promise<Shelf> {
      const found = await findShelf(services.database, caller, of.kind, idOf(params))
      return found ?? refuse('not_found', `There is no ${of.noun} ${idOf(params)}, or you may not see it.`)
    },
  }
}

/** List all shelves or those of one member, and create new ones. */
function listRoutes(of: ShelfRoutes) {
  const { list, tag, read, write, show } = reachOf(of)
  const { names } = of
  const answer = async (call: Call<Services>, query: ListQuery, memberId?: string) => {
    const list = { ...pageWindow(query), memberId }
    const { items, total } = await listShelves(call.services.database, call.caller, of.kind, list)
    return paginate(call, query, { items: items.map(show), total })
  }
  const [query, reply] = [Type.Object(pageQuery), Paginated(of.Reply)]
  return [
    endpoint({
      name: `list${names.one}s`,
      method: 'GET',
      path: list,
      dependsOn: 'catalog',
      summary: `List ${of.noun}s by name`,
      tag,
      allow: read,
      query,
      reply,
      run: (call, { query }) => answer(call, query),
    }),
    endpoint({
      name: `create${names.one}`,
      method: 'POST',
      path: list,
      summary: `Create a ${of.noun}`,
      tag,
      allow: write,
      status: 201,
      body: of.New,
      reply: of.Reply,
      run: async (call, { body }) => {
        const given = body as { name: string } & Record<string, unknown>
        const { [of.memberIds]: memberIds = [], ...shelf } = given
        const added = { ...shelf, name: given.name, memberIds: memberIds as string[] }
        return madeAt(call, list, show(await addShelf(call.services.database, call.caller, of.kind, added)))
      },
    }),
    endpoint({
      name: `list${names.member}${names.one}s`,
      method: 'GET',
      path: `/api/v1/${of.members}/:${of.memberId}/${of.path}`,
      tag,
      allow: read,
      query,
      reply,
      summary: `List the ${of.noun}s that contain a ${of.member}`,
      params: Type.Object({ [of.memberId]: Uuid }),
      run: async (call, { params, query }) => {
        const given = (params as Record<string, string>)[of.memberId] as string
        return await answer(call, query, await checkVisible(call.services.database, call.caller, of.member, given))
      },
    }),
  ]
}

/** One shelf. */
function recordRoutes(of: ShelfRoutes) {
  const { one, params, idOf, tag, read, write, show, get } = reachOf(of)
  const { noun, names, kind, Reply: reply } = of
  return [
    endpoint({
      name: `get${names.one}`,
      method: 'GET',
      path: one,
      summary: `Get a ${noun}`,
      tag,
      allow: read,
      params,
      reply,
      run: async (call, { params }) => show(await get(call, params)),
    }),
    endpoint({
      name: `patch${names.one}`,
      method: 'PATCH',
      path: one,
      summary: `Change the name, summary or ordering of a ${noun}`,
      tag,
      allow: write,
      params,
      reply,
      body: shapes.ShelfEdit,
      run: async (call, { params, body }) =>
        show(await editShelf(call.services.database, call.caller, kind, { id: idOf(params), edit: body })),
    }),
    endpoint({
      name: `delete${names.one}`,
      method: 'DELETE',
      path: one,
      summary: `Delete a ${noun}; its members stay`,
      tag,
      allow: write,
      status: 204,
      params,
      run: (call, { params }) => removeShelf(call.services.database, call.caller, kind, idOf(params)),
    }),
    stream({
      name: `get${names.one}Thumbnail`,
      path: `${one}/thumbnail`,
      summary: `Get the cover of a ${noun}, small or in a given width: that of its first ${of.member}`,
      tag,
      params,
      allow: { ...read, cookie: true },
      rate: 'pictures',
      query: Type.Object(sizedThumbnailQuery),
      mediaTypes: SIZED_MEDIA_TYPES,
      run: async (call, { params, query }) => {
        const id = await of.findFirst(call, await get(call, params))
        return await sizedThumbnail(call, { kind: of.member, id: id ?? refuse('not_found', `This ${noun} is empty.`) }, query)
      },
    }),
  ]
}

/** The members of a shelf. */
function memberRoutes(of: ShelfRoutes) {
  const { one, params, idOf, tag, read, write, show, get } = reachOf(of)
  const { noun, names, members } = of
  const path = `${one}/${members}`
  const changed = { path, tag, allow: write, params, body: of.Ids, reply: of.Reply }
  const change = (how: 'replace' | 'append') => async (call: Call<Services>, input: { params: unknown; body: unknown }) => {
    const memberIds = (input.body as Record<string, string[]>)[of.memberIds] ?? []
    return show(await editMembers(call.services.database, call.caller, of.kind, { id: idOf(input.params), how, memberIds }))
  }
  return [
    endpoint({
      name: `list${names.one}${names.members}`,
      method: 'GET',
      path,
      dependsOn: 'catalog',
      summary: `List the ${members} of a ${noun} in its order`,
      tag,
      allow: read,
      params,
      query: Type.Object({ ...pageQuery, full: of.full, sort: of.sort }),
      reply: Paginated(of.ListedMember),
      run: async (call, { params, query }) => await of.listMembers(call, await get(call, params), query as ListQuery),
    }),
    endpoint({
      ...changed,
      name: `put${names.one}${names.members}`,
      method: 'PUT',
      summary: `Set the ${members} of a ${noun} and their order`,
      run: change('replace'),
    }),
    endpoint({
      ...changed,
      name: `add${names.one}${names.members}`,
      method: 'POST',
      summary: `Add ${members} at the end of a ${noun}`,
      run: change('append'),
    }),
    endpoint({
      name: `remove${names.one}${names.member}`,
      method: 'DELETE',
      path: `${path}/:${of.memberId}`,
      summary: `Remove a ${of.member} from a ${noun}`,
      tag,
      allow: write,
      status: 204,
      params: Type.Object({ [of.idName]: Uuid, [of.memberId]: Uuid }),
      run: async (call, { params }) => {
        const memberIds = [(params as Record<string, string>)[of.memberId] as string]
        await editMembers(call.services.database, call.caller, of.kind, { id: idOf(params), how: 'remove', memberIds })
      },
    }),
  ]
}

/** Routes of collections of series, or of read lists of books. */
export function shelfRoutes(kind: shapes.ShelfKind) {
  const of = kind === 'collection' ? COLLECTION : READ_LIST
  return [...listRoutes(of), ...recordRoutes(of), ...memberRoutes(of)]
}
