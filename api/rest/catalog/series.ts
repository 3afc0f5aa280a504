import type { Static } from 'typebox'
import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { type Call, endpointOf, streamOf } from '#api/http/endpoint.ts'
import { PAGE_SIZE_MAX, Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { BOOK_SORT, FULL, ListedBook, listedBooks } from '#api/views/book-view.ts'
import { InitialGroups } from '#api/views/initial-groups.ts'
import { withSourceNames } from '#api/views/legacy-names.ts'
import { FULL_SERIES, ListedSeries, listedSeries, SAME_LIBRARY, SERIES_SORT } from '#api/views/series-view.ts'
import { SIZED_MEDIA_TYPES, type SizedThumbnailServices, sizedThumbnail, sizedThumbnailQuery } from '#api/views/thumbnail.ts'
import type { Caller } from '#core/account/caller.ts'
import { listSeriesBooks, SERIES_BOOKS_MAX } from '#core/catalog/book-query.ts'
import { readBookSort } from '#core/catalog/book-sort-query.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import { fullSeries } from '#core/catalog/full-series-query.ts'
import { getLibraryName } from '#core/catalog/library-name-query.ts'
import { SeriesCondition } from '#core/catalog/list-condition-schema.ts'
import { readSearch, SEARCH_LENGTH_MAX } from '#core/catalog/search-query.ts'
import type { Series } from '#core/catalog/series.ts'
import { getSeries, listAlphabeticalGroups, listSeries, type SeriesFilter } from '#core/catalog/series-query.ts'
import { readSeriesSort } from '#core/catalog/series-sort-query.ts'
import { refuseValue } from '#core/foundation/errors.ts'
import { Nullable, Uuid } from '#core/foundation/schema.ts'
import { cleanName, TAXONOMY_NAME_LENGTH_MAX } from '#core/metadata/name.ts'

type Services = Pick<DataServices, 'database' | 'settings'>
const endpoint = endpointOf<Services>()
const stream = streamOf<SizedThumbnailServices>()

/** Enough for a filter that a user enters. */
const NAMES_MAX = 20
/** One page; this list has no further ones. */
const FOUND_DEFAULT = 50
const FOUND_LIMIT = Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_SIZE_MAX, description: `Default ${FOUND_DEFAULT}.` }))
const SeriesId = Type.Object({ seriesId: Uuid })
const seriesQuery = { ...pageQuery, full: FULL_SERIES, sort: SERIES_SORT }

interface ListRequest {
  call: Call<Services>
  query: { page?: number; pageSize?: number; sort?: string; full?: boolean }
  filter: SeriesFilter
}

async function answerSeries({ call, query, filter }: ListRequest) {
  const list = { filter, sort: readSeriesSort(query.sort), ...pageWindow(query), state: call.listState }
  const { items, total } = await listSeries(call.services.database, call.caller, list)
  return paginate(call, query, { items: listedSeries(call, items, query), total })
}

const clean = (texts: readonly string[]) => texts.map(cleanName).filter((name) => name !== '')

/** A text that is given once may be one name with commas or several names. Nobody looks up which: the answer would tell of names that are hidden. */
function readNames(parameter: string, texts: readonly string[] = []): string[][] {
  const parts = texts.length === 1 && texts[0]?.includes(',') ? clean(texts[0].split(',')) : []
  if (parts.length > NAMES_MAX) refuseValue(`/${parameter}`, `has ${parts.length} names; at most ${NAMES_MAX} are allowed`)
  return [clean(texts), parts].filter((names) => names.length > 0)
}

const names = (what: string) =>
  Type.Optional(
    Type.Array(Type.String({ maxLength: NAMES_MAX * (TAXONOMY_NAME_LENGTH_MAX + 1) }), {
      maxItems: NAMES_MAX,
      description:
        `Names of ${what}: only series that have all of them. Repeat the parameter for several; a repeated one is never split. Given once, it is ` +
        'one name or several names separated by commas: series match by either.',
    }),
  )

/** Filters of all series, or of those of a library. */
const CHOICE = { libraryId: Type.Optional(Uuid), genres: names('genres'), tags: names('tags') }
const filterOf = ({ libraryId, genres, tags }: { libraryId?: string; genres?: string[]; tags?: string[] }): SeriesFilter => ({
  libraryId,
  genres: readNames('genres', genres),
  tags: readNames('tags', tags),
})

const SeriesListRequest = Type.Object(
  {
    condition: Type.Optional(Nullable(SeriesCondition)),
    fullTextSearch: Type.Optional(Nullable(Type.String({ maxLength: SEARCH_LENGTH_MAX }))),
  },
  { additionalProperties: false, title: 'SeriesFilter' },
)

function readFilter(body: Static<typeof SeriesListRequest>, caller: Caller): SeriesFilter {
  const condition = body.condition ? compileFilter(body.condition, 'series', caller) : undefined
  return { condition, search: readSearch(body.fullTextSearch) }
}

export const seriesRoutes = [
  endpoint({
    name: 'listSeries',
    method: 'GET',
    path: '/api/v1/series',
    dependsOn: 'catalog',
    summary: 'List series',
    tag: 'series',
    allow: { who: 'series-read' },
    query: Type.Object({ ...seriesQuery, ...CHOICE }),
    reply: Paginated(ListedSeries),
    run: (call, { query }) => answerSeries({ call, query, filter: filterOf(query) }),
  }),
  endpoint({
    name: 'filterSeries',
    method: 'POST',
    path: '/api/v1/series/list',
    changes: null,
    dependsOn: 'catalog',
    summary: 'List series by filter',
    tag: 'series',
    allow: { who: 'series-read' },
    query: Type.Object(seriesQuery),
    bodyOptional: true,
    body: SeriesListRequest,
    reply: Paginated(ListedSeries),
    run: (call, { query, body }) => answerSeries({ call, query, filter: readFilter(body, call.caller) }),
  }),
  endpoint({
    name: 'listSeriesAlphabeticalGroups',
    method: 'POST',
    path: '/api/v1/series/list/alphabetical-groups',
    changes: null,
    dependsOn: 'catalog',
    summary: 'Count the series of a list by their first letter',
    tag: 'series',
    allow: { who: 'series-read' },
    bodyOptional: true,
    body: SeriesListRequest,
    reply: InitialGroups,
    run: ({ services, caller }, { body }) => listAlphabeticalGroups(services.database, caller, readFilter(body, caller)),
  }),
  endpoint({
    name: 'searchSeries',
    method: 'POST',
    path: '/api/v1/series/search',
    changes: null,
    summary: 'Search series by words, best match first',
    tag: 'series',
    allow: { who: 'series-read' },
    body: Type.Object(
      {
        query: Type.String({ maxLength: SEARCH_LENGTH_MAX }),
        libraryId: Type.Optional(Nullable(Uuid)),
        full: Type.Optional(Type.Boolean()),
      },
      { additionalProperties: false },
    ),
    query: Type.Object({ limit: FOUND_LIMIT, full: FULL_SERIES, sort: SERIES_SORT }),
    reply: Type.Array(ListedSeries),
    run: async (call, { body, query }) => {
      const search = readSearch(body.query)
      // An empty search finds nothing rather than everything.
      if (search === null) return []
      const { items } = await listSeries(call.services.database, call.caller, {
        filter: { search, libraryId: body.libraryId ?? undefined },
        sort: readSeriesSort(query.sort),
        offset: 0,
        limit: query.limit ?? FOUND_DEFAULT,
      })
      return listedSeries(call, items, { full: query.full ?? body.full })
    },
  }),
  endpoint({
    name: 'listLibrarySeries',
    method: 'GET',
    path: '/api/v1/libraries/:libraryId/series',
    dependsOn: 'catalog',
    summary: 'List the series of a library',
    tag: 'series',
    allow: { who: 'series-read' },
    params: Type.Object({ libraryId: Uuid }),
    query: Type.Object({ ...seriesQuery, ...CHOICE, libraryId: SAME_LIBRARY }),
    reply: Paginated(ListedSeries),
    run: async (call, { params, query }) => {
      await getLibraryName(call.services.database, call.caller, params.libraryId)
      return await answerSeries({ call, query, filter: filterOf({ ...query, ...params }) })
    },
  }),
  endpoint({
    name: 'getSeries',
    method: 'GET',
    path: '/api/v1/series/:seriesId',
    summary: 'Get a series',
    tag: 'series',
    allow: { who: 'series-read' },
    params: SeriesId,
    query: Type.Object({ full: FULL_SERIES }),
    reply: ListedSeries,
    versionOf: ({ updatedAt }) => updatedAt,
    run: async (call, { params, query }) => {
      const series = await getSeries(call.services.database, call.caller, params.seriesId)
      if (!query.full) return series
      const [full] = await fullSeries(call.services.database, call.caller, [series])
      return withSourceNames(call.services, full ?? series) as Series
    },
  }),
  endpoint({
    name: 'listSeriesBooks',
    method: 'GET',
    path: '/api/v1/series/:seriesId/books',
    dependsOn: 'catalog',
    summary: 'List the books of a series in reading order',
    tag: 'series',
    allow: { who: 'books-read' },
    params: SeriesId,
    query: Type.Object({
      includeDeleted: Type.Optional(Type.Boolean({ description: 'Include books whose file is missing.' })),
      full: FULL,
      sort: BOOK_SORT,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: SERIES_BOOKS_MAX, description: 'Default: all.' })),
    }),
    reply: Type.Array(ListedBook),
    run: async (call, { params, query }) => {
      const { includeDeleted = false, limit } = query
      const series = { seriesId: params.seriesId, includeDeleted, limit, sort: readBookSort(query.sort) }
      const books = await listSeriesBooks(call.services.database, call.caller, series)
      return listedBooks(call, books, query)
    },
  }),
  stream({
    name: 'getSeriesThumbnail',
    path: '/api/v1/series/:seriesId/thumbnail',
    summary: 'Get the cover of a series, small or in a given width: the selected one, else that of its first book',
    tag: 'series',
    allow: { who: 'series-read', cookie: true },
    rate: 'pictures',
    params: SeriesId,
    query: Type.Object(sizedThumbnailQuery),
    mediaTypes: SIZED_MEDIA_TYPES,
    run: (call, { params, query }) => sizedThumbnail(call, { kind: 'series', id: params.seriesId }, query),
  }),
]
