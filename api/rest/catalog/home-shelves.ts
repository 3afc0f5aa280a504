import Type, { type TSchema } from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
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

interface ListQuery {
  page?: number
  pageSize?: number
  sort?: string
  full?: boolean
  limit?: number
  libraryId?: string
  seriesId?: string
}

interface ListRequest {
  call: Call<Services>
  query: ListQuery
  /** From the path. */
  libraryId?: string
}

/** The library in the path must exist; an unknown one in the query matches nothing. */
async function placeOf(request: ListRequest): Promise<Pick<BookFilter, 'libraryId' | 'seriesId'>> {
  if (request.libraryId !== undefined) await getLibraryName(request.call.services.database, request.call.caller, request.libraryId)
  return { libraryId: request.libraryId ?? request.query.libraryId, seriesId: request.query.seriesId }
}

interface Shelf {
  of: 'books' | 'series'
  /** In names of operations. */
  name: string
  /** Last part of its addresses. */
  path: string
  summary: string
  /** Of one library; default: the summary, with that at its end. */
  summaryOfOne?: string
  query: Record<string, TSchema>
  reply: TSchema
  answer(request: ListRequest): Promise<unknown>
}

const bookShelf = (filter: BookFilter, sort: BookSort) => async (request: ListRequest) => {
  const { call, query } = request
  const { items, total } = await listBooks(call.services.database, call.caller, {
    filter: { ...(await placeOf(request)), ...filter },
    sort: query.sort ? readBookSort(query.sort) : sort,
    ...pageWindow(query),
    state: call.listState,
  })
  return paginate(call, query, { items: listedBooks(call, items, query), total })
}

async function answerOnDeck(request: ListRequest) {
  const { call, query } = request
  const list = { filter: await placeOf(request), sort: readBookSort(query.sort), ...pageWindow(query) }
  const { items, total } = await listOnDeck(call.services.database, call.caller, list)
  return paginate(call, query, { items: listedBooks(call, items, query), total })
}

async function answerRecentlyRead(request: ListRequest) {
  const { call, query } = request
  const { items } = await listBooks(call.services.database, call.caller, {
    filter: { ...(await placeOf(request)), reading: 'begun' },
    sort: readBookSort(query.sort) ?? { field: 'read', direction: 'desc' },
    offset: 0,
    limit: query.limit ?? LIMIT_DEFAULT,
    state: call.listState,
  })
  return listedBooks(call, items, query)
}

const seriesShelf = (filter: SeriesFilter, field: SeriesSort['field']) => async (request: ListRequest) => {
  const { call, query } = request
  const { libraryId } = await placeOf(request)
  const { items } = await listSeries(call.services.database, call.caller, {
    filter: { ...filter, libraryId },
    sort: readSeriesSort(query.sort) ?? { field, direction: 'desc' },
    offset: 0,
    limit: query.limit ?? LIMIT_DEFAULT,
    state: call.listState,
  })
  return listedSeries(call, items, query)
}

const ofBooks = { of: 'books', query: bookQuery, reply: Paginated(ListedBook) } as const
/** The API has no pages for shelves of series. */
const ofSeries = { of: 'series', query: seriesQuery, reply: Type.Array(ListedSeries) } as const

const SHELVES: readonly Shelf[] = [
  {
    ...ofBooks,
    name: 'RecentlyAdded',
    path: 'recently-added',
    summary: 'List recently added books, newest first',
    answer: bookShelf({}, { field: 'created', direction: 'desc' }),
  },
  {
    ...ofBooks,
    name: 'InProgress',
    path: 'in-progress',
    summary: 'List the books that I am reading, latest first',
    answer: bookShelf({ reading: 'unfinished' }, { field: 'read', direction: 'desc' }),
  },
  {
    ...ofBooks,
    name: 'OnDeck',
    path: 'on-deck',
    summary: 'List my next book of each series that I am reading',
    answer: answerOnDeck,
  },
  {
    of: 'books',
    name: 'RecentlyRead',
    path: 'recently-read',
    summary: 'List the books that I read last, latest first',
    summaryOfOne: 'List the books of a library that I read last, latest first',
    query: lastBooksQuery,
    reply: Type.Array(ListedBook),
    answer: answerRecentlyRead,
  },
  {
    ...ofSeries,
    name: 'InProgress',
    path: 'in-progress',
    summary: 'List the series that I am reading, latest first',
    answer: seriesShelf({ inProgress: true }, 'read'),
  },
  {
    ...ofSeries,
    name: 'RecentlyAdded',
    path: 'recently-added',
    summary: 'List recently added series, newest first',
    answer: seriesShelf({}, 'created'),
  },
  {
    ...ofSeries,
    name: 'RecentlyUpdated',
    path: 'recently-updated',
    summary: 'List recently changed series, latest first',
    answer: seriesShelf({}, 'updated'),
  },
]

/** The routes to a shelf of all libraries, and of one. */
function routesOf({ of, name, path, summary, summaryOfOne, query, reply, answer }: Shelf) {
  const noun = of === 'books' ? 'Books' : 'Series'
  const ofOne: Record<string, TSchema> = of === 'books' ? query : { ...query, libraryId: SAME_LIBRARY }
  const shared = { method: 'GET', dependsOn: 'catalog', tag: of, allow: { who: `${of}-read` }, reply } as const
  return [
    endpoint({
      ...shared,
      name: `list${name}${noun}`,
      path: `/api/v1/${of}/${path}`,
      summary,
      query: Type.Object({ ...query, libraryId: Type.Optional(Uuid) }),
      run: (call, { query }: { query: unknown }) => answer({ call, query: query as ListQuery }),
    }),
    endpoint({
      ...shared,
      name: `list${name}Library${noun}`,
      path: `/api/v1/libraries/:libraryId/${of}/${path}`,
      summary: summaryOfOne ?? `${summary}, of one library`,
      params: LibraryId,
      query: Type.Object(ofOne),
      run: (call, { params, query }: { params: { libraryId: string }; query: unknown }) =>
        answer({ call, query: query as ListQuery, ...params }),
    }),
  ]
}

export const homeShelfRoutes = [
  ...SHELVES.flatMap(routesOf),
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
      const { items, total } = await listSeries(call.services.database, call.caller, {
        filter: { wanted: true },
        sort: readSeriesSort(query.sort),
        ...pageWindow(query),
        state: call.listState,
      })
      return paginate(call, query, { items: listedSeries(call, items, query), total })
    },
  }),
]
