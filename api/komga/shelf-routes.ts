import type { Static } from 'typebox'
import Type from 'typebox'
import { streamedList } from '#api/http/json-chunks.ts'
import type { Needs } from '#api/http/services.ts'
import { KomgaBook } from '#api/komga/book-view.ts'
import { answerBookIds, answerBooks, answerSeries, answerSeriesIds, type Call, readBooks } from '#api/komga/lists.ts'
import { type PageAsk, PageOf, pageOf, pageQuery, readWindow, type Window } from '#api/komga/page-object.ts'
import { bookFilterQuery, readBookFilter, readSeriesFilter, seriesFilterQuery } from '#api/komga/query-filter.ts'
import { komgaEndpointOf, komgaStreamOf } from '#api/komga/route.ts'
import { KomgaSeries } from '#api/komga/series-view.ts'
import { readKomgaBookSort, readKomgaSeriesSort } from '#api/komga/sort.ts'
import { secondsOf } from '#api/komga/values.ts'
import { bookThumbnail, seriesThumbnail, thumbnailQuery } from '#api/views/thumbnail.ts'
import { getBook, listIdsOfBooks } from '#core/catalog/book-query.ts'
import { SEARCH_LENGTH_MAX } from '#core/catalog/search-query.ts'
import { getSeries, listIdsOfSeries } from '#core/catalog/series-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { isUuid, Nullable, Uuid } from '#core/foundation/schema.ts'
import { SHELF_MEMBERS_MAX, type Shelf, type ShelfKind } from '#core/shelves/shelf.ts'
import { findShelf, listMemberIds, listShelves } from '#core/shelves/shelf-query.ts'
import { addShelf, editShelf, removeShelf } from '#core/shelves/shelf-store.ts'

type Services = Needs<'database' | 'settings'>
const komgaEndpoint = komgaEndpointOf<Services>()
const komgaStream = komgaStreamOf<Services>()

const members = {
  id: Type.String(),
  name: Type.String(),
  ordered: Type.Boolean(),
  createdDate: Type.String(),
  lastModifiedDate: Type.String(),
  filtered: Type.Boolean({ description: 'Always false: that something is kept from the caller is not told.' }),
}
const KomgaCollection = Type.Object({ ...members, seriesIds: Type.Array(Type.String()) }, { title: 'KomgaCollection' })
const KomgaReadList = Type.Object({ ...members, summary: Type.String(), bookIds: Type.Array(Type.String()) }, { title: 'KomgaReadList' })

const open = { additionalProperties: true, maxProperties: 100 } as const
const Name = Type.String({ minLength: 1, maxLength: 200 })
const Ids = Type.Array(Uuid, { maxItems: SHELF_MEMBERS_MAX, uniqueItems: true })
const Summary = Type.String({ maxLength: 10_000 })
const optional = <const T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Nullable(schema))
const common = { ordered: optional(Type.Boolean()) }

/** What the two kinds of shelf have of their own. */
const KINDS = {
  collection: { path: 'collections', noun: 'collection', read: 'series-read', write: 'series-write' },
  read_list: { path: 'readlists', noun: 'read list', read: 'books-read', write: 'books-write' },
} as const

type Shown = Static<typeof KomgaCollection> & Static<typeof KomgaReadList>

async function show(call: Call, kind: ShelfKind, shelves: readonly Shelf[]): Promise<Shown[]> {
  const ids = await listMemberIds(
    call.services.database,
    call.caller,
    kind,
    shelves.map(({ id }) => id),
  )
  return shelves.map((shelf) => {
    const memberIds = ids.get(shelf.id) ?? []
    const shown = {
      id: shelf.id,
      name: shelf.name,
      ordered: shelf.ordered,
      createdDate: secondsOf(shelf.createdAt),
      lastModifiedDate: secondsOf(shelf.updatedAt),
      filtered: false,
    }
    const own = kind === 'collection' ? { seriesIds: memberIds } : { summary: shelf.summary ?? '', bookIds: memberIds }
    return { ...shown, ...own } as unknown as Shown
  })
}

/** @throws not_found also for one that the caller may not see */
export async function getShelf(call: Call, kind: ShelfKind, id: string): Promise<Shelf> {
  const found = await findShelf(call.services.database, call.caller, kind, id)
  return found ?? refuse('not_found', `There is no ${KINDS[kind].noun} ${id}, or you may not see it.`)
}

async function showOne(call: Call, kind: ShelfKind, shelf: Shelf): Promise<Shown> {
  const [shown] = await show(call, kind, [shelf])
  return shown ?? refuse('not_found')
}

interface Edit {
  name?: string | null
  ordered?: boolean | null
  summary?: string | null
  memberIds?: readonly string[] | null | undefined
}

/** Absent and null keep. What stands on it is replaced whole. */
async function edit(call: Call, kind: ShelfKind, id: string, { name, ordered, summary, memberIds }: Edit): Promise<undefined> {
  const { database } = call.services
  const caller = call.caller
  const change = { ...(name != null && { name: name.trim() }), ...(ordered != null && { ordered }), ...(summary != null && { summary }) }
  await editShelf(database, caller, kind, { id, edit: change, ...(memberIds != null && { memberIds }) })
  return undefined
}

/** A page of what stands on a shelf and is asked for, in the order of the shelf. */
async function answerInOrder<Page>(
  call: Call,
  kind: ShelfKind,
  { id }: Shelf,
  ask: PageAsk,
  asked: readonly string[],
  answer: (call: Call, window: Window, found: { ids: readonly string[]; total: number }) => Promise<Page>,
): Promise<Page> {
  const window = readWindow(ask)
  const wanted = new Set(asked)
  const ids = ((await listMemberIds(call.services.database, call.caller, kind, [id])).get(id) ?? []).filter((one) => wanted.has(one))
  return await answer(call, window, { ids: ids.slice(window.offset, window.offset + window.limit), total: ids.length })
}

const listQuery = Type.Object({
  ...pageQuery,
  search: Type.Optional(Type.String({ maxLength: SEARCH_LENGTH_MAX })),
  library_id: Type.Optional(Type.Array(Type.String({ maxLength: 4_000 }), { maxItems: 100 })),
})
/** One thing stands on a handful of shelves; and nobody keeps more of them. */
const SHELVES_MAX = 1_000
/** Each with as many as 5,000 members. */
const SHELVES_AT_ONCE = 10

async function answerShelves(call: Call, kind: ShelfKind, query: Static<typeof listQuery>) {
  const window = readWindow(query)
  const libraryIds = query.library_id?.flatMap((ids) => ids.split(',')).filter((one) => isUuid(one))
  const list = { offset: window.offset, limit: Math.min(window.limit, SHELVES_MAX), search: query.search?.trim() ?? null, libraryIds }
  const { items, total } = await listShelves(call.services.database, call.caller, kind, list)
  return pageOf(window, {
    content: streamedList(items, SHELVES_AT_ONCE, (part) => show(call, kind, part)),
    count: items.length,
    total,
  })
}

/** What is the same for both kinds. */
function shelfRoutes<K extends ShelfKind>(kind: K) {
  const { path, noun, read, write } = KINDS[kind]
  const Reply = kind === 'collection' ? KomgaCollection : KomgaReadList
  const params = kind === 'collection' ? Type.Object({ collectionId: Uuid }) : Type.Object({ readListId: Uuid })
  const id = kind === 'collection' ? ':collectionId' : ':readListId'
  const idOf = (given: object): string => Object.values(given)[0] as string
  return [
    komgaEndpoint({
      method: 'GET',
      path: `/api/v1/${path}`,
      summary: `List ${noun}s by name`,
      who: read,
      query: listQuery,
      reply: PageOf(Reply),
      run: async (call, { query }) => (await answerShelves(call, kind, query)) as never,
    }),
    komgaEndpoint({
      method: 'GET',
      path: `/api/v1/${path}/${id}`,
      summary: `One ${noun}`,
      who: read,
      params,
      reply: Reply,
      run: async (call, { params }) => (await showOne(call, kind, await getShelf(call, kind, idOf(params)))) as never,
    }),
    komgaEndpoint({
      method: 'DELETE',
      path: `/api/v1/${path}/${id}`,
      summary: `Delete a ${noun}; what stood on it stays`,
      who: write,
      params,
      status: 204,
      run: async (call, { params }) => {
        await removeShelf(call.services.database, call.caller, kind, idOf(params))
        return undefined
      },
    }),
    komgaStream({
      path: `/api/v1/${path}/${id}/thumbnail`,
      summary: `The cover of the first of a ${noun}, small`,
      who: read,
      params,
      query: Type.Object(thumbnailQuery),
      mediaTypes: ['image/jpeg'],
      run: async (call, { params, query }) => {
        const shelf = await getShelf(call, kind, idOf(params))
        const [first] = (await listMemberIds(call.services.database, call.caller, kind, [shelf.id])).get(shelf.id) ?? []
        const cover = kind === 'collection' ? seriesThumbnail : bookThumbnail
        return await cover(call, first ?? refuse('not_found', `Nothing stands on this ${noun}.`), query)
      },
    }),
  ]
}

export const komgaShelfRoutes = [
  ...shelfRoutes('collection'),
  ...shelfRoutes('read_list'),
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/collections',
    summary: 'Make a collection',
    who: 'series-write',
    body: Type.Object({ name: Name, ...common, seriesIds: Ids }, open),
    reply: KomgaCollection,
    run: async (call, { body: { name, ordered, seriesIds } }) => {
      const shelf = { name, ordered: ordered ?? false, memberIds: seriesIds }
      return await showOne(call, 'collection', await addShelf(call.services.database, call.caller, 'collection', shelf))
    },
  }),
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/collections/:collectionId',
    summary: 'Change a collection',
    who: 'series-write',
    params: Type.Object({ collectionId: Uuid }),
    status: 204,
    body: Type.Object({ name: optional(Name), ...common, seriesIds: optional(Ids) }, open),
    run: (call, { params, body: { seriesIds, ...change } }) =>
      edit(call, 'collection', params.collectionId, { ...change, memberIds: seriesIds }),
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/collections/:collectionId/series',
    summary: 'The series of a collection, in its order',
    who: 'series-read',
    params: Type.Object({ collectionId: Uuid }),
    query: Type.Object({ ...pageQuery, ...seriesFilterQuery }),
    reply: PageOf(KomgaSeries),
    run: async (call, { params, query }) => {
      const shelf = await getShelf(call, 'collection', params.collectionId)
      const filter = readSeriesFilter(query, call.caller, [{ collectionId: { operator: 'is', value: shelf.id } }])
      const sort = readKomgaSeriesSort(query.sort)
      if (sort !== null || !shelf.ordered) return await answerSeries(call, query, { filter, sort })
      const { ids } = await listIdsOfSeries(call.services.database, call.caller, {
        filter,
        sort: null,
        offset: 0,
        limit: SHELF_MEMBERS_MAX,
      })
      return await answerInOrder(call, 'collection', shelf, query, ids, answerSeriesIds)
    },
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/series/:seriesId/collections',
    summary: 'The collections that hold a series',
    who: 'series-read',
    params: Type.Object({ seriesId: Uuid }),
    reply: Type.Array(KomgaCollection),
    run: async (call, { params }) => {
      const { id: memberId } = await getSeries(call.services.database, call.caller, params.seriesId)
      const { items } = await listShelves(call.services.database, call.caller, 'collection', {
        offset: 0,
        limit: SHELVES_MAX,
        memberId,
      })
      return streamedList(items, SHELVES_AT_ONCE, (part) => show(call, 'collection', part))
    },
  }),
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/readlists',
    summary: 'Make a read list',
    who: 'books-write',
    body: Type.Object({ name: Name, summary: optional(Summary), ...common, bookIds: Ids }, open),
    reply: KomgaReadList,
    run: async (call, { body: { name, ordered, summary, bookIds } }) => {
      const shelf = { name, ordered: ordered ?? true, summary: summary || null, memberIds: bookIds }
      return await showOne(call, 'read_list', await addShelf(call.services.database, call.caller, 'read_list', shelf))
    },
  }),
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/readlists/:readListId',
    summary: 'Change a read list',
    who: 'books-write',
    params: Type.Object({ readListId: Uuid }),
    status: 204,
    body: Type.Object({ name: optional(Name), summary: optional(Summary), ...common, bookIds: optional(Ids) }, open),
    run: (call, { params, body: { bookIds, ...change } }) => edit(call, 'read_list', params.readListId, { ...change, memberIds: bookIds }),
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/readlists/:readListId/books',
    summary: 'The books of a read list, in its order',
    who: 'books-read',
    params: Type.Object({ readListId: Uuid }),
    query: Type.Object({ ...pageQuery, ...bookFilterQuery }),
    reply: PageOf(KomgaBook),
    run: async (call, { params, query }) => {
      const shelf = await getShelf(call, 'read_list', params.readListId)
      const filter = readBookFilter(query, call.caller, [{ readListId: { operator: 'is', value: shelf.id } }])
      const sort = readKomgaBookSort(query.sort) ?? (shelf.ordered ? null : ({ field: 'released', direction: 'asc' } as const))
      if (sort !== null) return await answerBooks(call, query, { filter, sort })
      const byTitle = { field: 'title', direction: 'asc' } as const
      const list = { filter, sort: byTitle, offset: 0, limit: SHELF_MEMBERS_MAX }
      const { ids } = await listIdsOfBooks(call.services.database, call.caller, list)
      return await answerInOrder(call, 'read_list', shelf, query, ids, answerBookIds)
    },
  }),
  ...(['next', 'previous'] as const).map((way) =>
    komgaEndpoint({
      method: 'GET',
      path: `/api/v1/readlists/:readListId/books/:bookId/${way}`,
      summary: `The ${way} book of a read list; 404 where there is none`,
      who: 'books-read',
      params: Type.Object({ readListId: Uuid, bookId: Uuid }),
      reply: KomgaBook,
      run: async (call, { params }) => {
        const { id } = await getShelf(call, 'read_list', params.readListId)
        const ids = (await listMemberIds(call.services.database, call.caller, 'read_list', [id])).get(id) ?? []
        const place = ids.indexOf(params.bookId.toLowerCase())
        const beside = place < 0 ? undefined : ids[place + (way === 'next' ? 1 : -1)]
        const [book] = await readBooks(call, beside === undefined ? [] : [beside])
        return book ?? refuse('not_found', `There is no ${way} book on this read list.`)
      },
    }),
  ),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/books/:bookId/readlists',
    summary: 'The read lists that hold a book',
    who: 'books-read',
    params: Type.Object({ bookId: Uuid }),
    reply: Type.Array(KomgaReadList),
    run: async (call, { params }) => {
      const { id: memberId } = await getBook(call.services.database, call.caller, params.bookId)
      const { items } = await listShelves(call.services.database, call.caller, 'read_list', {
        offset: 0,
        limit: SHELVES_MAX,
        memberId,
      })
      return streamedList(items, SHELVES_AT_ONCE, (part) => show(call, 'read_list', part))
    },
  }),
]
