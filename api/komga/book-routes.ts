import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { KomgaBook } from '#api/komga/book-view.ts'
import { readKomgaCondition } from '#api/komga/condition.ts'
import { answerBookIds, answerBooks, getKomgaBook, readBooks } from '#api/komga/lists.ts'
import { compileSent } from '#api/komga/own-condition.ts'
import { komgaPageQuery, PageOf, readWindow } from '#api/komga/page-object.ts'
import { bookFilterQuery, readBookFilter } from '#api/komga/query-filter.ts'
import { komgaEndpointOf, komgaStreamOf } from '#api/komga/route.ts'
import { SearchBody } from '#api/komga/series-routes.ts'
import { readKomgaBookSort } from '#api/komga/sort.ts'
import { bookFile } from '#api/views/book-file.ts'
import { findAdjacentBooks } from '#core/catalog/book-query.ts'
import { listDuplicateIds } from '#core/catalog/duplicates.ts'
import { readSearch } from '#core/catalog/search-query.ts'
import { BOOK_MEDIA_TYPES } from '#core/fields/book-format.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { listOnDeck } from '#core/reading/on-deck-query.ts'

type Services = Pick<DataServices, 'database' | 'settings'>
const komgaEndpoint = komgaEndpointOf<Services>()
const komgaStream = komgaStreamOf<Services>()

const params = Type.Object({ bookId: Uuid })
const query = Type.Object({ ...komgaPageQuery, ...bookFilterQuery })
const Page = PageOf(KomgaBook)

export const komgaBookRoutes = [
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/books',
    dependsOn: 'catalog',
    summary: 'List books',
    who: 'books-read',
    query,
    reply: Page,
    run: (call, { query }) => answerBooks(call, query, { filter: readBookFilter(query, call.caller), sort: readKomgaBookSort(query.sort) }),
  }),
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/books/list',
    changes: null,
    dependsOn: 'catalog',
    summary: 'List books by a condition',
    who: 'books-read',
    query: Type.Object(komgaPageQuery),
    bodyOptional: true,
    body: SearchBody,
    reply: Page,
    run: async (call, { query, body }) => {
      const seen = { deleted: false, now: false }
      const condition = body.condition != null ? readKomgaCondition(body.condition, 'books', seen) : undefined
      if (seen.now) call.changesWithTime()
      const filter = {
        search: readSearch(body.fullTextSearch),
        includeDeleted: seen.deleted,
        ...(condition && { condition: compileSent(condition, 'books', call.caller) }),
      }
      return await answerBooks(call, query, { filter, sort: readKomgaBookSort(query.sort) })
    },
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/books/latest',
    dependsOn: 'catalog',
    summary: 'Recently added books, the newest first',
    who: 'books-read',
    query,
    reply: Page,
    run: (call, { query }) =>
      answerBooks(call, query, { filter: readBookFilter(query, call.caller), sort: { field: 'created', direction: 'desc' } }),
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/books/ondeck',
    dependsOn: 'catalog',
    summary: 'On deck: the next book of every series of which I have completed a book and am reading none',
    who: 'books-read',
    query: Type.Object({ ...komgaPageQuery, library_id: bookFilterQuery.library_id, deleted: bookFilterQuery.deleted }),
    reply: Page,
    run: async (call, { query }) => {
      const window = readWindow(query)
      const { offset, limit } = window
      const filter = query.deleted
        ? { ...readBookFilter({}, call.caller, [{ anyOf: [] }]) }
        : readBookFilter({ library_id: query.library_id }, call.caller)
      const { items, total } = await listOnDeck(call.services.database, call.caller, { filter, sort: null, offset, limit })
      return await answerBookIds(call, window, { ids: items.map(({ id }) => id), total })
    },
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/books/duplicates',
    summary: 'Books with the same file, next to each other, as of the last search for duplicates',
    who: 'books-read',
    query: Type.Object(komgaPageQuery),
    reply: Page,
    run: async (call, { query }) => {
      const window = readWindow(query)
      return await answerBookIds(call, window, await listDuplicateIds(call.services.database, call.caller, window))
    },
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/books/:bookId',
    summary: 'One book',
    who: 'books-read',
    params,
    reply: KomgaBook,
    run: (call, { params }) => getKomgaBook(call, params.bookId),
  }),
  ...(['next', 'previous'] as const).map((way) =>
    komgaEndpoint({
      method: 'GET',
      path: `/api/v1/books/:bookId/${way}`,
      summary: `The ${way} book of the series; 404 where there is none`,
      who: 'books-read',
      params,
      reply: KomgaBook,
      run: async (call, { params }) => {
        const { prev, next } = await findAdjacentBooks(call.services.database, call.caller, params.bookId)
        const adjacent = (way === 'next' ? next : prev) ?? refuse('not_found', `There is no ${way} book in the series.`)
        const [book] = await readBooks(call, [adjacent.id])
        return book ?? refuse('not_found')
      },
    }),
  ),
  komgaStream({
    path: '/api/v1/books/:bookId/file',
    summary: 'The file of a book, unchanged',
    who: 'books-read',
    params,
    mediaTypes: BOOK_MEDIA_TYPES,
    run: (call, { params }) => bookFile(call.services, call.caller, params.bookId),
  }),
]
