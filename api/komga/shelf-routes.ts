import Type from 'typebox'
import { streamedList } from '#api/http/json-chunks.ts'
import { KomgaBook } from '#api/komga/book-view.ts'
import { type KomgaCall, readBooks } from '#api/komga/lists.ts'
import { komgaPage, komgaPageQuery, PageOf, readWindow } from '#api/komga/page-object.ts'
import { many, readIds } from '#api/komga/query-values.ts'
import { komgaEndpointOf, komgaStreamOf } from '#api/komga/route.ts'
import { COLLECTION, type KomgaShelfKind, READ_LIST, readingOrderOf, type ShelfServices } from '#api/komga/shelf-kind.ts'
import { komgaShelves, listVisibleMembers } from '#api/komga/shelf-view.ts'
import { booksArchive } from '#api/views/series-archive.ts'
import { CHECKED_COVER, thumbnailQuery } from '#api/views/thumbnail.ts'
import { findChosenCover } from '#core/catalog/edit-covers.ts'
import { SEARCH_LENGTH_MAX } from '#core/catalog/search-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { checkVisible } from '#core/metadata/visible-records-query.ts'
import type { Shelf } from '#core/shelves/shelf.ts'
import { findShelf, listShelves } from '#core/shelves/shelf-query.ts'
import { addShelf, editShelf, removeShelf } from '#core/shelves/shelf-store.ts'

const komgaEndpoint = komgaEndpointOf<ShelfServices>()
const komgaStream = komgaStreamOf<ShelfServices>()

const listQuery = Type.Object({
  ...komgaPageQuery,
  search: Type.Optional(Type.String({ maxLength: SEARCH_LENGTH_MAX })),
  library_id: many('With members of these libraries.'),
})
/** A user has fewer collections or read lists than this, and one book or series is on a handful of them. */
const SHELVES_MAX = 1_000
/** Each may have 5,000 members. */
const SHELVES_AT_ONCE = 10

/** The body of a new or changed shelf, without its members. Null is the same as absent. */
interface ShelfBody {
  name?: string | null
  ordered?: boolean | null
  summary?: string | null
}

/** What the routes of one kind share. */
function reachOf(of: KomgaShelfKind) {
  const list = `/api/v1/${of.path}`
  return {
    list,
    one: `${list}/:${of.idName}`,
    params: Type.Object({ [of.idName]: Uuid }),
    read: of.read,
    write: of.write,
    idOf: (params: unknown) => (params as Record<string, string>)[of.idName] as string,
    split(body: unknown) {
      const { [of.memberIdsName]: memberIds, ...rest } = body as Record<string, unknown>
      const { name, ordered, summary } = rest as ShelfBody
      // A body may contain further members, which no schema checks: collections of Komga have no summary.
      const checked = { name, ordered, ...('summary' in of.Edit.properties && { summary }) }
      return { memberIds: memberIds as string[] | null | undefined, checked }
    },
    show: async (call: KomgaCall, shelf: Shelf) => (await komgaShelves(call, of.kind, [shelf]))[0] ?? refuse('not_found'),
    showAll: (call: KomgaCall, shelves: readonly Shelf[]) =>
      streamedList(shelves, SHELVES_AT_ONCE, (part) => komgaShelves(call, of.kind, part)),
    /** @throws not_found also for one that the caller may not see */
    async get({ services, caller }: KomgaCall, id: string): Promise<Shelf> {
      const found = await findShelf(services.database, caller, of.kind, id)
      return found ?? refuse('not_found', `There is no ${of.noun} ${id}, or you may not see it.`)
    },
  }
}

/** The list of shelves, the shelves of one member, and new shelves. */
function listRoutes(of: KomgaShelfKind) {
  const { list, read, write, split, show, showAll } = reachOf(of)
  return [
    komgaEndpoint({
      method: 'GET',
      path: list,
      summary: `List ${of.noun}s by name`,
      who: read,
      query: listQuery,
      reply: PageOf(of.Reply),
      run: async (call, { query }) => {
        const window = readWindow(query)
        const limit = Math.min(window.limit, SHELVES_MAX)
        const wanted = { offset: window.offset, limit, search: query.search?.trim() ?? null, libraryIds: readIds(query.library_id) }
        const { items, total } = await listShelves(call.services.database, call.caller, of.kind, wanted)
        return komgaPage(window, { content: showAll(call, items), count: items.length, total })
      },
    }),
    komgaEndpoint({
      method: 'POST',
      path: list,
      summary: `Create a ${of.noun}`,
      who: write,
      body: of.New,
      reply: of.Reply,
      run: async (call, { body }) => {
        const { memberIds, checked } = split(body)
        const added = {
          name: checked.name as string,
          ordered: checked.ordered ?? of.orderedByDefault,
          summary: checked.summary || null,
          memberIds: memberIds ?? [],
        }
        return await show(call, await addShelf(call.services.database, call.caller, of.kind, added))
      },
    }),
    komgaEndpoint({
      method: 'GET',
      path: `/api/v1/${of.members}/:${of.memberIdName}/${of.path}`,
      who: read,
      reply: Type.Array(of.Reply),
      summary: `The ${of.noun}s that contain a ${of.member}`,
      params: Type.Object({ [of.memberIdName]: Uuid }),
      run: async (call, { params }) => {
        const given = (params as Record<string, string>)[of.memberIdName] as string
        const memberId = await checkVisible(call.services.database, call.caller, of.member, given)
        const wanted = { offset: 0, limit: SHELVES_MAX, memberId }
        return showAll(call, (await listShelves(call.services.database, call.caller, of.kind, wanted)).items)
      },
    }),
  ]
}

/** One shelf and its members. */
function recordRoutes(of: KomgaShelfKind) {
  const { one, params, read, write, idOf, split, show, get } = reachOf(of)
  return [
    komgaEndpoint({
      method: 'GET',
      path: one,
      summary: `One ${of.noun}`,
      who: read,
      params,
      reply: of.Reply,
      run: async (call, { params }) => await show(call, await get(call, idOf(params))),
    }),
    komgaEndpoint({
      method: 'PATCH',
      path: one,
      summary: `Change a ${of.noun}`,
      who: write,
      params,
      status: 204,
      body: of.Edit,
      run: async (call, { params, body }) => {
        const { memberIds, checked } = split(body)
        const { name, ordered, summary } = checked
        const edit = {
          ...(name != null && { name: name.trim() }),
          ...(ordered != null && { ordered }),
          ...(summary != null && { summary }),
        }
        const change = { id: idOf(params), edit, ...(memberIds != null && { memberIds }) }
        await editShelf(call.services.database, call.caller, of.kind, change)
      },
    }),
    komgaEndpoint({
      method: 'DELETE',
      path: one,
      summary: `Delete a ${of.noun}; its members stay`,
      who: write,
      params,
      status: 204,
      run: (call, { params }) => removeShelf(call.services.database, call.caller, of.kind, idOf(params)),
    }),
    komgaEndpoint({
      method: 'GET',
      path: `${one}/${of.members}`,
      summary: `The ${of.members} of a ${of.noun}, in its order`,
      who: read,
      params,
      query: of.membersQuery,
      reply: PageOf(of.Member),
      run: async (call, { params, query }) => await of.listMembers(call, await get(call, idOf(params)), query),
    }),
  ]
}

/** A shelf without a chosen cover is shown by that of its first member. */
function thumbnailRoute(of: KomgaShelfKind) {
  const { one, params, read, idOf, get } = reachOf(of)
  return komgaStream({
    path: `${one}/thumbnail`,
    summary: `The chosen cover of a ${of.noun}, or that of its first ${of.member}`,
    who: read,
    params,
    query: Type.Object(thumbnailQuery),
    mediaTypes: ['image/jpeg'],
    run: async (call, { params, query }) => {
      const { id } = await get(call, idOf(params))
      const chosen = await findChosenCover(call.services, { kind: of.kind, id })
      if (chosen !== null) return { kind: 'file', ...chosen, mediaType: 'image/jpeg', cacheControl: CHECKED_COVER }
      const [first] = await listVisibleMembers(call, of.kind, id)
      return await of.thumbnail(call, first ?? refuse('not_found', `This ${of.noun} is empty.`), query)
    },
  })
}

const shelfRoutes = (of: KomgaShelfKind) => [...listRoutes(of), ...recordRoutes(of), thumbnailRoute(of)]

/** Only books are read one after another, so that collections have no such routes. */
const adjacentRoutes = (['next', 'previous'] as const).map((way) =>
  komgaEndpoint({
    method: 'GET',
    path: `/api/v1/readlists/:readListId/books/:bookId/${way}`,
    summary: `The ${way} book of a read list; 404 where there is none`,
    who: 'books-read',
    params: Type.Object({ readListId: Uuid, bookId: Uuid }),
    reply: KomgaBook,
    run: async (call, { params }) => {
      const ids = await readingOrderOf(call, await reachOf(READ_LIST).get(call, params.readListId))
      const position = ids.indexOf(params.bookId.toLowerCase())
      const adjacentId = position < 0 ? undefined : ids[position + (way === 'next' ? 1 : -1)]
      const [book] = await readBooks(call, adjacentId === undefined ? [] : [adjacentId])
      return book ?? refuse('not_found', `There is no ${way} book on this read list.`)
    },
  }),
)

const fileRoute = komgaStream({
  path: '/api/v1/readlists/:readListId/file',
  summary: 'The files of a read list as one zip, in its order; created while it is sent, so that ranges are not supported',
  who: 'books-read',
  params: Type.Object({ readListId: Uuid }),
  mediaTypes: ['application/zip'],
  run: async (call, { params }) => {
    const shelf = await reachOf(READ_LIST).get(call, params.readListId)
    return await booksArchive(call, { title: shelf.name, bookIds: await readingOrderOf(call, shelf) })
  },
})

/** Collections of series and read lists of books. */
export const komgaShelfRoutes = [...shelfRoutes(COLLECTION), ...shelfRoutes(READ_LIST), ...adjacentRoutes, fileRoute]
