import t from 'tap'
import { operationName } from '#api/docs/openapi-names.ts'
import { routes } from '#api/routes.ts'

const nameOf = (method: string, path: string, more: { upload?: unknown; mediaTypes?: string[] } = {}) =>
  operationName({ kind: 'endpoint', method, path, ...more } as Parameters<typeof operationName>[0])

t.test('a name says what is done and to what', async (t) => {
  for (const [route, name] of [
    ['GET /api/v1/books', 'listBooks'],
    ['GET /api/v1/books/:bookId', 'getBook'],
    ['GET /api/v1/books/:bookId/pages', 'listBookPages'],
    ['GET /api/v1/books/:bookId/pages/:pageNumber', 'getBookPage'],
    ['PATCH /api/v1/books/:bookId/metadata', 'patchBookMetadata'],
    ['PUT /api/v1/books/bulk/metadata/locks', 'bulkPutBookMetadataLocks'],
    ['POST /api/v1/books/list', 'filterBooks'],
    ['POST /api/v1/libraries', 'createLibrary'],
    ['POST /api/v1/libraries/:libraryId/scan', 'scanLibrary'],
    ['POST /api/v1/libraries/:libraryId/scan/cancel', 'cancelLibraryScan'],
    ['DELETE /api/v1/series/:seriesId/purge-deleted', 'purgeDeletedBooksOfSeries'],
    ['GET /api/v1/series/:seriesId/download', 'downloadSeries'],
    ['GET /api/v1/series/recently-added', 'listRecentlyAddedSeries'],
    ['POST /api/v1/books/bulk/read', 'bulkMarkBooksRead'],
    ['POST /api/v1/books/:bookId/thumbnail/generate', 'generateBookThumbnail'],
    ['GET /api/v1/metrics/tasks/history', 'getTaskMetricsHistory'],
    ['DELETE /api/v1/tasks/purge', 'purgeTasks'],
  ] as const) {
    const [method = '', path = ''] = route.split(' ')
    t.equal(nameOf(method, path), name, route)
  }
})

t.test('what has a list of its own is added and removed, what belongs to a record is made and deleted', async (t) => {
  t.equal(nameOf('POST', '/api/v1/series/:seriesId/genres'), 'addSeriesGenre')
  t.equal(nameOf('DELETE', '/api/v1/collections/:collectionId/series/:seriesId'), 'removeCollectionSeries')
  t.equal(nameOf('POST', '/api/v1/books/bulk/tags'), 'bulkChangeBookTags')
  t.equal(nameOf('POST', '/api/v1/series/:seriesId/external-links'), 'createSeriesExternalLink')
  t.equal(nameOf('DELETE', '/api/v1/genres/:genreId'), 'deleteGenre')
})

t.test('what belongs to the caller, files, streams of events, interfaces of others', async (t) => {
  t.equal(nameOf('GET', '/api/v1/user/ratings'), 'listMyRatings')
  t.equal(nameOf('PUT', '/api/v1/user/preferences/:key'), 'putMyPreference')
  t.equal(nameOf('POST', '/api/v1/books/:bookId/cover', { upload: {} }), 'uploadBookCover')
  t.equal(nameOf('GET', '/api/v1/tasks/stream', { mediaTypes: ['text/event-stream'] }), 'streamTasks')
  t.equal(nameOf('GET', '/api/v1/admin/plugins/:pluginId/logs/live', { mediaTypes: ['text/event-stream'] }), 'streamPluginLogs')
  t.equal(nameOf('GET', '/opds/v1/catalog'), 'opdsGetCatalog')
  t.equal(nameOf('GET', '/opds/v1/catalog/libraries/:libraryId/series'), 'opdsListLibrarySeries')
  t.equal(nameOf('GET', '/opds/v2/series/:seriesId'), 'opds2GetSeries')
  t.equal(nameOf('POST', '/:prefix/api/v1/series/list'), 'komgaFilterSeries')
  t.equal(nameOf('PATCH', '/:prefix/api/v1/books/:bookId/read-progress'), 'komgaPatchBookReadProgress')
  t.equal(nameOf('PUT', '/koreader/syncs/progress'), 'koreaderPutSyncProgress')
})

t.test('every route has a name of its own, which begins with a word for what is done', async (t) => {
  const owners = new Map<string, string>()
  for (const route of routes) {
    const name = operationName(route)
    const address = `${route.method} ${route.path}`
    t.match(name, /^[a-z][A-Za-z0-9]+$/, address)
    if (owners.has(name))
      t.fail(`${address} and ${owners.get(name)} are both called ${name}: name one of them in NAMES of api/docs/openapi-names.ts`)
    owners.set(name, address)
    if (route.method === 'GET') t.match(name, /^(get|list|stream|download|browse|search|finish|opds|komga|koreader)/, address)
  }
})
