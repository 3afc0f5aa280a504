import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { Recommendations } from '#core/recommendations/recommendations.ts'
import type { Settings } from '#core/settings/settings.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { PluginProviders } from '#plugins/host/provider-client.ts'
import { UserPlugins } from '#plugins/host/user-plugins.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { openHostOn, openPictures } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { type Ask, openTestServer } from '#test/support/server.ts'

/** A plugin that recommends the response of its service, and reports dismissals to it. */
export const RECOMMENDER = `export default { recommendations: {
  async refresh({ limit }, ctx) {
    ctx.progress(0.5, 'Half of it')
    const { sleepMs, ...answer } = await ctx.http.json('https://api.example.org/list?limit=' + limit)
    if (sleepMs) await ctx.sleep(sleepMs)
    return answer
  },
  async dismiss({ externalId, reason }, ctx) { await ctx.fetch('https://api.example.org/dismiss?id=' + encodeURIComponent(externalId) + '&reason=' + reason) },
} }`

/** Its manifest, with these members replaced. */
export const RECOMMENDER_MANIFEST = {
  id: 'org.example.taste',
  name: 'Taste',
  capabilities: { recommendations: { methods: ['refresh', 'dismiss'], idSource: 'taste' } },
  userConfig: { type: 'object', properties: { maxRecommendations: { type: 'integer', minimum: 1, maximum: 100 } } },
}

/** The sign-in of its users. */
export const OAUTH = {
  type: 'oauth2',
  scope: 'user',
  bind: { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}' },
  oauth2: {
    authorizeUrl: 'https://login.example.org/authorize?app=1',
    tokenUrl: 'https://tokens.example.org/token',
    scopes: ['read', 'lists'],
  },
}

/** A server with plugins and tasks; a service of the test replaces every external host. */
export async function openUserPluginServer(
  t: Test,
  answer: RequestListener,
  options: { settings?: Partial<Settings>; addresses?: Record<string, string[]> } = {},
) {
  const server = await openTestServer(t, { ...(options.settings && { settings: options.settings }) })
  const { database } = server
  const { host, way } = await openHostOn(t, database, answer)
  const resolve = way.resolve
  way.resolve = async (name, signal) => options.addresses?.[name] ?? (await resolve(name, signal))
  const openNode = async () => {
    const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
    const userPlugins = new UserPlugins({ ...host, database, egress: new HttpsEgress(way), tasks })
    const providers = new PluginProviders({ ...host, database })
    const recommendations = new Recommendations({ database, providers, tasks, log: silentLog, rateLimitSeconds: 0.05 })
    const close = async () => {
      await tasks.stop()
      await recommendations.close()
    }
    t.teardown(close)
    return { services: { ...host, tasks, userPlugins, recommendations }, close }
  }
  const node = await openNode()
  Object.assign(server.services, node.services, { pluginPictures: openPictures(database, host, new HttpsEgress(way)) })
  await node.services.tasks.start()

  /** Installs a plugin and grants its permissions; returns its id. */
  const install = async (manifest: Record<string, unknown> = {}, main = RECOMMENDER) => {
    const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(main, { ...RECOMMENDER_MANIFEST, ...manifest }), {
      userId: null,
    })
    await host.pluginLifecycle.consent(plugin.id, { sha256 })
    return plugin.id
  }
  /** Sends a request as a user. */
  const as =
    (token: string) =>
    <T = Record<string, never>>(method: string, path: string, body?: unknown, ask: Ask = {}) =>
      server.request<T>(method, `/api/v1/user/${path}`, { token, ...(body !== undefined && { body }), ...ask })
  return { ...server, host, way, install, as, openNode, closeNode: node.close }
}

/** The whole body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

export const sendJson = (response: ServerResponse, value: unknown, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

/** Polls until there is a result. */
export async function until<Value>(ask: () => Promise<Value | null | undefined | false>, what: string, ms = 60_000): Promise<Value> {
  const deadline = performance.now() + ms
  for (;;) {
    const value = await ask()
    if (value) return value
    if (performance.now() > deadline) throw new Error(`Timeout while waiting for ${what}`)
    await sleep(50)
  }
}

export interface RecommendationView {
  externalId: string
  title: string
  score: number
  serviceSeriesId?: string
  inService: boolean
  tags: object[]
  codexSeriesId?: string
}
export interface RecommendationList {
  recommendations: RecommendationView[]
  pluginId: string
  pluginName: string
  cached: boolean
  generatedAt?: string
  taskId?: string
  taskStatus?: string
}

/** A recommendation of the service. */
export const item = (externalId: string, score: number, more: object = {}) => ({
  externalId,
  title: `Title ${externalId}`,
  score,
  reason: 'So.',
  ...more,
})

/** A service whose response tests can change, and the requests that it received. */
export async function openRecommendationServer(t: Test, options: Parameters<typeof openUserPluginServer>[2] = {}) {
  let answer: { status?: number; value: unknown; retryAfter?: number } = { value: { recommendations: [item('1', 0.5)] } }
  const asked: string[] = []
  const server = await openUserPluginServer(
    t,
    (request, response) => {
      asked.push(request.url ?? '')
      if (answer.retryAfter !== undefined) response.setHeader('retry-after', answer.retryAfter)
      sendJson(response, answer.value, answer.status)
    },
    options,
  )
  const { id: userId, token } = await server.signUp({ username: 'rita' })
  const rita = server.as(token)
  const pluginId = await server.install()
  await rita('GET', 'plugins')
  await rita('POST', `plugins/${pluginId}/enable`)
  const get = async (query = '') => (await rita<RecommendationList>('GET', `recommendations${query}`)).json
  const settled = async (query = '') => {
    await until(async () => (await get(query)).taskId === undefined, 'the task to end')
    return await get(query)
  }
  /** Refreshes the list, and returns the new one. */
  const renew = async (recommendations: unknown, query = '') => {
    answer = { value: { recommendations } }
    const { status } = await rita('POST', `recommendations/refresh${query}`)
    if (status !== 202) throw new Error(`refresh → ${status}`)
    return await settled(query)
  }
  const setAnswer = (next: typeof answer) => {
    answer = next
  }
  return { ...server, userId, token, rita, pluginId, get, settled, renew, setAnswer, asked }
}
