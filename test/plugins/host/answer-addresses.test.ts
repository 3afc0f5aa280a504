import t from 'tap'
import { mapAddresses } from '#plugins/host/answer-addresses.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { someOf } from '#test/support/lane-size.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { makePicture } from '#test/support/pictures.ts'
import { agree, openPictures, openTestHost, SECRETS } from '#test/support/plugin-hosts.ts'
import { openLoopback } from '#test/support/plugins.ts'
import { PLUGIN_NUMBERS, STRANGE_ADDRESSES } from '#test/support/strange-addresses.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(540_000)

const PLACES = ['answers', 'requests', 'both'] as const

/** Plugin `number` names one address in every place that it has. */
function pluginOf(number: number) {
  const own = `n${number}.own.example.org`
  const form = STRANGE_ADDRESSES[number % STRANGE_ADDRESSES.length] as (typeof STRANGE_ADDRESSES)[number]
  const address = form(own, `n${number}.collector.example`)
  const place = PLACES[Math.floor(number / STRANGE_ADDRESSES.length) % PLACES.length]
  const main = `
const url = ${JSON.stringify(address)}
const named = ${place !== 'requests'}
const item = { externalId: '1', title: 'One', ...(named && { coverUrl: url, externalUrl: url }) }
const all = { ...item, ...(named && { externalLinks: [{ label: 'Here', url }] }) }
const ask = async (ctx) => { if (${place !== 'answers'}) await ctx.fetch(url).catch(() => {}) }
const series = {
  search: async (_, ctx) => { await ask(ctx); return { results: [item] } },
  get: async (_, ctx) => { await ask(ctx); return all },
  match: async (_, ctx) => { await ask(ctx); return { match: item, confidence: 1, alternatives: [item] } },
}
export default {
  setup: (ctx) => ask(ctx),
  metadata: { series, book: series },
  recommendations: { get: async (_, ctx) => { await ask(ctx); return { recommendations: [{ ...item, score: 1, reason: 'So.' }] } } },
}`
  const manifest = {
    ...{ id: `org.example.n${number}`, name: `Plugin ${number}` },
    capabilities: {
      'metadata.series': { methods: ['search', 'get', 'match'] },
      'metadata.book': { methods: ['search', 'get', 'match'] },
      recommendations: { methods: ['get'] },
    },
    permissions: { network: [{ host: own, reason: 'The service' }] },
  }
  return { own, address, main, manifest }
}

const KINDS = ['metadata.series', 'metadata.book'].flatMap((kind) => ['search', 'get', 'match'].map((name) => `${kind}.${name}`))

t.test('no plugin makes anybody contact a host that is not granted', async (t) => {
  const picture = await makePicture({ width: 20, height: 30 })
  const resolved: string[] = []
  const way = await openLoopback(t, (request, response) => {
    const { pathname, search } = new URL(request.url ?? '', 'https://any.example.org')
    if (pathname === '/to') response.setHeader('location', decodeURIComponent(search.slice(1))).writeHead(302)
    response.end(picture)
  })
  const { resolve } = way
  way.resolve = (host, signal) => {
    resolved.push(host)
    return resolve(host, signal)
  }
  const egress = new HttpsEgress(way)
  const { database, host, run } = await openTestHost(t, undefined, { supervisor: findSupervisor(), egress, secrets: SECRETS })
  const pictures = openPictures(database, host, egress)
  const { userId } = await addCaller(database, { role: 'reader' })
  let shown = 0
  for (const number of someOf('plugins', PLUGIN_NUMBERS, 12)) {
    const { own, address, main, manifest } = pluginOf(number)
    const { id } = await run(main, manifest)
    await agree(host, database, { pluginId: id, userId })
    const plugin: InstalledPlugin = await host.plugins.get(id)
    resolved.length = 0
    way.asked.length = 0
    const contacted = () =>
      [...new Set([...resolved, ...way.asked.map(({ host }) => host.replace(/:\d+$/, ''))])].filter((one) => one !== own)
    const tokens = new Set<string>()
    for (const method of [...KINDS, 'recommendations.get']) {
      const isOwn = method.startsWith('rec')
      const input = { query: 'One', title: 'One', externalId: '1', limit: 5 }
      const { result } = await host.pluginCalls.call({ pluginId: id, method, input, userId: isOwn ? userId : null })
      mapAddresses(method, result, (given) => {
        const { protocol, hostname, port, username } = new URL(given)
        t.same([protocol, hostname, port, username], ['https:', own, '', ''], `${method} of ${address}`)
        return given
      })
      pictures.show(method, result, { plugin, userId, ownId: null }, (token) => {
        tokens.add(token)
        return token
      })
    }
    for (const token of tokens) {
      shown += 1
      await pictures.get({ pluginId: id, userId }, token, new AbortController().signal).catch(() => {})
    }
    t.same(contacted(), [], address)
    const listed = host.pluginLogs.calls(id).flatMap(({ fetches }) => fetches)
    if (way.asked.length > 0)
      t.ok(
        listed.some((fetch) => fetch.host === own && fetch.outcome !== 'permission'),
        `${address} is on record`,
      )
    // What is not an address of the web by its first letters is dropped earlier.
    else if (/^https?:\/\//.test(address) && URL.canParse(address))
      t.ok(
        listed.some(({ outcome }) => outcome === 'permission'),
        `${address} was refused, on record`,
      )
  }
  t.ok(shown > 0, `${shown} pictures were shown`)
})
