import type { Static } from 'typebox'
import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { BOOK_SORT, BookDetailView, bookView, FULL, FullBookView, ListedBook, listedBooks } from '#api/views/book-view.ts'
import { InitialGroups } from '#api/views/initial-groups.ts'
import type { Caller } from '#core/account/caller.ts'
import { AdjacentBooks } from '#core/catalog/book.ts'
import {
  type BookFilter,
  type FullBook,
  findAdjacentBooks,
  fullBooks,
  getBook,
  getBookWithRecord,
  listBookGroups,
  listBooks,
} from '#core/catalog/book-query.ts'
import { readBookSort } from '#core/catalog/book-sort-query.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import { getLibraryName } from '#core/catalog/library-name-query.ts'
import { BookCondition } from '#core/catalog/list-condition-schema.ts'
import { readSearch, SEARCH_LENGTH_MAX } from '#core/catalog/search-query.ts'
import { described, Nullable, Uuid } from '#core/foundation/schema.ts'
import { bookDetailMetadataOf } from '#core/metadata/book-metadata-schema.ts'
import { findAdjacentInReadList } from '#core/shelves/shelf-query.ts'

type Services = Pick<DataServices, 'database' | 'settings'>
const endpoint = endpointOf<Services>()

const INCLUDE_DELETED = Type.Optional(Type.Boolean({ description: 'Include books whose file is missing.' }))
const DELETED = Type.Optional(
  Type.Enum(['only'], {
    description: 'Only books whose file is missing, also those that no scan has marked as deleted because their disk is probably missing.',
  }),
)
const bookQuery = { ...pageQuery, sort: BOOK_SORT, includeDeleted: INCLUDE_DELETED, deleted: DELETED, full: FULL }

const BookListRequest = Type.Object(
  {
    condition: Type.Optional(Nullable(BookCondition)),
    fullTextSearch: Type.Optional(Nullable(Type.String({ maxLength: SEARCH_LENGTH_MAX }))),
    includeDeleted: INCLUDE_DELETED,
    deleted: DELETED,
  },
  { additionalProperties: false, title: 'BookFilter' },
)

type FilterRequest = Static<typeof BookListRequest> & Pick<BookFilter, 'libraryId' | 'seriesId'>

function readFilter(request: FilterRequest, caller: Caller): BookFilter {
  const { libraryId, seriesId, condition, fullTextSearch, includeDeleted, deleted } = request
  const parts = [condition, deleted === 'only' ? { missing: { operator: 'isTrue' } } : null].filter((part) => part != null)
  return {
    libraryId,
    seriesId,
    condition: parts.length > 0 ? compileFilter(parts.length === 1 ? parts[0] : { allOf: parts }, 'books', caller) : undefined,
    search: readSearch(fullTextSearch),
    includeDeleted: includeDeleted || deleted === 'only',
  }
}

/** A request for a list of books, from the path, query and body. */
interface ListRequest {
  call: Call<Services>
  query: { page?: number; pageSize?: number; sort?: string; full?: boolean }
  filter: BookFilter
}

async function answerBooks({ call, query, filter }: ListRequest) {
  const list = { filter, sort: readBookSort(query.sort), ...pageWindow(query), state: call.listState }
  const { items, total } = await listBooks(call.services.database, call.caller, list)
  return paginate(call, query, { items: listedBooks(call, items, query), total })
}

export const bookRoutes = [
  endpoint({
    name: 'listBooks',
    method: 'GET',
    path: '/api/v1/books',
    dependsOn: 'catalog',
    summary: 'List books',
    tag: 'books',
    allow: { who: 'books-read' },
    query: Type.Object({ ...bookQuery, libraryId: Type.Optional(Uuid), seriesId: Type.Optional(Uuid) }),
    reply: Paginated(ListedBook),
    run: (call, { query }) => answerBooks({ call, query, filter: readFilter(query, call.caller) }),
  }),
  endpoint({
    name: 'filterBooks',
    method: 'POST',
    path: '/api/v1/books/list',
    changes: null,
    dependsOn: 'catalog',
    summary: 'List books by filter',
    tag: 'books',
    allow: { who: 'books-read' },
    query: Type.Object({ ...pageQuery, sort: BOOK_SORT, full: FULL }),
    bodyOptional: true,
    body: BookListRequest,
    reply: Paginated(ListedBook),
    run: (call, { query, body }) => answerBooks({ call, query, filter: readFilter(body, call.caller) }),
  }),
  endpoint({
    name: 'listBookAlphabeticalGroups',
    method: 'POST',
    path: '/api/v1/books/list/alphabetical-groups',
    changes: null,
    dependsOn: 'catalog',
    summary: 'Count the books of a list by their first letter',
    tag: 'books',
    allow: { who: 'books-read' },
    bodyOptional: true,
    body: BookListRequest,
    reply: InitialGroups,
    run: async (call, { body }) => await listBookGroups(call.services.database, call.caller, readFilter(body, call.caller), call.listState),
  }),
  endpoint({
    name: 'listLibraryBooks',
    method: 'GET',
    path: '/api/v1/libraries/:libraryId/books',
    dependsOn: 'catalog',
    summary: 'List the books of a library',
    tag: 'books',
    allow: { who: 'books-read' },
    params: Type.Object({ libraryId: Uuid }),
    query: Type.Object(bookQuery),
    reply: Paginated(ListedBook),
    run: async (call, { params, query }) => {
      await getLibraryName(call.services.database, call.caller, params.libraryId)
      return await answerBooks({ call, query, filter: readFilter({ ...params, ...query }, call.caller) })
    },
  }),
  endpoint({
    name: 'getBook',
    method: 'GET',
    path: '/api/v1/books/:bookId',
    summary: 'Get a book',
    tag: 'books',
    allow: { who: 'books-read' },
    params: Type.Object({ bookId: Uuid }),
    query: Type.Object({ full: FULL }),
    reply: Type.Union([BookDetailView, FullBookView]),
    versionOf: ({ metadata }) => metadata.updatedAt,
    run: async ({ services, caller }, { params, query }) => {
      if (query.full) {
        const found = await getBook(services.database, caller, params.bookId)
        return bookView(services, (await fullBooks(services.database, caller, [found]))[0] as FullBook)
      }
      const { book, record } = await getBookWithRecord(services.database, caller, params.bookId)
      return { book: bookView(services, book), metadata: bookDetailMetadataOf(book, record) }
    },
  }),
  endpoint({
    name: 'getAdjacentBooks',
    method: 'GET',
    path: '/api/v1/books/:bookId/adjacent',
    dependsOn: 'catalog',
    summary: 'Get the books before and after this one in its series, or in a read list',
    tag: 'books',
    allow: { who: 'books-read' },
    params: Type.Object({ bookId: Uuid }),
    query: Type.Object({
      readListId: Type.Optional(described(Uuid, 'The order of this read list counts, instead of that of the series.')),
    }),
    reply: AdjacentBooks,
    run: async (call, { params: { bookId }, query: { readListId } }) => {
      const { database } = call.services
      const { prev, next } = await (readListId === undefined
        ? findAdjacentBooks(database, call.caller, bookId)
        : findAdjacentInReadList(database, call.caller, { readListId, bookId }))
      return { prev: prev && bookView(call.services, prev), next: next && bookView(call.services, next) }
    },
  }),
]
