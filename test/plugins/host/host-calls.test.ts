import t from 'tap'
import { openTestHost } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(60_000)

/** Requests the URL that it is asked for, or that of its configuration. */
const CODE = `export default { metadata: { series: {
  async search({ query }, ctx) {
    const { status } = await ctx.fetch(query === 'configured' ? ctx.config.site : query)
    return { results: [{ externalId: '1', title: String(status) }] }
  },
  get: () => ({ externalId: '1' }) } } }`
const manifestOf = (site: object, more: object = {}) => ({
  auth: { type: 'apiKey', scope: 'server', bind: { hostFrom: 'site', header: 'X-Key' } },
  permissions: { networkFromConfig: ['site'] },
  config: { type: 'object', properties: { site: { type: 'string', ...site } } },
  ...more,
})
const at = (url: string) => ({ default: url })

t.test('a default host receives requests and credentials only after consent to it', async (t) => {
  const { host, way } = await openTestHost(t)
  const package1 = pluginOf(CODE, manifestOf(at('https://collect.example.net/v1')))
  const { plugin, sha256 } = await host.pluginLifecycle.install(package1, { userId: null })
  const { id } = plugin
  const search = (query: string) =>
    host.pluginCalls.call({ pluginId: id, method: 'metadata.series.search', input: { query, limit: 1 }, userId: null })
  const hosts = () => way.asked.splice(0).map((one) => `${one.host.split(':')[0]} ${one.headers['x-key'] ?? 'without'}`)

  t.equal(host.plugins.authOf(plugin)?.origin, undefined, 'before consent the default is not where credentials go')
  await t.rejects(host.plugins.edit(id, { credentials: { token: 'k1' } }), { code: 'invalid_value', message: /First enter the host/ })
  await host.pluginLifecycle.consent(id, { sha256 })
  t.same((await host.plugins.get(id)).granted?.hostDefaults, { site: 'https://collect.example.net' })
  await host.plugins.edit(id, { credentials: { token: 'k1' }, credentialsHost: 'https://collect.example.net' })
  await search('configured')
  t.same(hosts(), ['collect.example.net k1'])

  const moved = pluginOf(CODE, manifestOf(at('https://elsewhere.example.net'), { version: '1.1.0' }))
  const update = await host.pluginLifecycle.install(moved, { userId: null })
  t.match(update.waitsFor, {
    2: /^asks administrators for site .*it is at first: "https:\/\/elsewhere\.example\.net", before: "https:\/\/collect/,
  })
  t.equal((await host.plugins.get(id)).version, '1.0.0', 'the running version continues')
  await search('configured')
  t.same(hosts(), ['collect.example.net k1'])
  await host.pluginLifecycle.consent(id, update)
  t.equal(await host.plugins.authStatus(await host.plugins.get(id), null), 'missing', 'credentials do not move along')
  await t.rejects(search('configured'), { message: /given for another address than https:\/\/elsewhere/ })
  t.same(hosts(), [])
  await host.plugins.edit(id, { credentials: {} })
  await search('configured')
  t.same(hosts(), ['elsewhere.example.net without'])
  await t.rejects(search('https://collect.example.net/'), { message: /not a host that this plugin may contact/ })
})

t.test('an entered host replaces the default, and an update cannot replace it', async (t) => {
  const { host, way, run } = await openTestHost(t)
  const { id, call } = await run(CODE, manifestOf(at('https://default.example.net')))
  const search = (query: string) => call('metadata.series.search', { query, limit: 1 })
  await host.plugins.edit(id, { config: { site: 'https://own.example.net/api' }, credentials: { token: 'k' } })
  await search('configured')
  await t.rejects(search('https://default.example.net/'), { message: /not a host that this plugin may contact/ })
  const without = await host.pluginLifecycle.install(pluginOf(CODE, manifestOf({}, { version: '1.1.0' })), { userId: null })
  t.match(without.waitsFor, { 2: /no longer it is at first: "https:\/\/default\.example\.net/ })
  await host.pluginLifecycle.consent(id, without)
  await search('configured')
  const again = await host.pluginLifecycle.install(pluginOf(CODE, manifestOf(at('https://default.example.net'), { version: '1.2.0' })), {
    userId: null,
  })
  t.ok(again.waitsFor.length > 0, 'and asks when it returns')
  await host.plugins.edit(id, { config: {}, credentials: {} })
  t.equal(host.plugins.authOf(await host.plugins.get(id))?.origin, undefined, 'the running version has no default')
  t.same(
    way.asked.map((one) => one.host.split(':')[0]),
    ['own.example.net', 'own.example.net'],
  )
  for (const site of ['https://*.com', 'https://*.example.net', 'https://%2A.github.io'])
    await t.rejects(host.plugins.edit(id, { config: { site } }), { code: 'invalid_value', message: /is not one host/ }, site)
  await t.rejects(host.plugins.edit(id, { config: { site: 'http://*.lan' }, privateHosts: true }), { message: /is not one host/ })
})
