import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import { bookView } from '#api/views/book-view.ts'
import { Book } from '#core/catalog/book.ts'
import { listBooks } from '#core/catalog/book-query.ts'
import { readSearch, SEARCH_LENGTH_MAX } from '#core/catalog/search-query.ts'
import { Series } from '#core/catalog/series.ts'
import { listSeries } from '#core/catalog/series-query.ts'
import { Noun } from '#core/foundation/schema.ts'
import { findPeople } from '#core/metadata/people-query.ts'
import { Collection, ReadList } from '#core/shelves/shelf.ts'
import { listShelves } from '#core/shelves/shelf-query.ts'

type Services = Pick<DataServices, 'database' | 'settings'>

/** Of each kind: what is seen at once below a search field. */
const FOUND_MAX = 8

const few = <const T extends Parameters<typeof Type.Array>[0]>(item: T) => Type.Array(item, { maxItems: FOUND_MAX })
const Found = Noun('Found')({
  series: few(Series),
  books: few(Book),
  people: few(Noun('FoundPerson')({ name: Type.String(), roles: Type.Array(Type.String()) })),
  collections: few(Collection),
  readLists: few(ReadList),
})

async function findAll({ services, caller, listState: state }: Call<Services>, search: string) {
  const { database } = services
  const page = { offset: 0, limit: FOUND_MAX }
  const list = { ...page, filter: { search }, sort: null, state, few: true as const }
  const [series, books, people, collections, readLists] = await Promise.all([
    listSeries(database, caller, list),
    listBooks(database, caller, list),
    findPeople(database, caller, { search, limit: FOUND_MAX }),
    listShelves(database, caller, 'collection', { ...page, search }),
    listShelves(database, caller, 'read_list', { ...page, search }),
  ])
  return {
    series: series.items,
    books: books.items.map((book) => bookView(services, book)),
    people,
    collections: collections.items.map(({ count, ...shelf }) => ({ ...shelf, seriesCount: count })),
    readLists: readLists.items.map(({ count, ...shelf }) => ({ ...shelf, bookCount: count })),
  }
}

export const searchRoutes = [
  endpointOf<Services>()({
    name: 'searchAll',
    method: 'GET',
    path: '/api/v1/search',
    dependsOn: 'catalog',
    summary: `Search series, books, people, collections and read lists, at most ${FOUND_MAX} of each; for results while a user types`,
    tag: 'series',
    allow: { who: 'series-read', also: ['books-read'] },
    query: Type.Object({
      q: Type.String({
        maxLength: SEARCH_LENGTH_MAX,
        description:
          'Words of series and books, of which the beginning suffices; part of a name of the others. An empty text finds nothing.',
      }),
    }),
    reply: Found,
    run: async (call, { query }) => {
      const search = readSearch(query.q)
      return search === null ? { series: [], books: [], people: [], collections: [], readLists: [] } : await findAll(call, search)
    },
  }),
]
