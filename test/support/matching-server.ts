import type { RequestListener } from 'node:http'
import type { Test } from 'tap'
import { openPlugins } from '#api/compose-plugins.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { TaskRecord } from '#core/tasks/task-query.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { makePicture } from '#test/support/pictures.ts'
import { openLoopback, pluginOf } from '#test/support/plugins.ts'
import { openTestServer } from '#test/support/server.ts'
import { findRules, findSupervisor } from '#test/support/supervisor.ts'
import { until } from '#test/support/user-plugin-server.ts'
import { resizePicture } from '#workers/images/image.ts'

/** Has one work, as a series and as a book, and finds it by any title that begins with its title. Other titles trigger other behavior. */
export const PROVIDER = `
const work = { externalId: 'b1', externalUrl: 'https://api.example.org/b1', title: 'Berserk', summary: 'A swordsman & a sword.', publisher: 'Hakusensha',
  genres: ['Dark Fantasy'], externalIds: { other: 'x9' }, coverUrl: 'https://covers.example.org/b1.jpg' }
const functionsOf = (kind) => ({
  async search({ query }, ctx) {
    if (query === 'slow') await ctx.sleep(60_000)
    if (query === 'limited') throw Object.assign(new Error('wait'), { code: 'rate_limited' })
    if (query === 'rubbish') return { results: [{ nothing: 1 }] }
    if (query.endsWith('lazy')) await ctx.sleep(300)
    return { results: query.startsWith('Unknown') ? [] : [{ externalId: 'b1', title: query.startsWith('Berserk') ? query : 'Berserk', alternateTitles: ['Beruseruku'], year: 1989, relevance: 1 }] }
  },
  get({ externalId }) {
    if (externalId === 'bad') return { externalId, title: 5 }
    if (externalId !== 'b1') throw Object.assign(new Error('There is no ' + externalId), { code: 'not_found' })
    return kind === 'series' ? { ...work, status: 'ongoing', year: 1989 } : work
  },
})
export default { metadata: { series: functionsOf('series'), book: functionsOf('book') } }`

const METADATA = { methods: ['search', 'get'], idSource: 'berserkdb' }
export const PROVIDER_MANIFEST = {
  capabilities: { 'metadata.series': METADATA, 'metadata.book': METADATA },
  permissions: {
    network: [
      { host: 'api.example.org', reason: 'The service' },
      { host: 'covers.example.org', reason: 'Its covers' },
    ],
  },
  limits: { wallMs: 3_000 },
}

export const NOWHERE = '00000000-0000-4000-8000-000000000000'

/** The server with plugins and tasks, an enabled provider, and a library. Every external address returns a picture, or what `answer` answers. */
export async function openMatchingServer(
  t: Test,
  options: {
    settings?: Partial<Settings>
    answer?: RequestListener
    addresses?: Record<string, string[]>
    local?: ReadonlySet<string>
  } = {},
) {
  const folder = t.testdir()
  const server = await openTestServer(t, { settings: { dataFolder: folder, ...options.settings } })
  const { database, services, adminToken } = server
  const picture = await makePicture({ width: 60, height: 90 })
  const showPicture: RequestListener = (_request, response) => {
    response.setHeader('content-type', 'image/jpeg')
    response.end(picture)
  }
  const way = await openLoopback(t, options.answer ?? showPicture, options.addresses)
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  const plugins = await openPlugins({
    ...{ settings: services.settings, log: silentLog, database, tasks, egress: new HttpsEgress(way, options.local) },
    ...{ supervisor: findSupervisor(), rules: findRules() },
    drawCover: async (bytes) => {
      const drawn = { jpeg: Buffer.from(bytes), width: 60, height: 90, color: '#804020' }
      return { large: drawn, small: drawn }
    },
    resizeImage: resizePicture,
  })
  t.teardown(async () => {
    await tasks.stop()
    await plugins.close()
  })
  Object.assign(services, { tasks, ...plugins.services })

  /** Installs a plugin and grants its permissions; returns its id. */
  const install = async (main: string, manifest: Record<string, unknown>) => {
    const { plugin, sha256 } = await services.pluginLifecycle.install(pluginOf(main, manifest), { userId: null })
    await services.pluginLifecycle.consent(plugin.id, { sha256 })
    return plugin.id
  }
  const pluginId = await install(PROVIDER, PROVIDER_MANIFEST)
  const libraryId = await addLibrary(database)
  /** Adds a series with one book. */
  const add = async (title: string) => {
    const seriesId = await addSeries(database, { library_id: libraryId, title })
    return { seriesId, bookId: await addBook(database, { library_id: libraryId, series_id: seriesId, title: `${title} 1` }) }
  }
  const maintainer = await server.signUp({ username: 'mona', role: 'maintainer' })
  /** Sends a request as a maintainer, or as the user of another token. */
  const ask = <T = Record<string, never>>(method: string, path: string, body?: unknown, token = maintainer.token) =>
    server.request<T>(method, `/api/v1/${path}`, { token, ...(body !== undefined && { body }) })
  const ended = async (taskId: string) =>
    await until(async () => {
      const { json } = await ask<TaskRecord>('GET', `tasks/${taskId}`, undefined, adminToken)
      return json.status !== 'pending' && json.status !== 'processing' && json
    }, 'a task to end')
  return { ...server, way, tasks, pluginId, install, libraryId, add, maintainer, ask, ended }
}
