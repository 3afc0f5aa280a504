import t from 'tap'
import { openTestHost } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(60_000)

/** Requests the URL that it is asked for. */
const CODE = `export default { metadata: { series: {
  async search({ query }, ctx) {
    const { status } = await ctx.fetch(query)
    return { results: [{ externalId: '1', title: String(status) }] }
  },
  get: () => ({ externalId: '1' }) } } }`
const manifestOf = (site: string, more: object = {}) => ({
  permissions: { networkFromConfig: ['site', 'other'] },
  config: { type: 'object', properties: { site: { type: 'string', default: site }, other: { type: 'string' } } },
  ...more,
})

t.test('a grant in the own network is for the hosts that were entered, and no update, switch or rollback moves it', async (t) => {
  const { host, way, run } = await openTestHost(t, (request, response) => {
    if (request.url === '/away') response.writeHead(302, { location: `http://router.lan:${way.port}/` })
    response.end()
  })
  const at = (name: string) => `http://${name}:${way.port}`
  const { id, call } = await run(CODE, manifestOf(at('nas.lan')))
  const search = (query: string) => call('metadata.series.search', { query, limit: 1 })
  const refused = (name: string) => t.rejects(search(at(name)), { message: /is not https|may not be|not a host/ }, name)
  const granted = async () => (await host.plugins.get(id)).privateOrigins

  await refused('nas.lan')
  await t.rejects(
    host.plugins.edit(id, { privateHosts: true }),
    { code: 'invalid_value', message: /never the defaults of an author, and there is none\. Enter it as site or other in config/ },
    'the default of an author, although it was consented to',
  )
  await host.plugins.edit(id, { config: { site: at('nas.lan') }, privateHosts: true })
  t.same(await granted(), [at('nas.lan')])
  await search(at('nas.lan'))
  await t.rejects(search(`${at('nas.lan')}/away`), { message: /is not https|not a host/ }, 'not through a redirect')

  const moved = await host.pluginLifecycle.install(pluginOf(CODE, manifestOf(at('router.lan'), { version: '1.1.0' })), { userId: null })
  await host.pluginLifecycle.consent(id, moved)
  await refused('router.lan')
  await search(at('nas.lan'))
  await host.plugins.edit(id, { config: { other: at('nas.lan') } })
  await search(at('nas.lan'))
  await refused('router.lan')
  const { config } = await host.plugins.get(id)
  for (const again of [{ privateHosts: true }, { config, privateHosts: true }]) await host.plugins.edit(id, again)
  t.same(await granted(), [at('nas.lan')], 'a client that sends back what it has read grants no default that came since')
  await refused('router.lan')

  await t.rejects(host.plugins.edit(id, { config: { site: at('printer.lan'), other: at('nas.lan') } }), {
    message: /config\/site: Plain http/,
  })
  await host.plugins.edit(id, { config: { site: at('printer.lan'), other: at('nas.lan') }, privateHosts: true })
  t.same((await granted()).toSorted(), [at('nas.lan'), at('printer.lan')])
  await host.plugins.edit(id, { config: { other: at('nas.lan') } })
  t.same(await granted(), [at('nas.lan')], 'a host that is not entered any more loses it')
  await t.rejects(host.plugins.edit(id, { config: { site: at('printer.lan') } }), { code: 'invalid_value' }, 'and does not get it back')
  await host.plugins.edit(id, { privateHosts: false })
  t.same(await granted(), [])
  await refused('nas.lan')
})

t.test(
  'a grant in the own network is for the hosts that are named with it, not for the default of an author or another that is entered',
  async (t) => {
    const { host, way, run } = await openTestHost(t)
    const at = (name: string) => `http://${name}:${way.port}`
    const text = (proposed?: string) => ({ type: 'string', ...(proposed !== undefined && { default: proposed }) })
    const { id, call } = await run(CODE, {
      permissions: { networkFromConfig: ['site', 'mirror', 'archive'] },
      config: { type: 'object', properties: { site: text(), mirror: text(at('api.author.example')), archive: text() } },
    })
    const granted = async () => (await host.plugins.get(id)).privateOrigins
    const archive = 'https://archive.example.org'
    await host.plugins.edit(id, { config: { archive, site: at('nas.lan') }, privateHosts: ['site'] })
    t.same(await granted(), [at('nas.lan')])
    await t.rejects(call('metadata.series.search', { query: at('api.author.example'), limit: 1 }), { message: /is not https|may not be/ })
    t.notOk(way.asked.some(({ host }) => host.startsWith('api.author.example')))
    await t.rejects(
      host.plugins.edit(id, { config: { archive }, privateHosts: ['mirror'] }),
      { code: 'invalid_value' },
      'nothing is entered as that',
    )
    t.same(await granted(), [at('nas.lan')], 'what is refused changes nothing')
    await host.plugins.edit(id, { config: { archive, site: at('nas.lan') }, privateHosts: true })
    t.same((await granted()).toSorted(), [at('nas.lan'), archive].toSorted(), 'all that stand in the request')
    await host.plugins.edit(id, { config: { archive, mirror: at('api.author.example') }, privateHosts: ['mirror'] })
    t.same((await granted()).toSorted(), [at('api.author.example'), archive].toSorted(), 'the same host, which a person has entered')
  },
)

t.test('of two administrators who change hosts and grants at the same time, neither gets what nobody entered', async (t) => {
  const { host, run } = await openTestHost(t)
  const { id } = await run(CODE, manifestOf(''))
  await t.rejects(host.plugins.edit(id, { privateHosts: true }), {
    code: 'invalid_value',
    message: /there is none\. Enter it as site or other in config/,
  })
  const names = Array.from({ length: 20 }, (_, index) => `http://nas${index}.lan`)
  await Promise.allSettled(
    names.flatMap((site, index) => [
      host.plugins.edit(id, { config: { site }, privateHosts: true }),
      host.plugins.edit(id, index % 2 === 0 ? { privateHosts: true } : { config: { other: 'https://a.example.org' } }),
    ]),
  )
  const { privateOrigins, config } = await host.plugins.get(id)
  const entered = Object.values(config) as string[]
  for (const origin of privateOrigins) t.ok(entered.includes(origin), `${origin} is granted, ${entered} entered`)
})
