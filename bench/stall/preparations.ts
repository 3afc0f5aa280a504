import { randomUUID } from 'node:crypto'
import { DOCS_FILES } from '#api/docs/files.ts'
import type { Fixtures } from '#bench/stall/fixtures.ts'
import { jsonOf, type Sent, send } from '#bench/stall/input.ts'
import { awaitIdle } from '#bench/stall/tasks.ts'
import { ADMIN, type RunningServer } from '#test/support/running-server.ts'

/** Creates what a route needs to accept its request. @returns the parts of the request that differ in this run */
type Prepare = (server: RunningServer, ids: Fixtures) => Promise<Partial<Sent> | undefined>

const NO_CONNECTION = 'no service can be reached'
const NOT_OFFERED = 'the plugin does not support it'
const SLOW = 'a search of this size exceeds the time limit'

/** Routes that refuse their requests here, and why. */
export const REFUSALS: Record<string, string> = {
  'GET /api/v1/plugins/:pluginId/pictures/:token': 'no answer named a picture',
  'POST /api/v1/tasks/:taskId/retry': 'the task may end before it is canceled',
  'POST /api/v1/tasks/:taskId/cancel': 'the task may end before it is canceled',
  'POST /api/v1/duplicates/scan': 'the previous search may still run',
  'DELETE /api/v1/duplicates/:duplicateId': 'this library has no equal files',
  'POST /api/v1/auth/login (unknown user)': 'no user has this name',
  'GET /api/v1/books/:bookId/resource/:resourcePath*': 'a comic has no files of its own',
  'GET /koreader/syncs/progress/:document': 'no file has this hash',
  'PUT /koreader/syncs/progress': 'no file has this hash',
  'POST /koreader/users/create': 'e-readers cannot create accounts',
  'GET /:prefix/api/v1/books/:bookId/next': 'a series has one book here',
  'GET /:prefix/api/v1/books/:bookId/previous': 'a series has one book here',
  'POST /api/v1/books/list (largest body)': SLOW,
  'POST /:prefix/api/v1/books/list (largest body)': SLOW,
  'POST /:prefix/api/v1/series/list (largest body)': SLOW,
  'POST /api/v1/read-lists/import': SLOW,
  'POST /api/v1/templates/render (largest template over the largest series)': 'templates have their own limit of computing time',
  'POST /api/v1/admin/plugins/:pluginId/rollback (to the previous version)': 'the maximum of versions is installed',
  'POST /api/v1/setup/initialize': 'the server has an administrator',
  'POST /api/v1/auth/register': 'registration is closed',
  'PUT /api/v1/user/password': 'a correct password ends this session, and wrong ones delay the sign-in',
  'GET /api/v1/user/plugins/oauth/callback': NO_CONNECTION,
  'POST /api/v1/user/plugins/:pluginId/oauth/start': NOT_OFFERED,
  'POST /api/v1/user/plugins/:pluginId/credentials': NOT_OFFERED,
  'POST /api/v1/user/plugins/:pluginId/sync': NOT_OFFERED,
  'GET /api/v1/user/plugins/:pluginId/sync/status': NOT_OFFERED,
  'GET /api/v1/admin/plugin-storage/:name': NOT_OFFERED,
  'DELETE /api/v1/admin/plugin-storage/:name': NOT_OFFERED,
  'POST /api/v1/admin/plugin-repositories': NO_CONNECTION,
  'POST /api/v1/admin/plugin-repositories/:repositoryId/refresh': NO_CONNECTION,
  'POST /api/v1/admin/plugin-repositories/:repositoryId/install': NO_CONNECTION,
}

/** Enables the plugin for the server and the user. */
const enable: Prepare = async (server, { pluginId }) => {
  await send(server, 'POST', `/api/v1/admin/plugins/${pluginId}/enable`)
  await send(server, 'POST', `/api/v1/admin/plugins/${pluginId}/reset`)
  await send(server, 'GET', '/api/v1/user/plugins')
  await send(server, 'POST', `/api/v1/user/plugins/${pluginId}/enable`)
  return undefined
}

const startTask = async (server: RunningServer, ids: Fixtures): Promise<string> => {
  await awaitIdle(server)
  const { taskId } = await server.post<{ taskId: string }>(`/api/v1/libraries/${ids.libraryId}/analyze`)
  return taskId
}

/** Applies the largest answer to a record without metadata, so that undoing it is the most work. */
const applied =
  (kind: 'books' | 'series'): Prepare =>
  async (server, ids) => {
    await enable(server, ids)
    const path = `/api/v1/${kind}/${(kind === 'books' ? ids.bookIds : ids.seriesIds).at(-1)}/metadata`
    await send(server, 'PUT', path, {})
    await send(server, 'POST', `${path}/apply`, { pluginId: ids.pluginId, externalId: 'largest', dryRun: false })
    const applications = Object.values(((await send(server, 'GET', `${path}/applications`)) ?? {}) as object).find(Array.isArray) ?? []
    const last = (applications as { id: string; undoneAt: string | null }[]).find(({ undoneAt }) => undoneAt === null)
    return { path: `${path}/applications/${last?.id ?? randomUUID()}/undo` }
  }

/** The first genre or tag of a series or book. */
async function ofSeries(server: RunningServer, path: string): Promise<Partial<Sent>> {
  const found = Object.values(await server.get<object>(path)).find(Array.isArray) ?? []
  return { path: `${path}/${found[0]?.id ?? randomUUID()}` }
}

/** A body with a unique name. */
const named =
  (path: string, body: Record<string, unknown>): Prepare =>
  async () => ({ path, ...jsonOf({ ...body, name: `${randomUUID()} ${'Élan vital '.repeat(5)}`.trim() }) })

/** Enables the documentation pages. */
const openDocs: Prepare = async (server) => {
  await send(server, 'PUT', '/api/v1/admin/settings/apiDocs.enabled', { value: 'true' })
  return undefined
}

/** Enables e-reader sync. The user name of e-readers is an API key, which is created once, because their number is limited. */
const openSync: Prepare = async (server) => {
  await send(server, 'PUT', '/api/v1/admin/settings/readerSync.enabled', { value: 'true' })
  syncKey ??= (await server.post<{ key: string }>('/api/v1/api-keys', { name: randomUUID() })).key
  return { headers: { 'content-type': 'application/json', 'x-auth-user': syncKey } }
}
let syncKey: string | undefined

/** A new call of the plugin: only the last ones are stored. */
const lastCall =
  (rest: string): Prepare =>
  async (server, ids) => {
    await enable(server, ids)
    const body = { action: { metadata: { action: 'get', contentType: 'series', params: { externalId: 'largest' } } } }
    const { callId } = await server.post<{ callId: string }>(`/api/v1/plugins/${ids.pluginId}/execute`, body)
    return { path: `/api/v1/admin/plugins/${ids.pluginId}/calls/${callId}${rest}` }
  }

/** One more title or identifier of a series, because earlier inputs may have deleted it. */
const added =
  (names: string, body: () => object): Prepare =>
  async (server, { seriesIds }) => {
    const path = `/api/v1/series/${seriesIds[0]}/${names}`
    const taken = Object.values(await server.get<object>(path)).find(Array.isArray) ?? []
    for (const { id } of taken.slice(-1)) await send(server, 'DELETE', `${path}/${id}`)
    const { id } = await server.post<{ id: string }>(path, body())
    return { path: `${path}/${id}` }
  }
const addedTitle = added('alternate-titles', () => ({ label: 'other', title: randomUUID() }))

/** A new record for the request to delete. */
const ofApp = async (server: RunningServer, list: string, own: string): Promise<Partial<Sent>> => {
  const { id } = await server.post<{ id: string }>(own, { name: randomUUID() })
  return { path: `${list}/${id}` }
}

export const PREPARATIONS: Record<string, Prepare> = {
  ...Object.fromEntries(DOCS_FILES.map(({ name }) => [`GET /api/docs${name === '' ? '' : `/${name}`}`, openDocs])),
  ...Object.fromEntries(
    [
      'POST /koreader/users/create',
      'GET /koreader/users/auth',
      'PUT /koreader/syncs/progress',
      'GET /koreader/syncs/progress/:document',
    ].map((route) => [route, openSync] as const),
  ),
  'GET /api/v1/admin/plugins/:pluginId/calls/:callId': lastCall(''),
  'GET /api/v1/admin/plugins/:pluginId/calls/:callId/fixture': lastCall('/fixture'),
  'PATCH /api/v1/series/:seriesId/alternate-titles/:titleId': addedTitle,
  'DELETE /api/v1/series/:seriesId/alternate-titles/:titleId': addedTitle,
  'DELETE /api/v1/series/:seriesId/external-ids/:externalIdId': added('external-ids', () => ({ source: 'mal', externalId: randomUUID() })),
  'POST /api/v1/auth/refresh': async (server) => {
    const { refreshToken } = await server.post<{ refreshToken: string }>('/api/v1/auth/login', ADMIN)
    return jsonOf({ refreshToken })
  },
  'DELETE /api/v1/auth/sessions/:sessionId': async (server) => {
    await server.post('/api/v1/auth/login', ADMIN)
    const { data } = await server.get<{ data: { id: string; isCurrent: boolean }[] }>('/api/v1/auth/sessions')
    return { path: `/api/v1/auth/sessions/${data.find(({ isCurrent }) => !isCurrent)?.id}` }
  },
  'GET /api/v1/user/preferences/:key': async (server) =>
    void (await send(server, 'PUT', '/api/v1/user/preferences/application.name', { value: 'x'.repeat(60_000) })) as undefined,
  'POST /api/v1/series/:seriesId/alternate-titles': async (server, { seriesIds, titleId }) => {
    const path = `/api/v1/series/${seriesIds[0]}/alternate-titles`
    const titles = Object.values((await server.get<object>(path)) ?? {}).find(Array.isArray) ?? []
    for (const { id } of titles.slice(48)) if (id !== titleId) await send(server, 'DELETE', `${path}/${id}`)
    return jsonOf({ label: 'x'.repeat(50), title: randomUUID().padEnd(500, ' vital') })
  },
  'POST /api/v1/series/:seriesId/tags': async (server, { seriesIds }) => {
    await send(server, 'PUT', `/api/v1/series/${seriesIds[0]}/tags`, { tags: [] })
    return jsonOf({ name: 'x'.repeat(100) })
  },
  'POST /api/v1/series/:seriesId/genres': async (server, { seriesIds }) => {
    await send(server, 'PUT', `/api/v1/series/${seriesIds[0]}/genres`, { genres: [] })
    return jsonOf({ name: 'x'.repeat(100) })
  },
  ...Object.fromEntries(
    ['genres', 'tags'].map((names): [string, Prepare] => [
      `POST /api/v1/books/:bookId/${names}`,
      async (server, { bookIds }) => {
        await send(server, 'PUT', `/api/v1/books/${bookIds[0]}/${names}`, { [names]: [] })
        return jsonOf({ name: 'x'.repeat(100) })
      },
    ]),
  ),
  'POST /api/v1/series/:seriesId/sharing-tags': async (server, { seriesIds, sharingTagIds }) =>
    void (await send(server, 'PUT', `/api/v1/series/${seriesIds[0]}/sharing-tags`, { sharingTagIds: sharingTagIds.slice(1) })) as undefined,
  'POST /api/v1/tasks/:taskId/cancel': async (server, ids) => ({ path: `/api/v1/tasks/${await startTask(server, ids)}/cancel` }),
  'POST /api/v1/tasks/:taskId/retry': async (server, ids) => {
    const id = await startTask(server, ids)
    await send(server, 'POST', `/api/v1/tasks/${id}/cancel`)
    await awaitIdle(server)
    return { path: `/api/v1/tasks/${id}/retry` }
  },
  'PATCH /api/v1/collections/:collectionId': (server, ids) =>
    named(`/api/v1/collections/${ids.collectionId}`, { summary: 'x'.repeat(4_000) })(server, ids),
  'PATCH /api/v1/read-lists/:readListId': (server, ids) =>
    named(`/api/v1/read-lists/${ids.readListId}`, { summary: 'x'.repeat(4_000) })(server, ids),
  'DELETE /api/v1/series/:seriesId/genres/:genreId': (server, { seriesIds }) => ofSeries(server, `/api/v1/series/${seriesIds[0]}/genres`),
  'DELETE /api/v1/series/:seriesId/tags/:tagId': (server, { seriesIds }) => ofSeries(server, `/api/v1/series/${seriesIds[0]}/tags`),
  'DELETE /:prefix/api/v1/collections/:collectionId': (server) => ofApp(server, '/komga/api/v1/collections', '/api/v1/collections'),
  'DELETE /:prefix/api/v1/readlists/:readListId': (server) => ofApp(server, '/komga/api/v1/readlists', '/api/v1/read-lists'),
  'DELETE /:prefix/api/v1/users/me/api-keys/:apiKeyId': (server) => ofApp(server, '/komga/api/v1/users/me/api-keys', '/api/v1/api-keys'),
  ...Object.fromEntries(
    [
      ['genres', 'genreId'],
      ['tags', 'tagId'],
    ].map(([names, id]): [string, Prepare] => [
      `DELETE /api/v1/books/:bookId/${names}/:${id}`,
      async (server, { bookIds }) => {
        const path = `/api/v1/books/${bookIds[0]}/${names}`
        await send(server, 'POST', path, { name: 'To be deleted' })
        return await ofSeries(server, path)
      },
    ]),
  ),
  'DELETE /api/v1/books/:bookId/annotations/:annotationId': async (server, { bookIds }) => {
    const path = `/api/v1/books/${bookIds[0]}/annotations/${randomUUID()}`
    await send(server, 'PUT', path, { kind: 'bookmark', locator: { href: 'x', type: 'text/html' } })
    return { path }
  },
  'DELETE /api/v1/user/readings/:readingId': async (server, { bookIds }) => {
    for (const currentPage of [2, 1]) await send(server, 'PUT', `/api/v1/books/${bookIds[0]}/progress`, { currentPage })
    const { data } = await server.get<{ data: { readingId: string }[] }>('/api/v1/user/readings')
    return { path: `/api/v1/user/readings/${data[0]?.readingId}` }
  },
  'DELETE /api/v1/user/want-to-read/:seriesId': async (server, { seriesIds }) =>
    void (await send(server, 'PUT', `/api/v1/user/want-to-read/${seriesIds[0]}`)) as undefined,
  'POST /api/v1/books/:bookId/metadata/applications/:applicationId/undo': applied('books'),
  'POST /api/v1/series/:seriesId/metadata/applications/:applicationId/undo': applied('series'),
  'POST /api/v1/user/plugins/:pluginId/enable': async (server, ids) =>
    void (await send(server, 'POST', `/api/v1/user/plugins/${ids.pluginId}/disable`)) as undefined,
  // Other inputs disable the plugin or roll it back.
  ...Object.fromEntries(
    [
      'POST /api/v1/plugins/:pluginId/execute',
      'POST /api/v1/admin/plugins/:pluginId/test',
      'POST /api/v1/user/plugins/:pluginId/disable',
      'PATCH /api/v1/user/plugins/:pluginId/config',
      'GET /api/v1/user/plugins/:pluginId',
      'GET /api/v1/user/plugins/:pluginId/tasks',
      'GET /api/v1/user/recommendations',
      'POST /api/v1/user/recommendations/refresh',
      'POST /api/v1/user/recommendations/:externalId/dismiss',
      'DELETE /api/v1/user/plugins/:pluginId',
      'POST /api/v1/libraries/:libraryId/jobs/:jobId/run-now',
      'POST /api/v1/libraries/:libraryId/jobs/:jobId/dry-run',
      'POST /api/v1/libraries/:libraryId/metadata/auto-match/task',
      ...['series/:seriesId', 'books/:bookId'].flatMap((record) =>
        ['preview', 'apply', 'auto-match', 'auto-match/task', 'search-title'].map((what) => `POST /api/v1/${record}/metadata/${what}`),
      ),
      'POST /api/v1/series/metadata/auto-match/task/bulk',
      'POST /api/v1/books/metadata/auto-match/task/bulk',
    ].map((route) => [route, enable] as const),
  ),
}
