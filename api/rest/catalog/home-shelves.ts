import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, paginate, readPageWindow } from '#api/http/pagination.ts'
import { BOOK_SORT, FULL, ListedBook, listedBooks } from '#api/views/book-view.ts'
import { FULL_SERIES, ListedSeries, listedSeries, SAME_LIBRARY, SERIES_SORT } from '#api/views/series-view.ts'
import { type BookFilter, listBooks } from '#core/catalog/book-query.ts'
import { type BookSort, readBookSort } from '#core/catalog/book-sort-query.ts'
import { getLibraryName } from '#core/catalog/library-name-query.ts'
import { listSeries, type SeriesFilter } from '#core/catalog/series-query.ts'
import { readSeriesSort, type SeriesSort } from '#core/catalog/series-sort-query.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { listOnDeck } from '#core/reading/on-deck-query.ts'

type Services = Pick<DataServices, 'database' | 'settings'>
const endpoint = endpointOf<Services>()

/** A shelf of a start page; the full list has pages. */
const LIMIT_MAX = 100
const LIMIT_DEFAULT = 50

const LibraryId = Type.Object({ libraryId: Uuid })
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: `Default ${LIMIT_DEFAULT}.` }))
const bookQuery = { ...pageQuery, sort: BOOK_SORT, full: FULL, seriesId: Type.Optional(Uuid) }
const lastBooksQuery = { limit, sort: BOOK_SORT, full: FULL }
const seriesQuery = { limit, sort: SERIES_SORT, full: FULL_SERIES }

interface ListRequest {
  call: Call<Services>
  query: {
    page?: number
    pageSize?: number
    sort?: string
    full?: boolean
    limit?: number
    libraryId?: string
    seriesId?: string
  }
  /** From the path. */
  libraryId?: string
}

/** The library in the path must exist; an unknown one in the query matches nothing. */
async function placeOf(request: ListRequest): Promise<Pick<BookFilter, 'libraryId' | 'seriesId'>> {
  if (request.libraryId !== undefined) await getLibraryName(request.call.services.database, request.call.caller, request.libraryId)
  return { libraryId: request.libraryId ?? request.query.libraryId, seriesId: request.query.seriesId }
}

const BOOK_SHELVES = {
  'recently-added': {
    name: 'RecentlyAdded',
    summary: 'List recently added books, newest first',
    filter: {},
    sort: { field: 'created', direction: 'desc' },
  },
  'in-progress': {
    name: 'InProgress',
    summary: 'List the books that I am reading, latest first',
    filter: { reading: 'unfinished' },
    sort: { field: 'read', direction: 'desc' },
  },
} as const satisfies Record<string, { name: string; summary: string; filter: BookFilter; sort: BookSort }>

async function answerBookShelf(shelf: keyof typeof BOOK_SHELVES, request: ListRequest) {
  const { services } = request.call
  const { page, pageSize, offset, limit } = readPageWindow(request.query)
  const { filter, sort } = BOOK_SHELVES[shelf]
  const list = {
    filter: { ...(await placeOf(request)), ...filter },
    sort: request.query.sort ? readBookSort(request.query.sort) : sort,
    offset,
    limit,
    state: request.call.listState,
  }
  const { items, total } = await listBooks(services.database, request.call.caller, list)
  return paginate({ call: request.call, page, pageSize, total, data: listedBooks(request.call, items, request.query) })
}

async function answerOnDeck(request: ListRequest) {
  const { services } = request.call
  const { page, pageSize, offset, limit } = readPageWindow(request.query)
  const list = { filter: await placeOf(request), sort: readBookSort(request.query.sort), offset, limit }
  const { items, total } = await listOnDeck(services.database, request.call.caller, list)
  return paginate({ call: request.call, page, pageSize, total, data: listedBooks(request.call, items, request.query) })
}

async function answerRecentlyRead(request: ListRequest) {
  const { services } = request.call
  const { items } = await listBooks(services.database, request.call.caller, {
    filter: { ...(await placeOf(request)), reading: 'begun' },
    sort: readBookSort(request.query.sort) ?? { field: 'read', direction: 'desc' },
    offset: 0,
    limit: request.query.limit ?? LIMIT_DEFAULT,
    state: request.call.listState,
  })
  return listedBooks(request.call, items, request.query)
}

const SERIES_SHELVES = {
  'in-progress': {
    name: 'InProgress',
    summary: 'List the series that I am reading, latest first',
    filter: { inProgress: true },
    field: 'read',
  },
  'recently-added': { name: 'RecentlyAdded', summary: 'List recently added series, newest first', filter: {}, field: 'created' },
  'recently-updated': {
    name: 'RecentlyUpdated',
    summary: 'List recently changed series, latest first',
    filter: {},
    field: 'updated',
  },
} as const satisfies Record<string, { name: string; summary: string; filter: SeriesFilter; field: SeriesSort['field'] }>

async function answerSeriesShelf(shelf: keyof typeof SERIES_SHELVES, request: ListRequest) {
  const { filter, field } = SERIES_SHELVES[shelf]
  const { libraryId } = await placeOf(request)
  const { items } = await listSeries(request.call.services.database, request.call.caller, {
    filter: { ...filter, libraryId },
    sort: readSeriesSort(request.query.sort) ?? { field, direction: 'desc' },
    offset: 0,
    limit: request.query.limit ?? LIMIT_DEFAULT,
    state: request.call.listState,
  })
  return listedSeries(request.call, items, request.query)
}

/** The shelves of a start page, of all libraries or of one. The API has no pages for shelves of series. */
export const homeShelfRoutes = [
  ...(Object.keys(BOOK_SHELVES) as (keyof typeof BOOK_SHELVES)[]).flatMap((shelf) => [
    endpoint({
      name: `list${BOOK_SHELVES[shelf].name}Books`,
      method: 'GET',
      path: `/api/v1/books/${shelf}`,
      dependsOn: 'catalog',
      summary: BOOK_SHELVES[shelf].summary,
      tag: 'books',
      allow: { who: 'books-read' },
      query: Type.Object({ ...bookQuery, libraryId: Type.Optional(Uuid) }),
      reply: Paginated(ListedBook),
      run: (call, { query }) => answerBookShelf(shelf, { call, query }),
    }),
    endpoint({
      name: `list${BOOK_SHELVES[shelf].name}LibraryBooks`,
      method: 'GET',
      path: `/api/v1/libraries/:libraryId/books/${shelf}`,
      dependsOn: 'catalog',
      summary: `${BOOK_SHELVES[shelf].summary}, of one library`,
      tag: 'books',
      allow: { who: 'books-read' },
      params: LibraryId,
      query: Type.Object(bookQuery),
      reply: Paginated(ListedBook),
      run: (call, { params, query }) => answerBookShelf(shelf, { call, query, libraryId: params.libraryId }),
    }),
  ]),
  endpoint({
    name: 'listOnDeckBooks',
    method: 'GET',
    path: '/api/v1/books/on-deck',
    dependsOn: 'catalog',
    summary: 'List my next book of each series that I am reading',
    tag: 'books',
    allow: { who: 'books-read' },
    query: Type.Object({ ...bookQuery, libraryId: Type.Optional(Uuid) }),
    reply: Paginated(ListedBook),
    run: (call, { query }) => answerOnDeck({ call, query }),
  }),
  endpoint({
    name: 'listOnDeckLibraryBooks',
    method: 'GET',
    path: '/api/v1/libraries/:libraryId/books/on-deck',
    dependsOn: 'catalog',
    summary: 'List my next book of each series that I am reading, of one library',
    tag: 'books',
    allow: { who: 'books-read' },
    params: LibraryId,
    query: Type.Object(bookQuery),
    reply: Paginated(ListedBook),
    run: (call, { params, query }) => answerOnDeck({ call, query, libraryId: params.libraryId }),
  }),
  endpoint({
    name: 'listRecentlyReadBooks',
    method: 'GET',
    path: '/api/v1/books/recently-read',
    dependsOn: 'catalog',
    summary: 'List the books that I read last, latest first',
    tag: 'books',
    allow: { who: 'books-read' },
    query: Type.Object({ ...lastBooksQuery, libraryId: Type.Optional(Uuid) }),
    reply: Type.Array(ListedBook),
    run: (call, { query }) => answerRecentlyRead({ call, query }),
  }),
  endpoint({
    name: 'listRecentlyReadLibraryBooks',
    method: 'GET',
    path: '/api/v1/libraries/:libraryId/books/recently-read',
    dependsOn: 'catalog',
    summary: 'List the books of a library that I read last, latest first',
    tag: 'books',
    allow: { who: 'books-read' },
    params: LibraryId,
    query: Type.Object(lastBooksQuery),
    reply: Type.Array(ListedBook),
    run: (call, { params, query }) => answerRecentlyRead({ call, query, libraryId: params.libraryId }),
  }),
  ...(Object.keys(SERIES_SHELVES) as (keyof typeof SERIES_SHELVES)[]).flatMap((shelf) => [
    endpoint({
      name: `list${SERIES_SHELVES[shelf].name}Series`,
      method: 'GET',
      path: `/api/v1/series/${shelf}`,
      dependsOn: 'catalog',
      summary: SERIES_SHELVES[shelf].summary,
      tag: 'series',
      allow: { who: 'series-read' },
      query: Type.Object({ ...seriesQuery, libraryId: Type.Optional(Uuid) }),
      reply: Type.Array(ListedSeries),
      run: (call, { query }) => answerSeriesShelf(shelf, { call, query }),
    }),
    endpoint({
      name: `list${SERIES_SHELVES[shelf].name}LibrarySeries`,
      method: 'GET',
      path: `/api/v1/libraries/:libraryId/series/${shelf}`,
      dependsOn: 'catalog',
      summary: `${SERIES_SHELVES[shelf].summary}, of one library`,
      tag: 'series',
      allow: { who: 'series-read' },
      params: LibraryId,
      query: Type.Object({ ...seriesQuery, libraryId: SAME_LIBRARY }),
      reply: Type.Array(ListedSeries),
      run: (call, { params, query }) => answerSeriesShelf(shelf, { call, query, libraryId: params.libraryId }),
    }),
  ]),
  endpoint({
    name: 'listMyWantToRead',
    method: 'GET',
    path: '/api/v1/user/want-to-read',
    dependsOn: 'catalog',
    summary: 'List the series that I want to read, by name',
    tag: 'progress',
    allow: { who: 'series-read', also: ['progress-read'] },
    query: Type.Object({ ...pageQuery, full: FULL_SERIES, sort: SERIES_SORT }),
    reply: Paginated(ListedSeries),
    run: async (call, { query }) => {
      const { page, pageSize, offset, limit } = readPageWindow(query)
      const { items, total } = await listSeries(call.services.database, call.caller, {
        filter: { wanted: true },
        sort: readSeriesSort(query.sort),
        offset,
        limit,
        state: call.listState,
      })
      return paginate({ call, page, pageSize, total, data: listedSeries(call, items, query) })
    },
  }),
]
