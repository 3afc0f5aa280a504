import { type CatalogCall, type LinkList, listFeed, type PagingQuery, ROOT, shortSummary } from '#api/opds/catalog.ts'
import type { Feed, FeedAddress, NavigationEntry } from '#api/opds/feed-model.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import { getLibraryName } from '#core/catalog/library-name-query.ts'
import { readSearch } from '#core/catalog/search-query.ts'
import type { Series } from '#core/catalog/series.ts'
import { listSeries, listSeriesByIds, type SeriesFilter } from '#core/catalog/series-query.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { findShelf, listCollectionSeries } from '#core/shelves/shelf-query.ts'

export const seriesEntry = ({ id, title, summary, updatedAt, bookCount }: Series): NavigationEntry => ({
  id: `urn:uuid:${id}`,
  title,
  summary: shortSummary(summary),
  updated: updatedAt,
  place: { path: `/series/${id}`, kind: 'acquisition' },
  count: bookCount,
  coverOfSeries: id,
})

/** A list of series. */
type SeriesList = Omit<LinkList<Series>, 'entry'>

const seriesFeed = (request: PagingQuery, list: SeriesList): Promise<Feed> => listFeed(request, { ...list, entry: seriesEntry })

const listing =
  ({ services, caller, listState: state }: CatalogCall, filter: SeriesFilter): SeriesList['list'] =>
  (window) =>
    listSeries(services.database, caller, { filter, sort: null, ...window, state })

/** All series, or those of a genre or publisher. */
export async function allSeriesFeed(call: CatalogCall, request: PagingQuery & { genre?: string; publisher?: string }): Promise<Feed> {
  const { genre, publisher } = request
  const condition = publisher === undefined ? undefined : { publisher: { operator: 'is', value: publisher } }
  const filter: SeriesFilter = {
    genres: genre === undefined ? undefined : [[genre]],
    condition: condition && compileFilter(condition, 'series', call.caller),
  }
  const title = [genre, publisher].filter((name) => name !== undefined).join(', ') || 'Series'
  const up: FeedAddress =
    genre !== undefined
      ? { path: '/genres', kind: 'navigation' }
      : publisher !== undefined
        ? { path: '/publishers', kind: 'navigation' }
        : ROOT
  const query = { genre, publisher }
  // Names are encoded, so that the id of a list is the same however its address is spelled.
  const id =
    genre === undefined && publisher === undefined ? 'urn:carrel:series' : `urn:carrel:series?${new URLSearchParams(namesOf(query))}`
  return await seriesFeed(request, { id, title, path: '/series', query, up, list: listing(call, filter) })
}

const namesOf = (query: Record<string, string | undefined>): [string, string][] =>
  Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)

/** @throws not_found */
export async function librarySeriesFeed(call: CatalogCall, request: PagingQuery, libraryId: string): Promise<Feed> {
  const { id, name } = await getLibraryName(call.services.database, call.caller, libraryId)
  const up: FeedAddress = { path: '/libraries', kind: 'navigation' }
  return await seriesFeed(request, {
    id: `urn:uuid:${id}`,
    title: name,
    path: `/libraries/${id}`,
    up,
    list: listing(call, { libraryId: id }),
  })
}

/** @throws not_found */
export async function collectionFeed(call: CatalogCall, request: PagingQuery, collectionId: string): Promise<Feed> {
  const { database } = call.services
  const shelf = await findShelf(database, call.caller, 'collection', collectionId)
  if (!shelf) refuse('not_found', `There is no collection ${collectionId}, or you may not see it.`)
  return await seriesFeed(request, {
    id: `urn:uuid:${shelf.id}`,
    title: shelf.name,
    path: `/collections/${shelf.id}`,
    up: { path: '/collections', kind: 'navigation' },
    list: (window) => listCollectionSeries(database, call.caller, { shelf, sort: null, ...window }),
  })
}

/** Finds series by words. An empty search finds nothing. */
export async function seriesSearchFeed(call: CatalogCall, request: PagingQuery & { query?: string }): Promise<Feed> {
  const search = readSearch(request.query)
  const list: SeriesList['list'] = search === null ? async () => ({ items: [], total: 0 }) : listing(call, { search })
  return await seriesFeed(request, {
    id: 'urn:carrel:search:series',
    title: 'Search series',
    path: '/search/series',
    query: { query: request.query },
    list,
  })
}

/** Recommendations of a plugin for the user, as far as the series are in this library; the list is made in the background. */
export async function recommendedFeed(call: CatalogCall, request: PagingQuery): Promise<Feed> {
  const { recommendations, database } = call.services
  const list = await recommendations.get(call.caller, null).catch((error: unknown) => {
    // The user has enabled no plugin with recommendations.
    if (error instanceof AppError && error.code === 'not_found') return null
    throw error
  })
  const ids = [...new Set(list?.items.flatMap(({ serviceSeriesId }) => serviceSeriesId ?? []))]
  const series = await listSeriesByIds(database, call.caller, ids)
  return await seriesFeed(request, {
    id: 'urn:carrel:recommended',
    title: 'Recommended',
    path: '/recommended',
    list: async ({ offset, limit }) => ({ items: series.slice(offset, offset + limit), total: series.length }),
  })
}
