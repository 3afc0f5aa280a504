import type { Static, TSchema } from 'typebox'
import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import { type Call, type Route, streamOf } from '#api/http/endpoint.ts'
import type { StreamReply } from '#api/http/reply.ts'
import { ATOM_ROOT, OPDS2_ROOT } from '#api/opds/addresses.ts'
import { atomType, ENTRY_TYPE, writeAtomFeed, writeEntry } from '#api/opds/atom.ts'
import { opdsMount } from '#api/opds/authentication-document.ts'
import {
  allBooksFeed,
  inProgressFeed,
  onDeckFeed,
  readListFeed,
  recentlyAddedFeed,
  searchFeed,
  seriesBooksFeed,
} from '#api/opds/book-feeds.ts'
import { BookFeedQuery, type CatalogCall, PagingQuery, pagingQuery } from '#api/opds/catalog.ts'
import type { Feed } from '#api/opds/feed-model.ts'
import { genresFeed, librariesFeed, publishersFeed, rootFeed, shelvesFeed } from '#api/opds/navigation-feeds.ts'
import { FEED_TYPE, PUBLICATION_TYPE, writeJsonFeed, writePublication } from '#api/opds/opds2.ts'
import { getPublication } from '#api/opds/publication.ts'
import { readingHereRoutes } from '#api/opds/reading-routes.ts'
import { resourceRoutes } from '#api/opds/resource-routes.ts'
import { documentReply } from '#api/opds/send-document.ts'
import { allSeriesFeed, collectionFeed, librarySeriesFeed, recommendedFeed, seriesSearchFeed } from '#api/opds/series-feeds.ts'
import type { Permission } from '#core/account/permission.ts'
import { VALUE_LENGTH_MAX } from '#core/catalog/list-condition.ts'
import { SEARCH_LENGTH_MAX } from '#core/catalog/search-query.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { readSetting } from '#core/settings/chosen-setting-store.ts'

type Services = Pick<ContentServices, 'pageReader' | 'sizedCovers' | 'positionLists' | 'publications'> &
  Pick<DataServices, 'database' | 'settings'> &
  Pick<PluginServices, 'recommendations'>
const stream = streamOf<Services>()

/** Every feed exists once per version of the protocol. */
const VERSIONS = [
  {
    name: 'OPDS 1.2',
    tag: 'opds',
    root: ATOM_ROOT,
    hasGroups: false,
    write: writeAtomFeed,
    writeOne: writeEntry,
    feedTypes: [atomType('navigation'), atomType('acquisition')],
    entryTypes: [ENTRY_TYPE],
  },
  {
    name: 'OPDS 2.0',
    tag: 'opds2',
    root: OPDS2_ROOT,
    hasGroups: true,
    write: writeJsonFeed,
    writeOne: writePublication,
    feedTypes: [FEED_TYPE],
    entryTypes: [PUBLICATION_TYPE],
  },
] as const

const SearchQuery = Type.Object({
  ...pagingQuery,
  query: Type.Optional(Type.String({ maxLength: SEARCH_LENGTH_MAX, description: 'Search words; without any, nothing is found.' })),
})
const Name = (what: string) => Type.Optional(Type.String({ maxLength: VALUE_LENGTH_MAX, description: `Only series of this ${what}.` }))
const SeriesFeedQuery = Type.Object({ ...pagingQuery, genre: Name('genre'), publisher: Name('publisher') })
const NoQuery = Type.Object({})

/** One feed of the catalog, below the root of each version. */
interface FeedRoute<P extends TSchema, Q extends TSchema> {
  path: string
  summary: string
  who: Permission
  params?: P
  query: Q
  /** The feed shows more than the catalog. */
  dependsOnMore?: true
  build(call: CatalogCall, query: Static<Q>, params: Static<P>): Promise<Feed>
}

function feed<Q extends TSchema, P extends TSchema = typeof NoQuery>(about: FeedRoute<P, Q>): Route<Services>[] {
  return VERSIONS.map(({ name, tag, root, hasGroups, write, feedTypes }) =>
    stream({
      path: root + about.path,
      summary: `${about.summary} (${name})`,
      tag,
      allow: { who: about.who, basic: true },
      mount: opdsMount,
      ...(!about.dependsOnMore && { dependsOn: 'catalog' as const }),
      ...(about.params && { params: about.params as TSchema }),
      query: about.query as TSchema,
      mediaTypes: [...feedTypes],
      run: async (call: Call<Services>, input: { params: unknown; query: unknown }): Promise<StreamReply> => {
        const { services, caller, listState } = call
        // Not a value of some seconds ago: the document is kept until the catalog or the name changes.
        const libraryName = await readSetting(services.database, 'application.name')
        const catalog = { services, caller, name: libraryName, listState, hasGroups }
        return documentReply(write(await about.build(catalog, input.query as Static<Q>, input.params as Static<P>), libraryName))
      },
    }),
  )
}

const oneBook: Route<Services>[] = VERSIONS.map(({ name, tag, root, writeOne, entryTypes }) =>
  stream({
    path: `${root}/books/:bookId`,
    summary: `Get the full record of a book (${name})`,
    tag,
    allow: { who: 'books-read', basic: true },
    mount: opdsMount,
    params: Type.Object({ bookId: Uuid }),
    mediaTypes: [...entryTypes],
    run: async (call, { params }) => documentReply(writeOne(await getPublication(call.services, call.caller, params.bookId))),
  }),
)

/** The catalogs for feed readers, and the resources that they link to. */
export const opdsRoutes: readonly Route<Services>[] = [
  ...resourceRoutes,
  ...readingHereRoutes,
  ...feed({
    path: '',
    summary: 'Get the root of the catalog',
    who: 'books-read',
    query: NoQuery,
    dependsOnMore: true,
    build: (call) => rootFeed(call),
  }),
  ...feed({ path: '/libraries', summary: 'List libraries by name', who: 'libraries-read', query: PagingQuery, build: librariesFeed }),
  ...feed({
    path: '/libraries/:libraryId',
    summary: 'List the series of a library by name',
    who: 'series-read',
    query: PagingQuery,
    params: Type.Object({ libraryId: Uuid }),
    build: (call, query, { libraryId }) => librarySeriesFeed(call, query, libraryId),
  }),
  ...feed({
    path: '/series',
    summary: 'List series by name, all or those of a genre or publisher',
    who: 'series-read',
    query: SeriesFeedQuery,
    build: allSeriesFeed,
  }),
  ...feed({
    path: '/series/:seriesId',
    summary: 'List the books of a series in reading order',
    who: 'books-read',
    query: BookFeedQuery,
    params: Type.Object({ seriesId: Uuid }),
    build: (call, query, { seriesId }) => seriesBooksFeed(call, query, seriesId),
  }),
  ...feed({ path: '/books', summary: 'List books by title', who: 'books-read', query: BookFeedQuery, build: allBooksFeed }),
  ...oneBook,
  ...feed({
    path: '/collections',
    summary: 'List collections by name',
    who: 'series-read',
    query: PagingQuery,
    build: (call, query) => shelvesFeed(call, query, 'collection'),
  }),
  ...feed({
    path: '/collections/:collectionId',
    summary: 'List the series of a collection in its order',
    who: 'series-read',
    query: PagingQuery,
    params: Type.Object({ collectionId: Uuid }),
    build: (call, query, { collectionId }) => collectionFeed(call, query, collectionId),
  }),
  ...feed({
    path: '/read-lists',
    summary: 'List read lists by name',
    who: 'books-read',
    query: PagingQuery,
    build: (call, query) => shelvesFeed(call, query, 'read_list'),
  }),
  ...feed({
    path: '/read-lists/:readListId',
    summary: 'List the books of a read list in its order',
    who: 'books-read',
    query: PagingQuery,
    params: Type.Object({ readListId: Uuid }),
    build: (call, query, { readListId }) => readListFeed(call, query, readListId),
  }),
  ...feed({
    path: '/on-deck',
    summary: 'List my next book of each series that I am reading',
    who: 'books-read',
    query: BookFeedQuery,
    build: onDeckFeed,
  }),
  ...feed({
    path: '/in-progress',
    summary: 'List the books that I am reading, latest first',
    who: 'books-read',
    query: BookFeedQuery,
    build: inProgressFeed,
  }),
  ...feed({
    path: '/recently-added',
    summary: 'List recently added books, newest first',
    who: 'books-read',
    query: BookFeedQuery,
    build: recentlyAddedFeed,
  }),
  ...feed({
    path: '/recommended',
    summary: 'List series of this library that a plugin recommends to me',
    who: 'series-read',
    query: PagingQuery,
    dependsOnMore: true,
    build: recommendedFeed,
  }),
  ...feed({ path: '/genres', summary: 'List genres by name', who: 'series-read', query: PagingQuery, build: genresFeed }),
  ...feed({ path: '/publishers', summary: 'List publishers by name', who: 'series-read', query: PagingQuery, build: publishersFeed }),
  ...feed({
    path: '/search',
    summary: 'Search books by words, best match first',
    who: 'books-read',
    query: SearchQuery,
    build: searchFeed,
  }),
  ...feed({
    path: '/search/series',
    summary: 'Search series by words, best match first',
    who: 'series-read',
    query: SearchQuery,
    build: seriesSearchFeed,
  }),
]
