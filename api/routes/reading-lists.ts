import Type from 'typebox'
import { Paginated, pageQuery, paginate, readPage } from '#api/http/pagination.ts'
import { endpoint } from '#api/routes/route.ts'
import { BOOK_SORT, FULL, ShownBook, shownBooks } from '#api/routes/shown-books.ts'
import { FULL_SERIES, SERIES_SORT, ShownSeries, shownSeries } from '#api/routes/shown-series.ts'
import type { Services } from '#api/services.ts'
import type { Caller } from '#core/account/caller.ts'
import { type BookFilter, type BookSort, checkLibrary, listBooks, listOnDeck, readBookSort } from '#core/book/book-query.ts'
import { refuse } from '#core/errors.ts'
import { Uuid } from '#core/schema.ts'
import { listSeries, readSeriesSort, type SeriesFilter, type SeriesSort } from '#core/series/series-query.ts'

/** A shelf on a start page; whoever wants more turns the pages of the full list. */
const LIMIT_MAX = 100
const LIMIT_DEFAULT = 50

const LibraryId = Type.Object({ libraryId: Uuid })
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: `${LIMIT_DEFAULT} unless said.` }))
const bookQuery = { ...pageQuery, sort: BOOK_SORT, full: FULL, seriesId: Type.Optional(Uuid) }
const lastBooksQuery = { limit, sort: BOOK_SORT, full: FULL }
const seriesQuery = { limit, sort: SERIES_SORT, full: FULL_SERIES }

interface Ask {
  call: { caller: Caller | null; services: Services; path: string; rawQuery: string }
  query: {
    page?: number
    pageSize?: number
    sort?: string
    full?: boolean
    limit?: number
    libraryId?: string
    seriesId?: string
  }
  /** Of the path. */
  libraryId?: string
}

/** A library named in the path must be there; one named in the query just matches nothing. */
async function placeOf(ask: Ask): Promise<Pick<BookFilter, 'libraryId' | 'seriesId'>> {
  if (ask.libraryId !== undefined) await checkLibrary(ask.call.services.database, ask.libraryId)
  return { libraryId: ask.libraryId ?? ask.query.libraryId, seriesId: ask.query.seriesId }
}

const BOOK_SHELVES = {
  'recently-added': { summary: 'Books by the day they came, the newest first', filter: {}, sort: { field: 'created', direction: 'desc' } },
  'in-progress': {
    summary: 'Books I have begun and not finished, the latest first',
    filter: { reading: 'unfinished' },
    sort: { field: 'read', direction: 'desc' },
  },
} as const satisfies Record<string, { summary: string; filter: BookFilter; sort: BookSort }>

async function answerBookShelf(shelf: keyof typeof BOOK_SHELVES, ask: Ask) {
  const { services } = ask.call
  const { page, pageSize, offset, limit } = readPage(ask.query)
  const { filter, sort } = BOOK_SHELVES[shelf]
  const list = { filter: { ...(await placeOf(ask)), ...filter }, sort: ask.query.sort ? readBookSort(ask.query.sort) : sort, offset, limit }
  const { items, total } = await listBooks(services.database, ask.call.caller ?? refuse('unauthorized'), list)
  return paginate({ call: ask.call, page, pageSize, total, data: shownBooks(ask.call, items, ask.query) })
}

async function answerOnDeck(ask: Ask) {
  const { services } = ask.call
  const { page, pageSize, offset, limit } = readPage(ask.query)
  const list = { filter: await placeOf(ask), sort: readBookSort(ask.query.sort), offset, limit }
  const { items, total } = await listOnDeck(services.database, ask.call.caller ?? refuse('unauthorized'), list)
  return paginate({ call: ask.call, page, pageSize, total, data: shownBooks(ask.call, items, ask.query) })
}

async function answerRecentlyRead(ask: Ask) {
  const { services } = ask.call
  const { items } = await listBooks(services.database, ask.call.caller ?? refuse('unauthorized'), {
    filter: { ...(await placeOf(ask)), reading: 'begun' },
    sort: readBookSort(ask.query.sort) ?? { field: 'read', direction: 'desc' },
    offset: 0,
    limit: ask.query.limit ?? LIMIT_DEFAULT,
  })
  return shownBooks(ask.call, items, ask.query)
}

const SERIES_SHELVES = {
  'in-progress': { summary: 'Series I have begun and not finished, the latest first', filter: { inProgress: true }, field: 'read' },
  'recently-added': { summary: 'Series by the day they came, the newest first', filter: {}, field: 'created' },
  'recently-updated': { summary: 'Series by their last change, the latest first', filter: {}, field: 'updated' },
} as const satisfies Record<string, { summary: string; filter: SeriesFilter; field: SeriesSort['field'] }>

async function answerSeriesShelf(shelf: keyof typeof SERIES_SHELVES, ask: Ask) {
  const { filter, field } = SERIES_SHELVES[shelf]
  const { libraryId } = await placeOf(ask)
  const { items } = await listSeries(ask.call.services.database, ask.call.caller ?? refuse('unauthorized'), {
    filter: { ...filter, libraryId },
    sort: readSeriesSort(ask.query.sort) ?? { field, direction: 'desc' },
    offset: 0,
    limit: ask.query.limit ?? LIMIT_DEFAULT,
  })
  return shownSeries(ask.call, items, ask.query)
}

/** The shelves of a start page, of everything and of one library. Series shelves know no pages in this interface. */
export const readingListRoutes = [
  ...(Object.keys(BOOK_SHELVES) as (keyof typeof BOOK_SHELVES)[]).flatMap((shelf) => [
    endpoint({
      method: 'GET',
      path: `/api/v1/books/${shelf}`,
      summary: BOOK_SHELVES[shelf].summary,
      tag: 'books',
      allow: { who: 'books-read' },
      query: Type.Object({ ...bookQuery, libraryId: Type.Optional(Uuid) }),
      reply: Paginated(ShownBook),
      run: (call, { query }) => answerBookShelf(shelf, { call, query }),
    }),
    endpoint({
      method: 'GET',
      path: `/api/v1/libraries/:libraryId/books/${shelf}`,
      summary: `${BOOK_SHELVES[shelf].summary}, of one library`,
      tag: 'books',
      allow: { who: 'books-read' },
      params: LibraryId,
      query: Type.Object(bookQuery),
      reply: Paginated(ShownBook),
      run: (call, { params, query }) => answerBookShelf(shelf, { call, query, libraryId: params.libraryId }),
    }),
  ]),
  endpoint({
    method: 'GET',
    path: '/api/v1/books/on-deck',
    summary: 'The next book of every series I am in between two books of',
    tag: 'books',
    allow: { who: 'books-read' },
    query: Type.Object({ ...bookQuery, libraryId: Type.Optional(Uuid) }),
    reply: Paginated(ShownBook),
    run: (call, { query }) => answerOnDeck({ call, query }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/libraries/:libraryId/books/on-deck',
    summary: 'The next book of every series I am in between two books of, of one library',
    tag: 'books',
    allow: { who: 'books-read' },
    params: LibraryId,
    query: Type.Object(bookQuery),
    reply: Paginated(ShownBook),
    run: (call, { params, query }) => answerOnDeck({ call, query, libraryId: params.libraryId }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/books/recently-read',
    summary: 'What I read last, the latest first',
    tag: 'books',
    allow: { who: 'books-read' },
    query: Type.Object({ ...lastBooksQuery, libraryId: Type.Optional(Uuid) }),
    reply: Type.Array(ShownBook),
    run: (call, { query }) => answerRecentlyRead({ call, query }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/libraries/:libraryId/books/recently-read',
    summary: 'What I read last of a library, the latest first',
    tag: 'books',
    allow: { who: 'books-read' },
    params: LibraryId,
    query: Type.Object(lastBooksQuery),
    reply: Type.Array(ShownBook),
    run: (call, { params, query }) => answerRecentlyRead({ call, query, libraryId: params.libraryId }),
  }),
  ...(Object.keys(SERIES_SHELVES) as (keyof typeof SERIES_SHELVES)[]).flatMap((shelf) => [
    endpoint({
      method: 'GET',
      path: `/api/v1/series/${shelf}`,
      summary: SERIES_SHELVES[shelf].summary,
      tag: 'series',
      allow: { who: 'series-read' },
      query: Type.Object({ ...seriesQuery, libraryId: Type.Optional(Uuid) }),
      reply: Type.Array(ShownSeries),
      run: (call, { query }) => answerSeriesShelf(shelf, { call, query }),
    }),
    endpoint({
      method: 'GET',
      path: `/api/v1/libraries/:libraryId/series/${shelf}`,
      summary: `${SERIES_SHELVES[shelf].summary}, of one library`,
      tag: 'series',
      allow: { who: 'series-read' },
      params: LibraryId,
      query: Type.Object(seriesQuery),
      reply: Type.Array(ShownSeries),
      run: (call, { params, query }) => answerSeriesShelf(shelf, { call, query, libraryId: params.libraryId }),
    }),
  ]),
  endpoint({
    method: 'GET',
    path: '/api/v1/user/want-to-read',
    summary: 'The series I want to read, by name',
    tag: 'progress',
    allow: { who: 'series-read', also: ['progress-read'] },
    query: Type.Object({ ...pageQuery, full: FULL_SERIES, sort: SERIES_SORT }),
    reply: Paginated(ShownSeries),
    run: async (call, { query }) => {
      const { page, pageSize, offset, limit } = readPage(query)
      const { items, total } = await listSeries(call.services.database, call.caller ?? refuse('unauthorized'), {
        filter: { wanted: true },
        sort: readSeriesSort(query.sort),
        offset,
        limit,
      })
      return paginate({ call, page, pageSize, total, data: shownSeries(call, items, query) })
    },
  }),
]
