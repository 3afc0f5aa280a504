import {
  AUTHOR,
  BOOK,
  COLLECTION,
  LIBRARY,
  PAGE,
  POSITIONS,
  PROGRESSION,
  pageOf,
  READ_LIST,
  SERIES,
  USER,
} from '#test/support/komga-decoders.ts'
import type { Decoder } from '#test/support/komga-server.ts'

/** The entities that the requests of apps refer to. */
export interface EntityIds {
  library: string
  series: string
  book: string
  next: string
  epub: string
  chapter: string
  collection: string
  readList: string
}

/** A request as an app sends it, and the members of the response that the app reads. */
export interface AppRequest {
  method?: string
  /** Path after the prefix. */
  path: string
  body?: unknown
  headers?: Record<string, string>
  status?: number
  /** The members that the app's decoder requires; a list if the response is a list. */
  needs?: Decoder | [Decoder]
}
export interface App {
  name: string
  /** How it authenticates. */
  by: 'key' | 'basic' | 'cookie' | 'token'
  headers?: Record<string, string>
  requests: (scene: EntityIds) => AppRequest[]
}

const locks = (...names: string[]): Decoder => Object.fromEntries(names.map((name) => [`${name}Lock`, 'flag']))

/** Members without a default in the decoder of Mihon's extension. */
const MIHON_SERIES: Decoder = {
  ...{ id: 'text', libraryId: 'text', name: 'text', fileLastModified: 'text', booksCount: 'whole' },
  metadata: {
    ...{ status: 'text', title: 'text', titleSort: 'text', summary: 'text', readingDirection: 'text', publisher: 'text', language: 'text' },
    ...{
      genres: 'texts',
      tags: 'texts',
      ...locks('status', 'title', 'titleSort', 'summary', 'readingDirection', 'publisher', 'ageRating'),
    },
    ...locks('language', 'genres', 'tags'),
  },
  booksMetadata: { authors: 'people', tags: 'texts', summary: 'text', summaryNumber: 'text', created: 'text', lastModified: 'text' },
}
const MIHON_BOOK: Decoder = {
  ...{
    id: 'text',
    seriesId: 'text',
    seriesTitle: 'text',
    name: 'text',
    number: 'number',
    fileLastModified: 'text',
    sizeBytes: 'whole',
    size: 'text',
  },
  media: { status: 'text', mediaType: 'text', pagesCount: 'whole', mediaProfile: 'text', epubDivinaCompatible: 'flag' },
  metadata: {
    title: 'text',
    number: 'text',
    numberSort: 'number',
    authors: 'people',
    tags: 'texts',
    ...locks('title', 'number', 'authors', 'tags'),
  },
}
const NAMED: Decoder = { id: 'text', name: 'text' }
const TACHIYOMI: Decoder = { booksCount: 'whole', booksReadCount: 'whole', booksUnreadCount: 'whole', booksInProgressCount: 'whole' }
/** A few members only; dates must be ISO 8601 without fractions. */
const KMREADER_BOOK: Decoder = {
  ...{
    id: 'text',
    name: 'text',
    url: 'text',
    number: 'number',
    created: 'moment',
    lastModified: 'moment',
    sizeBytes: 'whole',
    size: 'text',
  },
  ...{ media: 'object', metadata: 'object', deleted: 'flag', oneshot: 'flag' },
}
const CONTENT = (item: Decoder): Decoder => ({ content: [item], totalPages: 'whole', number: 'whole', last: 'flag' })
const MANIFEST: Decoder = { metadata: { title: 'text' }, readingOrder: [{ href: 'text', type: 'text' }] }

const is = (value: unknown, operator = 'is') => ({ operator, value })
const all = 'unpaged=true&media_status=READY&deleted=false'
const progression = (href: string, modified: string) => ({
  ...{ modified, device: { id: 'device', name: 'Replay' } },
  locator: { href, type: 'application/xhtml+xml', locations: { fragments: [], progression: 0.2, position: 1, totalProgression: 0.01 } },
})

const GROUPS: [Decoder] = [{ group: 'text', count: 'whole' }]

export const APPS: App[] = [
  {
    name: 'Mihon: the extension',
    by: 'key',
    headers: { 'user-agent': 'TachiyomiKomga/1.4.68' },
    requests: ({ library, series, book, readList, collection }) => [
      { path: 'v1/libraries', needs: [NAMED] },
      { path: 'v1/collections?unpaged=true', needs: CONTENT(NAMED) },
      ...['genres', 'tags', 'publishers'].map((path) => ({ path: `v1/${path}` })),
      { path: 'v1/authors', needs: [AUTHOR] },
      ...['relevance', 'metadata.titleSort', 'name', 'createdDate', 'lastModifiedDate', 'random'].map((sort) => ({
        path: `v1/series?search=&page=0&deleted=false&sort=${sort},desc`,
        needs: pageOf(MIHON_SERIES),
      })),
      {
        path: `v1/series?search=&page=0&deleted=false&library_id=${library},${library}&read_status=UNREAD&read_status=IN_PROGRESS&status=ONGOING,ENDED&genre=Drama&tag=classic&publisher=DC&author=Alan%20Moore,writer&sort=metadata.titleSort,asc`,
        needs: pageOf(MIHON_SERIES),
      },
      { path: `v1/collections/${collection}/series?search=&page=0&deleted=false`, needs: pageOf(MIHON_SERIES) },
      { path: 'v1/readlists?search=&page=0&deleted=false&sort=name,asc', needs: pageOf(READ_LIST) },
      { path: 'v1/books?search=&page=0&deleted=false&sort=createdDate,desc', needs: pageOf(MIHON_BOOK) },
      { path: `v1/series/${series}`, needs: MIHON_SERIES },
      { path: `v1/series/${series}/books?${all}`, needs: pageOf(MIHON_BOOK) },
      { path: `v1/readlists/${readList}`, needs: READ_LIST },
      { path: `v1/readlists/${readList}/books?${all}`, needs: pageOf(MIHON_BOOK) },
      { path: `v1/books/${book}/pages`, needs: [{ number: 'whole', fileName: 'text', mediaType: 'text' }] },
      { path: `v1/books/${book}/pages/1`, headers: { accept: 'image/*' } },
      { path: `v1/books/${book}/pages/1?convert=png`, headers: { accept: 'image/*' } },
      ...[`series/${series}`, `readlists/${readList}`, `books/${book}`].map((path) => ({ path: `v1/${path}/thumbnail` })),
    ],
  },
  {
    name: 'Mihon: the tracker, which sends only the cookie of the extension',
    by: 'cookie',
    requests: ({ series, readList }) => [
      { path: `v1/series/${series}`, needs: MIHON_SERIES },
      {
        path: `v2/series/${series}/read-progress/tachiyomi`,
        needs: { ...TACHIYOMI, lastReadContinuousNumberSort: 'number', maxNumberSort: 'number' },
      },
      { method: 'PUT', path: `v2/series/${series}/read-progress/tachiyomi`, body: { lastBookNumberSortRead: 1.0 }, status: 204 },
      { path: `v1/readlists/${readList}/read-progress/tachiyomi`, needs: { ...TACHIYOMI, lastReadContinuousIndex: 'whole' } },
      { method: 'PUT', path: `v1/readlists/${readList}/read-progress/tachiyomi`, body: { lastBookRead: 1 }, status: 204 },
    ],
  },
  {
    name: 'Komelia',
    by: 'basic',
    headers: { 'user-agent': 'Komelia/0.10.2' },
    requests: ({ library, series, book, next, epub, chapter, collection, readList }) => [
      { path: 'v2/users/me?remember-me=true', needs: USER },
      { path: 'v1/libraries', needs: [LIBRARY] },
      { path: `v1/libraries/${library}`, needs: LIBRARY },
      {
        ...{ method: 'POST', path: 'v1/series/list?page=0&size=20&sort=metadata.titleSort,asc', needs: pageOf(SERIES) },
        body: { condition: { allOf: [{ libraryId: is(library) }, { deleted: { operator: 'isFalse' } }] }, fullTextSearch: null },
      },
      {
        ...{ method: 'POST', path: 'v1/books/list?page=0&size=20&sort=metadata.releaseDate,desc', needs: pageOf(BOOK) },
        body: { condition: { releaseDate: { operator: 'isInTheLast', duration: 'PT720H' } } },
      },
      ...['books/latest', 'books/ondeck', 'books/duplicates'].map((path) => ({ path: `v1/${path}?page=0&size=20`, needs: pageOf(BOOK) })),
      ...['series/new', 'series/updated'].map((path) => ({ path: `v1/${path}?oneshot=false&deleted=false`, needs: pageOf(SERIES) })),
      { path: `v1/books/${book}`, needs: BOOK },
      { path: `v1/books/${book}/next`, needs: BOOK },
      { path: `v1/books/${next}/previous`, needs: BOOK },
      { path: `v1/books/${book}/previous`, status: 404 },
      { path: `v1/books/${book}/pages`, needs: [PAGE] },
      ...['pages/1', 'pages/1/thumbnail', 'thumbnail', 'thumbnails', 'file'].map((path) => ({ path: `v1/books/${book}/${path}` })),
      { path: `v1/books/${epub}/manifest`, needs: MANIFEST },
      { path: `v1/books/${epub}/positions`, needs: POSITIONS },
      { path: `v1/books/${epub}/resource/${chapter}` },
      { path: `v1/books/${epub}/progression`, status: 204 },
      { method: 'PUT', path: `v1/books/${epub}/progression`, body: progression(chapter, '2024-01-01T10:00:00.123456789Z'), status: 204 },
      { path: `v1/books/${epub}/progression`, needs: PROGRESSION },
      { method: 'PATCH', path: `v1/books/${book}/read-progress`, body: { page: 2 }, status: 204 },
      { method: 'DELETE', path: `v1/books/${book}/read-progress`, status: 204 },
      { path: `v1/series/${series}`, needs: SERIES },
      { path: `v1/series/${series}/collections`, needs: [COLLECTION] },
      { path: `v1/books/${book}/readlists`, needs: [READ_LIST] },
      { path: 'v1/collections?page=0&size=20', needs: pageOf(COLLECTION) },
      { path: `v1/collections/${collection}/series?unpaged=true`, needs: pageOf(SERIES) },
      ...[`collections/${collection}`, `readlists/${readList}`].flatMap((path) => [
        { path: `v1/${path}/thumbnails` },
        { path: `v1/${path}/thumbnail` },
      ]),
      {
        ...{ method: 'POST', path: 'v1/books/list?page=0&size=20', needs: pageOf(BOOK) },
        body: { condition: { poster: is({ type: 'GENERATED', selected: true }) } },
      },
      { path: `v1/readlists/${readList}/books?unpaged=true`, needs: pageOf(BOOK) },
      { path: 'v2/authors?search=moore&role=writer', needs: pageOf(AUTHOR) },
      ...[
        'authors/roles',
        'genres',
        'tags',
        'tags/book',
        'tags/series',
        'languages',
        'publishers',
        'age-ratings',
        'series/release-dates',
      ].map((path) => ({ path: `v1/${path}?library_id=${library}` })),
      { path: 'v1/sharing-labels' },
      ...['settings', 'announcements', 'client-settings/user/list'].map((path) => ({ path: `v1/${path}` })),
      { path: 'v2/users', needs: [USER] },
      { method: 'POST', path: 'v1/filesystem', body: { path: '' }, needs: { directories: [{ type: 'text', name: 'text', path: 'text' }] } },
      { method: 'PATCH', path: `v1/books/${book}/metadata`, body: { tags: ['classic'], tagsLock: false }, status: 204 },
    ],
  },
  {
    name: 'KMReader',
    by: 'token',
    requests: ({ library, series, book }) => [
      { path: 'v2/users/me', needs: { id: 'text', email: 'text', roles: 'texts' } },
      { path: 'v2/users/me/authentication-activity?page=0&size=20', needs: CONTENT({ dateTime: 'moment', success: 'flag' }) },
      { path: 'v1/libraries', needs: [NAMED] },
      {
        ...{ method: 'POST', path: 'v1/books/list?page=0&size=50&sort=createdDate,desc', needs: CONTENT(KMREADER_BOOK) },
        body: { condition: { allOf: [] } },
      },
      {
        ...{ method: 'POST', path: 'v1/series/list?page=0&size=50', needs: CONTENT(NAMED) },
        body: { condition: { libraryId: is(library) } },
      },
      { path: `v1/books/${book}`, needs: KMREADER_BOOK },
      { path: `v1/books/${book}/pages`, needs: [{ number: 'whole', fileName: 'text', mediaType: 'text' }] },
      { method: 'PATCH', path: `v1/series/${series}/metadata`, body: { summary: 'A story.', summaryLock: true }, status: 204 },
      { method: 'POST', path: `v1/books/${book}/analyze`, status: 202 },
      { method: 'POST', path: `v1/libraries/${library}/metadata/refresh`, status: 202 },
      { method: 'DELETE', path: 'v1/tasks' },
    ],
  },
  {
    name: 'Komic',
    by: 'basic',
    requests: ({ library, series, book, epub, chapter }) => [
      { path: 'v2/users/me', needs: USER },
      {
        ...{ method: 'POST', path: 'v1/series/list?page=0&size=20', needs: pageOf(SERIES) },
        body: {
          condition: { allOf: [{ anyOf: [{ readStatus: is('UNREAD') }, { readStatus: is('IN_PROGRESS') }] }, { libraryId: is(library) }] },
        },
      },
      {
        ...{ method: 'POST', path: 'v1/books/list?page=0&size=20&sort=metadata.releaseDate,desc', needs: pageOf(BOOK) },
        body: {
          condition: { allOf: [{ seriesId: is(series) }, { releaseDate: { operator: 'after', dateTime: '1985-01-01T00:00:00Z' } }] },
        },
      },
      { method: 'PATCH', path: `v1/books/${book}/read-progress`, body: { completed: false, page: 3 }, status: 204 },
      { method: 'PATCH', path: `v1/books/${book}/read-progress`, body: { completed: true }, status: 204 },
      { path: 'v1/books/ondeck?page=0&size=20', needs: pageOf(BOOK) },
      { path: `v1/collections?search=&library_id=${library}&unpaged=true&sort=name,asc`, needs: pageOf(COLLECTION) },
      { path: `v1/readlists?search=&library_id=${library}&unpaged=true&sort=name,asc`, needs: pageOf(READ_LIST) },
      { path: `v1/series/${series}/thumbnail` },
      { path: `v1/books/${epub}/manifest/epub`, needs: MANIFEST },
      { path: `v1/books/${epub}/resource/${chapter}` },
      { method: 'PUT', path: `v1/books/${epub}/progression`, body: progression(chapter, '2025-01-01T10:00:00Z'), status: 204 },
    ],
  },
  {
    name: 'Paperback 0.8',
    by: 'basic',
    requests: ({ series, book }) => [
      ...['genres', 'tags/series'].map((path) => ({ path: `v1/${path}` })),
      { path: 'v1/collections', needs: CONTENT(NAMED) },
      { path: 'v1/libraries', needs: [NAMED] },
      { path: `v1/series/${series}`, needs: MIHON_SERIES },
      { path: `v1/series/${series}/books?${all}`, needs: CONTENT(MIHON_BOOK) },
      { path: `v1/books/${book}/pages`, needs: [{ number: 'whole', mediaType: 'text' }] },
      { path: `v1/books/${book}/pages/1?convert=png` },
      { path: 'v1/series?page=0&size=40&search=watch', needs: CONTENT(MIHON_SERIES) },
      ...['books/ondeck', 'series/new', 'series/updated'].map((path) => ({ path: `v1/${path}?page=0&size=20&deleted=false` })),
    ],
  },
  {
    name: 'Paperback 0.9',
    by: 'key',
    requests: ({ library, collection, series, book }) => [
      {
        ...{ method: 'POST', path: 'v1/series/list?page=0&size=40&sort=titleSort', needs: pageOf(SERIES) },
        body: {
          condition: {
            allOf: [
              { genre: is('Horror', 'isNot') },
              { libraryId: is(library) },
              { collectionId: is(collection) },
              { tag: is('x', 'isNot') },
            ],
          },
        },
      },
      {
        ...{ method: 'POST', path: 'v1/books/list?unpaged=true', needs: pageOf(BOOK) },
        body: { condition: { seriesId: is(series), deleted: { operator: 'isFalse' }, mediaStatus: is('READY') } },
      },
      {
        method: 'POST',
        path: 'v1/books/list?sort=readProgress.readDate,desc',
        body: { condition: { readStatus: is('IN_PROGRESS') } },
        needs: pageOf(BOOK),
      },
      { path: 'v1/books/ondeck?deleted=false', needs: pageOf(BOOK) },
      { method: 'PATCH', path: `v1/books/${book}/read-progress`, body: { completed: true }, status: 204 },
      { path: `v2/series/${series}/read-progress/tachiyomi`, needs: TACHIYOMI },
    ],
  },
  {
    name: 'KOReader: hchsoon/komga.koplugin',
    by: 'key',
    requests: ({ series, book, epub, chapter }): AppRequest[] => [
      { path: 'v2/users/me', needs: USER },
      { method: 'POST', path: 'v1/series/list?size=1000', body: { fullTextSearch: '' }, needs: pageOf(SERIES) },
      { method: 'POST', path: 'v1/books/list?size=1000', body: { condition: { allOf: [{ seriesId: is(series) }] } }, needs: pageOf(BOOK) },
      { path: `v1/books/${epub}/manifest/epub`, headers: { accept: 'application/webpub+json' }, needs: MANIFEST },
      { path: `v1/books/${epub}/positions`, headers: { accept: 'application/vnd.readium.position-list+json' }, needs: POSITIONS },
      { method: 'PUT', path: `v1/books/${epub}/progression`, body: progression(chapter, '2025-06-01T10:00:00Z'), status: 204 },
      { method: 'PUT', path: `v1/books/${epub}/progression`, body: progression(chapter, '2025-06-01T10:00:00Z'), status: 409 },
      { path: `v1/books/${epub}/progression`, headers: { accept: 'application/vnd.readium.progression+json' }, needs: PROGRESSION },
      { path: `v1/books/${book}/file`, headers: { range: 'bytes=10-' }, status: 206 },
      { path: `v1/books/${book}/next`, needs: BOOK },
    ],
  },
  {
    name: 'KOReader: kokomga, akamuraasai, Eernie',
    by: 'basic',
    requests: ({ series, collection, book }) => [
      ...['v2', 'v1'].map((version) => ({ path: `${version}/users/me`, needs: USER })),
      { path: `v1/books?search=issue&series_id=${series}`, needs: pageOf(BOOK) },
      { path: 'v1/books?read_status=IN_PROGRESS&sort=readProgress.readDate,desc', needs: pageOf(BOOK) },
      { path: 'v1/series?search=&sort=metadata.titleSort,asc&size=500', needs: pageOf(SERIES) },
      { path: 'v1/series?unpaged=true', needs: pageOf(SERIES) },
      { path: `v1/series/${series}/books?unpaged=true&sort=metadata.numberSort,asc`, needs: pageOf(BOOK) },
      { path: `v1/collections/${collection}/series`, needs: pageOf(SERIES) },
      { path: 'v1/books/latest', needs: pageOf(BOOK) },
      { path: `v1/books/${book}/file` },
      { path: `v1/books/${book}/thumbnail` },
      { method: 'POST', path: 'v2/users/me/api-keys', body: { comment: 'KOReader' }, needs: { id: 'text', key: 'text', comment: 'text' } },
    ],
  },
  {
    name: 'n8n-nodes-komga',
    by: 'key',
    requests: ({ library, series, collection }) => [
      { path: 'v2/users/me', needs: USER },
      {
        method: 'POST',
        path: 'v1/books/list',
        body: { condition: { libraryId: is(library, 'Is'), deleted: { operator: 'IsFalse' } } },
        needs: pageOf(BOOK),
      },
      { method: 'POST', path: 'v1/series/list', body: { condition: { oneShot: { operator: 'IsTrue' } } }, needs: pageOf(SERIES) },
      {
        method: 'POST',
        path: 'v1/series/list/alphabetical-groups',
        body: { condition: { genre: is('Drama', 'IsNot') } },
        needs: GROUPS,
      },
      { method: 'POST', path: `v1/series/${series}/analyze`, status: 202 },
      ...['latest', 'new', 'updated'].map((path) => ({ path: `v1/series/${path}`, needs: pageOf(SERIES) })),
      { path: 'v1/series/release-dates' },
      { path: `v1/series/${series}/thumbnails` },
      { method: 'PATCH', path: `v1/series/${series}/metadata`, body: { status: 'ENDED', statusLock: true }, status: 204 },
      { method: 'POST', path: `v1/series/${series}/read-progress`, status: 204 },
      { method: 'DELETE', path: `v1/series/${series}/read-progress`, status: 204 },
      { method: 'PATCH', path: `v1/collections/${collection}`, body: { name: 'Renamed' }, status: 204 },
      { path: `v1/collections/${collection}`, needs: COLLECTION },
    ],
  },
]
