import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openPluginHost } from '#api/compose-plugin-host.ts'
import { pluginDiagnosticsRoutes } from '#api/rest/plugins/plugin-diagnostics.ts'
import { pluginMetricsView, pluginsSummary } from '#api/views/plugin-metrics-view.ts'
import { silentLog } from '#core/foundation/log.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { SECRETS } from '#test/support/plugin-hosts.ts'
import { openLoopback, pluginOf } from '#test/support/plugins.ts'
import { openTestServer } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

/** Logs, asks a service, keeps something, and does what its query says. */
const MAIN = `export default { metadata: { series: {
  async search({ query }, ctx) {
    ctx.log.info('searching for ' + query, { query, apiKey: 'hunter2' })
    if (query === 'loud') for (let at = 0; at < 150; at += 1) ctx.log.debug('line ' + at)
    if (query === 'bad') throw new Error('no\\u001b[31m luck, token=hunter2')
    await ctx.storage.set('last', query)
    const answer = await ctx.fetch('https://api.example.org/' + query)
    ctx.log.warn('answered ' + answer.status)
    return { results: [{ externalId: '1', title: query }] }
  },
  get: () => ({ externalId: '1' }) } } }`

async function openWatched(t: Test) {
  const way = await openLoopback(t, (request, response) => {
    response.statusCode = request.url === '/missing' ? 404 : 200
    response.end('{}')
  })
  const supervisor = findSupervisor()
  const server = await openTestServer(t, {
    routes: pluginDiagnosticsRoutes,
    services: ({ database }) => openPluginHost({ database, supervisor, egress: new HttpsEgress(way), log: silentLog, secrets: SECRETS }),
  })
  const host = server.services
  t.teardown(() => host.pluginCalls.close())
  const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(MAIN), { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  const search = async (query: string, more: object = {}) =>
    await host.pluginCalls.call({
      pluginId: plugin.id,
      method: 'metadata.series.search',
      input: { query, limit: 5, ...more },
      userId: null,
    })
  const ask = <T = Record<string, never>>(method: string, path: string, token = server.adminToken) =>
    server.request<T>(method, `/api/v1${path}`, { token })
  const path = `/admin/plugins/${plugin.id}`
  return { ...server, host, plugin, search, ask, path, of: <T = Record<string, never>>(rest: string) => ask<T>('GET', path + rest) }
}

t.test('how a plugin fares', async (t) => {
  const { of, ask, path, search, plugin, host, signUp, adminId } = await openWatched(t)
  const health = { pluginId: plugin.id, name: 'org.example.echo', enabled: true, disabledReason: null }
  t.match(await of('/health'), {
    status: 200,
    json: { health: { ...health, healthStatus: 'unknown', failureCount: 0, lastFailureAt: null, lastSuccessAt: null } },
  })
  t.match(await ask('GET', '/metrics/plugins'), {
    json: { plugins: [{ pluginName: 'org.example.echo', since: null, requestsTotal: 0, errorRatePct: 0 }], summary: { totalPlugins: 1 } },
  })
  await search('dune', { cookie: 'c' })
  await search('missing')
  await t.rejects(search('bad'))
  t.match(await of('/health'), {
    json: { health: { ...health, healthStatus: 'healthy', failureCount: 1, lastSuccessAt: String, lastFailureAt: String } },
  })
  t.match(await of('/failures'), {
    json: {
      failures: [
        {
          errorCode: 'thrown',
          errorMessage: 'no\\x1b[31m luck, token=[hidden]',
          method: 'metadata.series.search',
          requestSummary: '{"query":"bad","limit":5}',
          context: { version: '1.0.0', callId: String },
        },
      ],
      ...{ total: 1, windowFailures: 0, windowSeconds: 600, threshold: 3 },
    },
  })
  t.match(await ask('POST', `${path}/test`), { status: 200, json: { success: true, latencyMs: Number, message: /starts/ } })

  const metrics = await ask('GET', '/metrics/plugins')
  t.match(metrics.json, {
    plugins: [
      {
        ...{
          pluginId: plugin.id,
          healthStatus: 'healthy',
          requestsTotal: 3,
          requestsSuccess: 2,
          requestsFailed: 1,
          failureCounts: { thrown: 1 },
        },
        ...{ rateLimitRejections: 0, running: 0, lastSuccess: String, lastFailure: String, since: String },
        byMethod: {
          'metadata.series.search': { requestsTotal: 3, wallMs: { p50: Number, p95: Number, p99: Number }, cpuMs: { p50: Number } },
        },
        hosts: [{ host: 'api.example.org', outcomes: { 200: 1, 404: 1 }, bytes: Number }],
        hostCalls: { 'storage.set': 2, fetch: 2 },
      },
    ],
    summary: { totalPlugins: 1, healthyPlugins: 1, unhealthyPlugins: 0, totalRequests: 3, totalSuccess: 2, totalFailed: 1 },
  })
  t.ok(Math.abs((metrics.json as unknown as { plugins: { errorRatePct: number }[] }).plugins[0]!.errorRatePct - 100 / 3) < 0.01)

  const { calls } = (await of<{ calls: { callId: string; input?: unknown }[] }>('/calls')).json
  t.match(calls, [
    { code: 'thrown' },
    { code: 'ok' },
    { code: 'ok', hostCalls: { fetch: 1 }, fetches: [{ host: 'api.example.org', outcome: '200' }] },
  ])
  t.ok(
    calls.every((call) => !('input' in call)),
    'what was said is shown on demand',
  )
  const first = calls[2]!.callId
  t.match(await of(`/calls/${first}`), {
    json: { callId: first, input: { query: 'dune', cookie: '[hidden]' }, result: { results: [{ title: 'dune' }] }, isInputCut: true },
  })
  t.same((await of(`/calls/${first}/fixture`)).json, {
    ...{ method: 'metadata.series.search', input: { query: 'dune', limit: 5, cookie: '[hidden]' }, config: {}, isInputCut: true },
  })
  t.equal((await of(`/calls/${adminId}`)).status, 404)
  t.equal((await of(`/calls/${adminId}/fixture`)).status, 404)

  await host.pluginLifecycle.setEnabled(plugin.id, false)
  t.match(await of('/health'), { json: { health: { enabled: false, healthStatus: 'disabled' } } })
  const reader = await signUp({ username: 'rita' })
  for (const rest of ['/health', '/failures', '/logs', '/logs/live', '/calls', `/calls/${first}`])
    t.equal((await ask('GET', path + rest, reader.token)).status, 403, rest)
  t.equal((await ask('GET', '/metrics/plugins', reader.token)).status, 403)
  await host.pluginLifecycle.uninstall(plugin.id)
  for (const rest of ['/health', '/failures', '/logs', '/logs/live', '/calls', `/calls/${first}`, `/calls/${first}/fixture`])
    t.equal((await of(rest)).status, 404, rest)
  t.equal((await ask('POST', `${path}/test`)).status, 404)
  t.match(await ask('GET', '/metrics/plugins'), { json: { plugins: [], summary: { totalPlugins: 0, totalRequests: 0 } } })
})

t.test('a plugin that does not start says so when it is tried', async (t) => {
  const { host, ask } = await openWatched(t)
  const main = `let count = 0; export default { setup: () => { throw new Error('nothing to hand') }, metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: '1' }) } } }`
  const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(main, { id: 'org.example.bad' }), { userId: null })
  t.match(await ask('POST', `/admin/plugins/${plugin.id}/test`), { json: { success: false, message: /permissions/ } })
  await host.pluginLifecycle.consent(plugin.id, { sha256 }).catch(() => {})
  t.match(await ask('POST', `/admin/plugins/${plugin.id}/test`), { status: 200, json: { success: false } })
})

interface Page {
  lines: { id: number; level: string; message: string; data: string | null; callId: string | null }[]
  missed: number
  lastId: number | null
}

t.test('the lines of a plugin', async (t) => {
  const { of, search } = await openWatched(t)
  t.same((await of('/logs')).json, { lines: [], missed: 0, lastId: null })
  await search('dune')
  const { lines, lastId } = (await of<Page>('/logs')).json
  t.match(lines, [
    {
      level: 'info',
      message: 'searching for dune',
      data: '{"query":"dune","apiKey":"[hidden]"}',
      callId: String,
      method: 'metadata.series.search',
    },
    { level: 'warn', message: 'answered 200', data: null },
  ])
  t.equal(lines.length, 2)
  t.equal(lastId, lines[1]!.id)
  t.match((await of<Page>('/logs?level=warn')).json, { lines: [{ message: 'answered 200' }] })
  t.same((await of<Page>(`/logs?after=${lastId}`)).json, { lines: [], missed: 0, lastId })
  await search('loud')
  const page = (await of<Page>(`/logs?after=${lastId}&limit=100`)).json
  t.equal(page.lines.length, 100)
  const rest = (await of<Page>(`/logs?after=${page.lines.at(-1)!.id}&limit=500`)).json
  t.equal(rest.lines.length, 52, 'page after page, all of them')
  for (const bad of ['limit=0', 'limit=501', 'level=loud', 'after=-1', 'after=x']) t.equal((await of(`/logs?${bad}`)).status, 400, bad)
})

/** Opens the stream and gives what has come so far. */
async function openLive(options: { port: number; path: string; token: string; headers?: Record<string, string> }) {
  const request = http.get({
    ...{ host: '127.0.0.1', port: options.port, path: options.path },
    headers: { authorization: `Bearer ${options.token}`, ...options.headers },
  })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  response.on('error', () => {})
  const events = () =>
    text
      .split('\n\n')
      .slice(0, -1)
      .filter((block) => block.startsWith('id:'))
      .map((block) => ({
        id: Number(/id: (\d+)/.exec(block)?.[1]),
        line: JSON.parse(/data: (.*)/.exec(block)?.[1] ?? '') as Page['lines'][0],
      }))
  return {
    response,
    events,
    text: () => text,
    close: () => request.destroy(),
    async until(message: string) {
      for (let waited = 0; waited < 10_000; waited += 10) {
        if (events().some(({ line }) => line.message === message)) return
        await sleep(10)
      }
      throw new Error(`"${message}" did not come:\n${text}`)
    },
  }
}

t.test('lines as they are written, across a disconnect', async (t) => {
  const { port, adminToken, path, search, of, host, plugin } = await openWatched(t)
  const live = `/api/v1${path}/logs/live`
  await search('before')
  const first = await openLive({ port, path: live, token: adminToken })
  t.match(first.response.headers, { 'content-type': 'text/event-stream; charset=utf-8' })
  await search('dune')
  await first.until('answered 200')
  t.same(
    first.events().map(({ line }) => line.message),
    ['searching for dune', 'answered 200'],
    'beginning with the next line',
  )
  t.ok(first.events().every(({ id, line }) => id === line.id))
  const last = first.events()[0]!.id
  first.close()
  await search('between')
  const second = await openLive({ port, path: live, token: adminToken, headers: { 'last-event-id': String(last) } })
  await second.until('searching for between')
  await search('after')
  await second.until('searching for after')
  const ids = second.events().map(({ id }) => id)
  t.same(
    ids,
    ids.map((_, at) => last + 1 + at),
    'each line once, in order, none missing',
  )
  second.close()

  const warnings = await openLive({ port, path: `${live}?level=warn&after=${last - 3}`, token: adminToken })
  await warnings.until('answered 200')
  t.ok(warnings.events().every(({ line }) => line.level === 'warn'))
  warnings.close()
  const cookie = await openLive({
    port,
    path: `${live}?after=${last}`,
    token: 'x',
    headers: { authorization: '', cookie: `auth_token=${adminToken}` },
  })
  t.equal(cookie.response.statusCode, 200, 'as a page of a browser can')
  cookie.close()

  const slow = await openLive({ port, path: live, token: adminToken })
  slow.response.pause()
  for (let at = 0; at < 30; at += 1) await search('loud')
  t.equal((await of<Page>('/logs?limit=500')).json.lines.length, 500, 'others are not held up')
  slow.response.resume()
  await slow.until('answered 200')
  await host.pluginLifecycle.uninstall(plugin.id)
  await once(slow.response, 'end')
  t.pass('it ends with the plugin')
})

t.test('a plugin that goes just as somebody begins to listen', async (t) => {
  const { port, adminToken, path, host, plugin } = await openWatched(t)
  let isFound = false
  const get = host.plugins.get.bind(host.plugins)
  host.plugins.get = async (id) => {
    const found = await get(id)
    if (!isFound) await host.pluginLifecycle.uninstall(id)
    isFound = true
    return found
  }
  const live = await openLive({ port, path: `/api/v1${path}/logs/live`, token: adminToken })
  await once(live.response, 'end')
  t.equal(host.pluginLogs.lines(plugin.id, { limit: 1 }).lastId, null, 'nothing of it is left')
})

t.test('numbers of several plugins', async (t) => {
  const { host, plugin } = await openWatched(t)
  const installed = await host.plugins.get(plugin.id)
  const of = (healthStatus: 'healthy' | 'degraded' | 'quarantined' | 'revoked' | 'unknown') =>
    pluginMetricsView(installed, undefined, { healthStatus, lastFailureAt: new Date(0) })
  t.match(of('healthy'), { lastFailure: '1970-01-01T00:00:00.000Z', avgDurationMs: 0, byMethod: {} })
  t.match(pluginsSummary([of('healthy'), of('degraded'), of('quarantined'), of('revoked'), of('unknown')]), {
    ...{ totalPlugins: 5, healthyPlugins: 1, degradedPlugins: 1, unhealthyPlugins: 2, totalRequests: 0 },
  })
})
