import { randomUUID } from 'node:crypto'
import { DOCS_FILES } from '#api/docs/files.ts'
import { jsonOf, type Sent, send } from '#bench/stall/input.ts'
import type { Planted } from '#bench/stall/plants.ts'
import { awaitIdle } from '#bench/stall/tasks.ts'
import { ADMIN, type RunningServer } from '#test/support/running-server.ts'

/** Brings about what a route needs to take its request. @returns what is other in this run */
type Prepare = (server: RunningServer, ids: Planted) => Promise<Partial<Sent> | undefined>

const NO_CONNECTION = 'there is nothing outside to ask'
const NOT_OFFERED = 'the plugin has no such thing'
const SLOW = 'a search this large takes longer than one may'

/** Routes that nothing can be taken by here, and why. */
export const REFUSALS: Record<string, string> = {
  'POST /api/v1/tasks/:taskId/retry': 'the task may end before it is cancelled',
  'POST /api/v1/tasks/:taskId/cancel': 'the task may end before it is cancelled',
  'POST /api/v1/duplicates/scan': 'the one before may still run',
  'DELETE /api/v1/duplicates/:duplicateId': 'every file is another one here',
  'POST /api/v1/auth/login (nobody)': 'nobody has this name',
  'GET /api/v1/books/:bookId/resource/:resourcePath*': 'a comic has no files of its own',
  'GET /koreader/syncs/progress/:document': 'no file has this hash',
  'PUT /koreader/syncs/progress': 'no file has this hash',
  'POST /koreader/users/create': 'an e-reader makes no accounts',
  'GET /:prefix/api/v1/books/:bookId/next': 'a series has one book here',
  'GET /:prefix/api/v1/books/:bookId/previous': 'a series has one book here',
  'POST /api/v1/books/list (largest body)': SLOW,
  'POST /api/v1/read-lists/import': SLOW,
  'POST /api/v1/templates/render (largest template over the largest series)': 'templates have a computing time of their own',
  'POST /api/v1/admin/plugins/:pluginId/rollback (to the version before)': 'as many versions are installed here as are kept',
  'POST /api/v1/setup/initialize': 'the server has its administrator',
  'POST /api/v1/auth/register': 'nobody has switched that on',
  'PUT /api/v1/user/password': 'a right one ends the session that asks, and wrong ones hold up the sign-in',
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

/** The plugin runs, for the server and for the one who asks. */
const enable: Prepare = async (server, { pluginId }) => {
  await send(server, 'POST', `/api/v1/admin/plugins/${pluginId}/enable`)
  await send(server, 'POST', `/api/v1/admin/plugins/${pluginId}/reset`)
  await send(server, 'POST', `/api/v1/user/plugins/${pluginId}/enable`)
  return undefined
}

const startTask = async (server: RunningServer, ids: Planted): Promise<string> => {
  await awaitIdle(server)
  const { taskId } = await server.post<{ taskId: string }>(`/api/v1/libraries/${ids.libraryId}/analyze`)
  return taskId
}

/** Applies the largest answer to a record of which nobody says anything, so that there is much to undo. */
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

/** One of the names that a series or book has. */
async function ofSeries(server: RunningServer, path: string): Promise<Partial<Sent>> {
  const found = Object.values(await server.get<object>(path)).find(Array.isArray) ?? []
  return { path: `${path}/${found[0]?.id ?? randomUUID()}` }
}

/** A name that a unique one is among. */
const named =
  (path: string, body: Record<string, unknown>): Prepare =>
  async () => ({ path, ...jsonOf({ ...body, name: `${randomUUID()} ${'Élan vital '.repeat(5)}`.trim() }) })

/** The pages of the documentation are there only while they are switched on. */
const openDocs: Prepare = async (server) => {
  await send(server, 'PUT', '/api/v1/admin/settings/apiDocs.enabled', { value: 'true' })
  return undefined
}

/** E-readers are let in by a setting; their user name is an API key, of which a user may have some only. */
const openReaderSync: Prepare = async (server) => {
  await send(server, 'PUT', '/api/v1/admin/settings/readerSync.enabled', { value: 'true' })
  readerKey ??= (await server.post<{ key: string }>('/api/v1/api-keys', { name: randomUUID() })).key
  return { headers: { 'content-type': 'application/json', 'x-auth-user': readerKey } }
}
let readerKey: string | undefined

/** The last call of the plugin: only some are kept. */
const lastCall =
  (rest: string): Prepare =>
  async (server, ids) => {
    await enable(server, ids)
    const body = { action: { metadata: { action: 'get', contentType: 'series', params: { externalId: 'largest' } } } }
    const { callId } = await server.post<{ callId: string }>(`/api/v1/plugins/${ids.pluginId}/execute`, body)
    return { path: `/api/v1/admin/plugins/${ids.pluginId}/calls/${callId}${rest}` }
  }

/** One more title or identifier of a series, which inputs before this one may have taken away. */
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

/** Something of its own to take away. */
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
    ].map((route) => [route, openReaderSync] as const),
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
        await send(server, 'POST', path, { name: 'To be taken away' })
        return await ofSeries(server, path)
      },
    ]),
  ),
  'DELETE /api/v1/user/want-to-read/:seriesId': async (server, { seriesIds }) =>
    void (await send(server, 'PUT', `/api/v1/user/want-to-read/${seriesIds[0]}`)) as undefined,
  'POST /api/v1/books/:bookId/metadata/applications/:applicationId/undo': applied('books'),
  'POST /api/v1/series/:seriesId/metadata/applications/:applicationId/undo': applied('series'),
  'POST /api/v1/user/plugins/:pluginId/enable': async (server, ids) =>
    void (await send(server, 'POST', `/api/v1/user/plugins/${ids.pluginId}/disable`)) as undefined,
  // One of them disables the plugin, another goes back to the version before.
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
