import { randomUUID } from 'node:crypto'
import { jsonOf, type Sent, send } from '#bench/stall/input.ts'
import type { Planted } from '#bench/stall/plants.ts'
import { awaitIdle } from '#bench/stall/tasks.ts'
import { ADMIN, type RunningServer } from '#test/support/running-server.ts'

/** Brings about what a route needs to take its request. @returns what is other in this run */
type Prepare = (server: RunningServer, ids: Planted) => Promise<Partial<Sent> | undefined>

const NO_CONNECTION = 'there is nothing outside to ask'
const NOT_OFFERED = 'the plugin has no such thing'

/** Routes that nothing can be taken by here, and why. */
export const REFUSALS: Record<string, string> = {
  'POST /api/v1/tasks/:taskId/retry': 'the task may end before it is cancelled',
  'POST /api/v1/tasks/:taskId/cancel': 'the task may end before it is cancelled',
  'POST /api/v1/auth/login (nobody)': 'nobody has this name',
  'POST /api/v1/setup/initialize': 'the server has its administrator',
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

/** One of the names that a series has. */
async function ofSeries(server: RunningServer, path: string): Promise<Partial<Sent>> {
  const found = Object.values(await server.get<object>(path)).find(Array.isArray) ?? []
  return { path: `${path}/${found[0]?.id ?? randomUUID()}` }
}

/** A name that a unique one is among. */
const named =
  (path: string, body: Record<string, unknown>): Prepare =>
  async () => ({ path, ...jsonOf({ ...body, name: `${randomUUID()} ${'Élan vital '.repeat(5)}`.trim() }) })

export const PREPARATIONS: Record<string, Prepare> = {
  'POST /api/v1/auth/refresh': async (server) => {
    const { refreshToken } = await server.post<{ refreshToken: string }>('/api/v1/auth/login', ADMIN)
    return jsonOf({ refreshToken })
  },
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
