import { inProgressFeed, onDeckFeed, recentlyAddedFeed } from '#api/opds/book-feeds.ts'
import { type CatalogCall, feedOf, listFeed, type PagingQuery, ROOT, shortSummary } from '#api/opds/catalog.ts'
import { type Feed, type FeedKind, type Group, latestOf, type NavigationEntry, type Relation } from '#api/opds/feed-model.ts'
import type { Permission } from '#core/account/permission.ts'
import { listSeriesWords } from '#core/catalog/filter-value-query.ts'
import { listLibraries } from '#core/catalog/library-query.ts'
import { listNames } from '#core/metadata/taxonomy-query.ts'
import type { ShelfKind } from '#core/shelves/shelf.ts'
import { listShelves } from '#core/shelves/shelf-query.ts'

/** Books of each list that the root shows. */
const GROUP_SIZE = 10

interface Section {
  path: string
  title: string
  summary: string
  kind: FeedKind
  who: Permission
  relation?: Relation
}

/** The entries of the root. */
const SECTIONS: readonly Section[] = [
  { path: '/in-progress', title: 'In progress', summary: 'Books that you are reading', kind: 'acquisition', who: 'books-read' },
  { path: '/on-deck', title: 'On deck', summary: 'The next book of each series that you read', kind: 'acquisition', who: 'books-read' },
  {
    path: '/recently-added',
    title: 'Recently added',
    summary: 'New books, newest first',
    kind: 'acquisition',
    who: 'books-read',
    relation: 'new',
  },
  {
    path: '/recommended',
    title: 'Recommended',
    summary: 'Series that your plugin recommends',
    kind: 'navigation',
    who: 'series-read',
    relation: 'recommended',
  },
  { path: '/libraries', title: 'Libraries', summary: 'Series by library', kind: 'navigation', who: 'libraries-read' },
  { path: '/series', title: 'Series', summary: 'All series', kind: 'navigation', who: 'series-read' },
  { path: '/books', title: 'Books', summary: 'All books', kind: 'acquisition', who: 'books-read' },
  { path: '/collections', title: 'Collections', summary: 'Series that belong together', kind: 'navigation', who: 'series-read' },
  { path: '/read-lists', title: 'Read lists', summary: 'Books in an order to read them in', kind: 'navigation', who: 'books-read' },
  { path: '/genres', title: 'Genres', summary: 'Series by genre', kind: 'navigation', who: 'series-read' },
  { path: '/publishers', title: 'Publishers', summary: 'Series by publisher', kind: 'navigation', who: 'series-read' },
]

/** The root feed: links to everything that the caller may see, and the first books of the lists that the user most likely wants. */
export async function rootFeed(call: CatalogCall): Promise<Feed> {
  const updated = latestOf([])
  const navigation = SECTIONS.filter(({ who }) => call.caller.permissions.has(who)).map(
    ({ path, kind, title, summary, relation }): NavigationEntry => ({
      id: `urn:carrel:section:${path.slice(1)}`,
      title,
      summary,
      updated,
      place: { path, kind },
      count: null,
      ...(relation && { relation }),
    }),
  )
  const lists = call.hasGroups
    ? await Promise.all([inProgressFeed, onDeckFeed, recentlyAddedFeed].map((list) => list(call, { pageSize: GROUP_SIZE })))
    : []
  const groups = lists.map(
    ({ title, place, paging, publications }): Group => ({
      title,
      place: { path: place.path, kind: place.kind },
      count: paging?.total ?? null,
      navigation: [],
      publications,
    }),
  )
  return feedOf({ id: 'urn:carrel:root', title: call.name, updated, place: ROOT, up: null, navigation, groups })
}

export function librariesFeed({ services, caller }: CatalogCall, request: PagingQuery): Promise<Feed> {
  return listFeed(request, {
    id: 'urn:carrel:libraries',
    title: 'Libraries',
    path: '/libraries',
    list: (window) => listLibraries(services.database, caller, window),
    entry: ({ id, name, description, updatedAt, seriesCount }) => ({
      id: `urn:uuid:${id}`,
      title: name,
      updated: updatedAt,
      count: seriesCount,
      summary: shortSummary(description),
      place: { path: `/libraries/${id}`, kind: 'navigation' },
    }),
  })
}

const SHELVES = {
  collection: { id: 'urn:carrel:collections', title: 'Collections', path: '/collections', kind: 'navigation' },
  read_list: { id: 'urn:carrel:read-lists', title: 'Read lists', path: '/read-lists', kind: 'acquisition' },
} as const satisfies Record<ShelfKind, object>

/** Collections or read lists. */
export function shelvesFeed({ services, caller }: CatalogCall, request: PagingQuery, shelf: ShelfKind): Promise<Feed> {
  const { kind, ...about } = SHELVES[shelf]
  return listFeed(request, {
    ...about,
    list: (window) => listShelves(services.database, caller, shelf, window),
    entry: ({ id, name, summary, updatedAt, count }) => ({
      id: `urn:uuid:${id}`,
      title: name,
      updated: updatedAt,
      count,
      summary: shortSummary(summary),
      place: { path: `${about.path}/${id}`, kind },
    }),
  })
}

export function genresFeed({ services, caller }: CatalogCall, request: PagingQuery): Promise<Feed> {
  return listFeed(request, {
    id: 'urn:carrel:genres',
    title: 'Genres',
    path: '/genres',
    list: (window) => listNames(services.database, caller, { taxonomy: 'genre', ...window }),
    entry: ({ id, name, createdAt, seriesCount }) => ({
      id: `urn:uuid:${id}`,
      title: name,
      summary: null,
      updated: createdAt,
      count: seriesCount,
      place: { path: '/series', query: { genre: name }, kind: 'navigation' },
    }),
  })
}

export function publishersFeed({ services, caller }: CatalogCall, request: PagingQuery): Promise<Feed> {
  return listFeed(request, {
    id: 'urn:carrel:publishers',
    title: 'Publishers',
    path: '/publishers',
    list: (window) => listSeriesWords(services.database, caller, 'publisher', window),
    entry: ({ name, seriesCount }) => ({
      id: `urn:carrel:publisher?${new URLSearchParams({ name })}`,
      title: name,
      summary: null,
      updated: null,
      count: seriesCount,
      place: { path: '/series', query: { publisher: name }, kind: 'navigation' },
    }),
  })
}
