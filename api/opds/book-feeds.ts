import {
  type BookFeedQuery,
  type CatalogCall,
  feedOf,
  type PagingQuery,
  READ_STATUSES,
  ROOT,
  sizeQuery,
  windowOf,
} from '#api/opds/catalog.ts'
import { type FacetGroup, type Feed, type FeedAddress, latestOf, placeWith } from '#api/opds/feed-model.ts'
import { publicationsOf } from '#api/opds/publication.ts'
import { seriesEntry } from '#api/opds/series-feeds.ts'
import { progressUserId } from '#core/account/caller.ts'
import type { Book } from '#core/catalog/book.ts'
import { type BookFilter, listBooks } from '#core/catalog/book-query.ts'
import type { BookSort } from '#core/catalog/book-sort-query.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import { type LibraryName, listLibraryNames } from '#core/catalog/library-name-query.ts'
import { readSearch } from '#core/catalog/search-query.ts'
import { getSeries, listSeries } from '#core/catalog/series-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { listOnDeck } from '#core/reading/on-deck-query.ts'
import { findShelf, listReadListBooks } from '#core/shelves/shelf-query.ts'

/** Facets of libraries that one list offers; the feed of libraries has all of them. */
const LIBRARIES_MAX = 50
/** Series that a search shows beside the books. */
const SERIES_FOUND = 10

type SortName = NonNullable<BookFeedQuery['sort']>
const SORTS: Record<SortName, { title: string; sort: BookSort }> = {
  title: { title: 'Title', sort: { field: 'title', direction: 'asc' } },
  // Within a series: reading order.
  series: { title: 'Series', sort: { field: 'series', direction: 'asc' } },
  added: { title: 'Last added', sort: { field: 'created', direction: 'desc' } },
  released: { title: 'Last released', sort: { field: 'released', direction: 'desc' } },
}
const READ_STATUS_TITLES: Record<(typeof READ_STATUSES)[number], string> = { unread: 'Unread', in_progress: 'In progress', read: 'Read' }

interface Window {
  offset: number
  limit: number
}

/** A list of books, and how the user may filter it. */
interface BookList {
  id: string
  title: string
  path: string
  /** Query members of the list itself. */
  query?: FeedAddress['query']
  up?: FeedAddress
  list(window: Window): Promise<{ items: Book[]; total: number }>
  byLibrary?: true
  byReadStatus?: true
  /** The default order, with its title. */
  defaultSort?: { name: SortName; title: string }
  /** The books belong to one series. */
  isSeries?: true
}

async function bookFeed({ services, caller }: CatalogCall, request: BookFeedQuery, about: BookList): Promise<Feed> {
  const { page, pageSize, ...window } = windowOf(request)
  const { libraryId, readStatus, sort } = request
  const place: FeedAddress = {
    path: about.path,
    query: { ...about.query, libraryId, readStatus, sort, ...sizeQuery(request) },
    kind: 'acquisition',
  }
  const [{ items, total }, libraries] = await Promise.all([
    about.list(window),
    about.byLibrary ? listLibraryNames(services.database, caller, LIBRARIES_MAX) : [],
  ])
  const publications = await publicationsOf(services, items)
  return feedOf({
    id: about.id,
    title: about.title,
    place,
    up: about.up ?? ROOT,
    publications,
    namesSeries: !about.isSeries,
    updated: latestOf(publications),
    facets: facetsOf(about, { caller, place, request, libraries, total }),
    paging: { page, pageSize, total },
  })
}

/** Only the selected facet has a count, which is known; counting the others would cost as much as those lists. */
function facetsOf(
  { byLibrary, byReadStatus, defaultSort }: BookList,
  {
    caller,
    place,
    request,
    libraries,
    total,
  }: Pick<CatalogCall, 'caller'> & {
    place: FeedAddress
    request: BookFeedQuery
    libraries: readonly LibraryName[]
    total: number
  },
): FacetGroup[] {
  const group = (
    title: string,
    name: 'libraryId' | 'readStatus' | 'sort',
    values: readonly (readonly [string | undefined, string])[],
  ): FacetGroup => ({
    title,
    facets: values.map(([value, label]) => {
      const isActive = request[name] === value
      return { title: label, place: placeWith(place, { [name]: value }), isActive, count: isActive ? total : null }
    }),
  })
  const groups: FacetGroup[] = []
  if (byLibrary && libraries.length > 1)
    groups.push(group('Library', 'libraryId', [[undefined, 'All libraries'], ...libraries.map(({ id, name }) => [id, name] as const)]))
  if (byReadStatus && progressUserId(caller) !== null)
    groups.push(
      group('Read status', 'readStatus', [
        [undefined, 'All'],
        ...READ_STATUSES.map((status) => [status, READ_STATUS_TITLES[status]] as const),
      ]),
    )
  if (defaultSort) {
    const others = Object.entries(SORTS).filter(([name]) => name !== defaultSort.name && name !== 'series')
    groups.push(group('Order', 'sort', [[undefined, defaultSort.title], ...others.map(([name, { title }]) => [name, title] as const)]))
  }
  return groups
}

/** The filter of a request. */
function filterOf({ caller }: CatalogCall, { libraryId, readStatus }: BookFeedQuery): BookFilter {
  const status = readStatus && { readStatus: { operator: 'is', value: readStatus } }
  return { libraryId, condition: status ? compileFilter(status, 'books', caller) : undefined }
}

const sortOf = ({ sort }: BookFeedQuery, standard: SortName): BookSort => SORTS[sort ?? standard].sort

export async function allBooksFeed(call: CatalogCall, request: BookFeedQuery): Promise<Feed> {
  return await bookFeed(call, request, {
    id: 'urn:carrel:books',
    title: 'Books',
    path: '/books',
    byLibrary: true,
    byReadStatus: true,
    defaultSort: { name: 'title', title: SORTS.title.title },
    list: (window) =>
      listBooks(call.services.database, call.caller, {
        filter: filterOf(call, request),
        sort: sortOf(request, 'title'),
        ...window,
        state: call.listState,
      }),
  })
}

/** @throws not_found */
export async function seriesBooksFeed(call: CatalogCall, request: BookFeedQuery, seriesId: string): Promise<Feed> {
  const series = await getSeries(call.services.database, call.caller, seriesId)
  const filter = { ...filterOf(call, request), seriesId: series.id }
  return await bookFeed(call, request, {
    id: `urn:uuid:${series.id}`,
    title: series.title,
    path: `/series/${series.id}`,
    byReadStatus: true,
    isSeries: true,
    up: { path: '/series', kind: 'navigation' },
    defaultSort: { name: 'series', title: 'Reading order' },
    list: (window) =>
      listBooks(call.services.database, call.caller, { filter, sort: sortOf(request, 'series'), ...window, state: call.listState }),
  })
}

/** @throws not_found */
export async function readListFeed(call: CatalogCall, request: PagingQuery, readListId: string): Promise<Feed> {
  const { database } = call.services
  const shelf = await findShelf(database, call.caller, 'read_list', readListId)
  if (!shelf) refuse('not_found', `There is no read list ${readListId}, or you may not see it.`)
  return await bookFeed(call, request, {
    id: `urn:uuid:${shelf.id}`,
    title: shelf.name,
    path: `/read-lists/${shelf.id}`,
    up: { path: '/read-lists', kind: 'navigation' },
    list: (window) => listReadListBooks(database, call.caller, { shelf, sort: null, ...window }),
  })
}

export async function onDeckFeed(call: CatalogCall, request: BookFeedQuery): Promise<Feed> {
  const { libraryId } = request
  return await bookFeed(call, request, {
    id: 'urn:carrel:on-deck',
    title: 'On deck',
    path: '/on-deck',
    byLibrary: true,
    list: (window) => listOnDeck(call.services.database, call.caller, { filter: { libraryId }, sort: null, ...window }),
  })
}

export async function inProgressFeed(call: CatalogCall, request: BookFeedQuery): Promise<Feed> {
  const filter: BookFilter = { libraryId: request.libraryId, reading: 'unfinished' }
  return await bookFeed(call, request, {
    id: 'urn:carrel:in-progress',
    title: 'In progress',
    path: '/in-progress',
    byLibrary: true,
    list: (window) =>
      listBooks(call.services.database, call.caller, {
        filter,
        sort: { field: 'read', direction: 'desc' },
        ...window,
        state: call.listState,
      }),
  })
}

export async function recentlyAddedFeed(call: CatalogCall, request: BookFeedQuery): Promise<Feed> {
  return await bookFeed(call, request, {
    id: 'urn:carrel:recently-added',
    title: 'Recently added',
    path: '/recently-added',
    byLibrary: true,
    byReadStatus: true,
    list: (window) =>
      listBooks(call.services.database, call.caller, {
        filter: filterOf(call, request),
        sort: SORTS.added.sort,
        ...window,
        state: call.listState,
      }),
  })
}

/** Finds books by words, and groups matching series beside them. An empty search finds nothing. */
export async function searchFeed(call: CatalogCall, request: PagingQuery & { query?: string }): Promise<Feed> {
  const { database } = call.services
  const search = readSearch(request.query)
  const query = { query: request.query }
  const list = async (window: Window) =>
    search === null
      ? { items: [], total: 0 }
      : await listBooks(database, call.caller, { filter: { search }, sort: null, ...window, state: call.listState })
  const { query: _, ...paging } = request
  const isShown = call.hasGroups && search !== null && windowOf(request).page === 1
  const [feed, series] = await Promise.all([
    bookFeed(call, paging, { id: 'urn:carrel:search', title: 'Search', path: '/search', query, list }),
    isShown ? listSeries(database, call.caller, { filter: { search }, sort: null, offset: 0, limit: SERIES_FOUND }) : null,
  ])
  const place: FeedAddress = { path: '/search/series', query, kind: 'navigation' }
  return {
    ...feed,
    groups: [
      { title: 'Series', place, count: series?.total ?? null, navigation: (series?.items ?? []).map(seriesEntry), publications: [] },
    ],
  }
}
