import type { Static } from 'typebox'
import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { KomgaBook } from '#api/komga/book-view.ts'
import { readKomgaCondition } from '#api/komga/condition.ts'
import { answerBooks, answerSeries, getKomgaSeries, type KomgaCall } from '#api/komga/lists.ts'
import { compileSent } from '#api/komga/own-condition.ts'
import { komgaPageQuery, PageOf } from '#api/komga/page-object.ts'
import { bookFilterQuery, readBookFilter, readSeriesFilter, seriesFilterQuery } from '#api/komga/query-filter.ts'
import { komgaEndpointOf, komgaStreamOf } from '#api/komga/route.ts'
import { KomgaSeries } from '#api/komga/series-view.ts'
import { readKomgaSeriesSort, readOrderInSeries } from '#api/komga/sort.ts'
import { seriesArchive } from '#api/views/series-archive.ts'
import { readSearch, SEARCH_LENGTH_MAX } from '#core/catalog/search-query.ts'
import { getSeries, listAlphabeticalGroups, type SeriesFilter } from '#core/catalog/series-query.ts'
import type { SeriesSort } from '#core/catalog/series-sort-query.ts'
import { FreeJson, Nullable, Uuid } from '#core/foundation/schema.ts'

type Services = Pick<ContentServices, 'seriesDownloads'> & Pick<DataServices, 'database' | 'settings'>
const komgaEndpoint = komgaEndpointOf<Services>()
const komgaStream = komgaStreamOf<Services>()

const params = Type.Object({ seriesId: Uuid })
const query = Type.Object({ ...komgaPageQuery, ...seriesFilterQuery })
/** Ignores unknown members, as Komga does: apps send more than they use. */
export const SearchBody = Type.Object(
  {
    condition: Type.Optional(Nullable(FreeJson)),
    fullTextSearch: Type.Optional(Nullable(Type.String({ maxLength: SEARCH_LENGTH_MAX }))),
  },
  { additionalProperties: true, maxProperties: 100 },
)
const Page = PageOf(KomgaSeries)

/** The filter in the body of a list request. */
function readBody(call: KomgaCall, { condition, fullTextSearch }: Static<typeof SearchBody>): SeriesFilter {
  const seen = { deleted: false, now: false }
  const own = condition != null ? readKomgaCondition(condition, 'series', seen) : undefined
  if (seen.now) call.changesWithTime()
  return { search: readSearch(fullTextSearch), ...(own && { condition: compileSent(own, 'series', call.caller) }) }
}

/** Lists by date, the latest first. */
const LATEST: Record<string, { summary: string; sort: SeriesSort; changed?: true }> = {
  latest: { summary: 'Series by their last change, the latest first', sort: { field: 'updated', direction: 'desc' } },
  new: { summary: 'Recently added series, the newest first', sort: { field: 'created', direction: 'desc' } },
  updated: {
    summary: 'Series that have changed since they were added, the latest change first',
    sort: { field: 'updated', direction: 'desc' },
    changed: true,
  },
}

export const komgaSeriesRoutes = [
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/series',
    dependsOn: 'catalog',
    summary: 'List series',
    who: 'series-read',
    query,
    reply: Page,
    run: (call, { query }) =>
      answerSeries(call, query, { filter: readSeriesFilter(query, call.caller), sort: readKomgaSeriesSort(query.sort) }),
  }),
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/series/list',
    changes: null,
    dependsOn: 'catalog',
    summary: 'List series by a condition',
    who: 'series-read',
    query: Type.Object(komgaPageQuery),
    bodyOptional: true,
    body: SearchBody,
    reply: Page,
    run: (call, { query, body }) => answerSeries(call, query, { filter: readBody(call, body), sort: readKomgaSeriesSort(query.sort) }),
  }),
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/series/list/alphabetical-groups',
    changes: null,
    dependsOn: 'catalog',
    summary: 'How many series of a list begin with each letter',
    who: 'series-read',
    bodyOptional: true,
    body: SearchBody,
    reply: Type.Array(Type.Object({ group: Type.String(), count: Type.Integer() })),
    run: async (call, { body }) => await groupsOf(call, readBody(call, body)),
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/series/alphabetical-groups',
    dependsOn: 'catalog',
    summary: 'How many series begin with each letter',
    who: 'series-read',
    query: Type.Object(seriesFilterQuery),
    reply: Type.Array(Type.Object({ group: Type.String(), count: Type.Integer() })),
    run: async (call, { query }) => await groupsOf(call, readSeriesFilter(query, call.caller)),
  }),
  ...Object.entries(LATEST).map(([name, { summary, sort, changed }]) =>
    komgaEndpoint({
      method: 'GET',
      path: `/api/v1/series/${name}`,
      dependsOn: 'catalog',
      summary,
      who: 'series-read',
      query,
      reply: Page,
      run: (call, { query }) => answerSeries(call, query, { filter: { ...readSeriesFilter(query, call.caller), changed }, sort }),
    }),
  ),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/series/:seriesId',
    summary: 'One series',
    who: 'series-read',
    params,
    reply: KomgaSeries,
    run: (call, { params }) => getKomgaSeries(call, params.seriesId),
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/series/:seriesId/books',
    dependsOn: 'catalog',
    summary: 'The books of a series, in reading order',
    who: 'books-read',
    params,
    query: Type.Object({ ...komgaPageQuery, ...bookFilterQuery }),
    reply: PageOf(KomgaBook),
    run: async (call, { params, query }) => {
      const { id } = await getSeries(call.services.database, call.caller, params.seriesId)
      const filter = { ...readBookFilter(query, call.caller), seriesId: id }
      return await answerBooks(call, query, { filter, sort: readOrderInSeries(query.sort) })
    },
  }),
  komgaStream({
    path: '/api/v1/series/:seriesId/file',
    summary: 'The files of a series as one zip, in reading order; created while it is sent, so that ranges are not supported',
    who: 'books-read',
    params,
    mediaTypes: ['application/zip'],
    run: (call, { params }) => seriesArchive(call, params.seriesId),
  }),
]

/** Komga writes the letters in lower case. */
async function groupsOf(call: KomgaCall, filter: SeriesFilter) {
  const groups = await listAlphabeticalGroups(call.services.database, call.caller, filter)
  return groups.map(({ group, count }) => ({ group: group.toLowerCase(), count }))
}
