import Type from 'typebox'
import { type Call, endpointOf, madeAt, streamOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, paginate, readPage } from '#api/http/pagination.ts'
import type { Needs } from '#api/http/services.ts'
import { BOOK_SORT, FULL, ShownBook, shownBooks } from '#api/views/book-view.ts'
import { bookThumbnail, thumbnailQuery } from '#api/views/thumbnail.ts'
import { getBook, readBookSort } from '#core/catalog/book-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { importReadingList, READING_LIST_BYTES_MAX } from '#core/shelves/import-reading-list.ts'
import { BookIds, NewReadList, ReadList, ReadListImport, type Shelf, ShelfEdit } from '#core/shelves/shelf.ts'
import { findShelf, listReadListBooks, listShelves } from '#core/shelves/shelf-query.ts'
import { addShelf, editMembers, editShelf, removeShelf } from '#core/shelves/shelf-store.ts'

type Services = Needs<'database' | 'readReadingList' | 'settings'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

const params = Type.Object({ readListId: Uuid })
const kind = 'read_list'
const tag = 'read-lists'
const read = { who: 'books-read' } as const
const write = { who: 'books-write' } as const

const shown = ({ count, ...shelf }: Shelf) => ({ ...shelf, bookCount: count })

async function getShelf(call: Call<Services>, id: string): Promise<Shelf> {
  const found = await findShelf(call.services.database, call.caller, kind, id)
  return found ?? refuse('not_found', `There is no read list ${id}, or you may not see it.`)
}

export const readListRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/read-lists',
    summary: 'List read lists by name',
    tag,
    allow: read,
    query: Type.Object(pageQuery),
    reply: Paginated(ReadList),
    run: async (call, { query }) => {
      const { page, pageSize, ...window } = readPage(query)
      const { items, total } = await listShelves(call.services.database, call.caller, kind, window)
      return paginate({ call, page, pageSize, total, data: items.map(shown) })
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/read-lists',
    summary: 'Make a read list',
    tag,
    allow: write,
    status: 201,
    body: NewReadList,
    reply: ReadList,
    run: async (call, { body: { bookIds = [], ...shelf } }) => {
      const added = await addShelf(call.services.database, call.caller, kind, { ...shelf, memberIds: bookIds })
      return madeAt(call, '/api/v1/read-lists', shown(added))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/read-lists/import',
    summary: 'Make a read list from a CBL file',
    tag,
    allow: write,
    status: 201,
    upload: { description: 'A reading list in the CBL form.' },
    bodyBytesMax: READING_LIST_BYTES_MAX + 65_536,
    reply: ReadListImport,
    run: async (call, { upload }) => {
      const { shelf, ...outcome } = await importReadingList(call.services, call.caller, upload)
      return { readList: madeAt(call, '/api/v1/read-lists', shown(shelf)), ...outcome }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/read-lists/:readListId',
    summary: 'One read list',
    tag,
    allow: read,
    params,
    reply: ReadList,
    run: async (call, { params }) => shown(await getShelf(call, params.readListId)),
  }),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/read-lists/:readListId',
    summary: 'Change the name, summary or ordering of a read list',
    tag,
    allow: write,
    params,
    body: ShelfEdit,
    reply: ReadList,
    run: async (call, { params, body }) =>
      shown(await editShelf(call.services.database, call.caller, kind, { id: params.readListId, edit: body })),
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/read-lists/:readListId',
    summary: 'Delete a read list; what stood on it stays',
    tag,
    allow: write,
    status: 204,
    params,
    run: async (call, { params }) => {
      await removeShelf(call.services.database, call.caller, kind, params.readListId)
      return undefined
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/read-lists/:readListId/books',
    summary: 'The books of a read list, in its order',
    tag,
    allow: read,
    params,
    query: Type.Object({ ...pageQuery, full: FULL, sort: BOOK_SORT }),
    reply: Paginated(ShownBook),
    run: async (call, { params, query }) => {
      const { page, pageSize, offset, limit } = readPage(query)
      const list = { offset, limit, sort: readBookSort(query.sort), shelf: await getShelf(call, params.readListId) }
      const { items, total } = await listReadListBooks(call.services.database, call.caller, list)
      return paginate({ call, page, pageSize, total, data: shownBooks(call, items, query) })
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/api/v1/read-lists/:readListId/books',
    summary: 'Set the books of a read list and their order',
    tag,
    allow: write,
    params,
    body: BookIds,
    reply: ReadList,
    run: async (call, { params, body }) => {
      const change = { id: params.readListId, how: 'replace', memberIds: body.bookIds } as const
      return shown(await editMembers(call.services.database, call.caller, kind, change))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/read-lists/:readListId/books',
    summary: 'Add books at the end of a read list',
    tag,
    allow: write,
    params,
    body: BookIds,
    reply: ReadList,
    run: async (call, { params, body }) => {
      const change = { id: params.readListId, how: 'append', memberIds: body.bookIds } as const
      return shown(await editMembers(call.services.database, call.caller, kind, change))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/read-lists/:readListId/books/:bookId',
    summary: 'Take one of the books from a read list',
    tag,
    allow: write,
    status: 204,
    params: Type.Object({ readListId: Uuid, bookId: Uuid }),
    run: async (call, { params }) => {
      const change = { id: params.readListId, how: 'remove', memberIds: [params.bookId] } as const
      await editMembers(call.services.database, call.caller, kind, change)
      return undefined
    },
  }),
  stream({
    path: '/api/v1/read-lists/:readListId/thumbnail',
    summary: 'The cover of the first of the books of a read list, small',
    tag,
    allow: { ...read, cookie: true },
    params,
    query: Type.Object(thumbnailQuery),
    mediaTypes: ['image/jpeg'],
    run: async (call, { params, query }) => {
      const caller = call.caller
      const list = { offset: 0, limit: 1, sort: null, shelf: await getShelf(call, params.readListId) }
      const { items } = await listReadListBooks(call.services.database, caller, list)
      return await bookThumbnail(call, items[0]?.id ?? refuse('not_found', 'Nothing stands on this read list.'), query)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/books/:bookId/read-lists',
    summary: 'The read lists that hold one of the books',
    tag,
    allow: read,
    params: Type.Object({ bookId: Uuid }),
    query: Type.Object(pageQuery),
    reply: Paginated(ReadList),
    run: async (call, { params, query }) => {
      const { page, pageSize, ...window } = readPage(query)
      const caller = call.caller
      await getBook(call.services.database, caller, params.bookId)
      const { items, total } = await listShelves(call.services.database, caller, kind, { ...window, memberId: params.bookId })
      return paginate({ call, page, pageSize, total, data: items.map(shown) })
    },
  }),
]
