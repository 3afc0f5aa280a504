import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { KomgaAuthor } from '#api/komga/book-view.ts'
import type { KomgaCall } from '#api/komga/lists.ts'
import { komgaPage, komgaPageQuery, PageOf, readWindow } from '#api/komga/page-object.ts'
import { AnyId, many, readIds } from '#api/komga/query-values.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { KOMGA_ROLES } from '#api/komga/values.ts'
import { SEARCH_LENGTH_MAX } from '#core/catalog/search-query.ts'
import { isUuid } from '#core/foundation/schema.ts'
import { listPeople } from '#core/metadata/people-query.ts'
import { listVocabulary, type VocabularyKind, type VocabularyScope, WORDS_MAX } from '#core/metadata/vocabulary-query.ts'

type Services = Pick<DataServices, 'database'>
const komgaEndpoint = komgaEndpointOf<Services>()

const placeQuery = {
  library_id: many('In these libraries.'),
  collection_id: AnyId,
  series_id: AnyId,
  readlist_id: AnyId,
}
interface PlaceQuery {
  library_id?: string[]
  collection_id?: string
  series_id?: string
  readlist_id?: string
}

/** No library at all if an id is none of this server. */
function placeOf({ library_id, collection_id, series_id, readlist_id }: PlaceQuery): VocabularyScope {
  const isNowhere = [collection_id, series_id, readlist_id].some((id) => id !== undefined && !isUuid(id))
  if (isNowhere) return { libraryIds: [] }
  return { libraryIds: readIds(library_id), collectionId: collection_id, seriesId: series_id, readListId: readlist_id }
}

const LISTS: Record<string, { summary: string; kind: VocabularyKind }> = {
  genres: { summary: 'Genres', kind: 'genre' },
  tags: { summary: 'Tags of series and books', kind: 'tag' },
  'tags/series': { summary: 'Tags of series', kind: 'seriesTag' },
  'tags/book': { summary: 'Tags of books', kind: 'bookTag' },
  languages: { summary: 'Languages of series', kind: 'language' },
  publishers: { summary: 'Publishers of series', kind: 'publisher' },
  'age-ratings': { summary: 'Ages that series are meant for', kind: 'ageRating' },
  'sharing-labels': { summary: 'Tags that decide who sees a series; only for administrators', kind: 'sharingTag' },
  'series/release-dates': { summary: 'Years in which series began, the latest first', kind: 'releaseYear' },
}

const peopleQuery = {
  search: Type.Optional(Type.String({ maxLength: SEARCH_LENGTH_MAX })),
  role: Type.Optional(Type.String({ maxLength: 100 })),
  ...placeQuery,
}

async function peopleOf(
  call: KomgaCall,
  query: PlaceQuery & { search?: string; role?: string },
  window: { offset: number; limit: number },
) {
  const { search, role } = query
  const list = { ...placeOf(query), search, role, renamed: KOMGA_ROLES, ...window }
  const { items, total } = await listPeople(call.services.database, call.caller, list)
  return { items: items.map((person) => ({ name: person.name, role: person.role })), total }
}

const all = { offset: 0, limit: WORDS_MAX }

export const komgaVocabularyRoutes = [
  ...Object.entries(LISTS).map(([name, { summary, kind }]) =>
    komgaEndpoint({
      method: 'GET',
      path: `/api/v1/${name}`,
      summary,
      who: 'series-read',
      query: Type.Object(placeQuery),
      reply: Type.Array(Type.String()),
      run: async (call, { query }) => {
        const words = await listVocabulary(call.services.database, call.caller, kind, placeOf(query))
        return kind === 'releaseYear' ? words.reverse() : words
      },
    }),
  ),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/authors',
    thisVersionOnly: true,
    summary: 'People, all of them',
    who: 'series-read',
    query: Type.Object(peopleQuery),
    reply: Type.Array(KomgaAuthor),
    run: async (call, { query }) => (await peopleOf(call, query, all)).items,
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v2/authors',
    summary: 'People, paginated',
    who: 'series-read',
    query: Type.Object({ ...komgaPageQuery, ...peopleQuery }),
    reply: PageOf(KomgaAuthor),
    run: async (call, { query }) => {
      const window = readWindow(query)
      const { items, total } = await peopleOf(call, query, window)
      return komgaPage(window, { content: items, count: items.length, total })
    },
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/authors/names',
    summary: 'Names of people',
    who: 'series-read',
    query: Type.Object(peopleQuery),
    reply: Type.Array(Type.String()),
    run: async (call, { query }) => [...new Set((await peopleOf(call, query, all)).items.map(({ name }) => name))],
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/authors/roles',
    summary: 'Roles of people',
    who: 'series-read',
    query: Type.Object(placeQuery),
    reply: Type.Array(Type.String()),
    run: async (call, { query }) => [...new Set((await peopleOf(call, query, all)).items.map(({ role }) => role))].sort(),
  }),
]
