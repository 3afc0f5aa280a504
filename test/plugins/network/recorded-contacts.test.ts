import { readdir, readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { mapAddresses } from '#plugins/host/answer-addresses.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { bundledPlugins } from '#plugins/packages/bundled-plugins.ts'
import { linkUrlsOf } from '#plugins/packages/manifest.ts'
import { covers } from '#plugins/packages/permissions.ts'
import { someOf } from '#test/support/lane-size.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { makePicture } from '#test/support/pictures.ts'
import { agree, openPictures, openTestHost, SECRETS } from '#test/support/plugin-hosts.ts'
import { openLoopback } from '#test/support/plugins.ts'
import { PLUGIN_NUMBERS, STRANGE_ADDRESSES } from '#test/support/strange-addresses.ts'
import { findSupervisor } from '#test/support/supervisor.ts'
import { bodyOf, openReplay, readFixtures } from '../../../plugin-sdk/fixtures.ts'

t.setTimeout(540_000)

const BUNDLED = new URL('../../../plugins/bundled/', import.meta.url)
const jsonIn = async (folder: string): Promise<Record<string, unknown>[]> => {
  const place = new URL(`${folder}/`, BUNDLED)
  const names = await readdir(place).catch(() => [])
  return await Promise.all(names.sort().map(async (name) => JSON.parse(await readFile(new URL(name, place), 'utf8'))))
}

/** Every service answers from the fixtures of the bundled plugins, with a redirect to what stands after `/to?`, or with a picture. */
async function openWalk(t: Test) {
  const picture = await makePicture({ width: 20, height: 30 })
  const bundled = await bundledPlugins()
  const files = (await Promise.all(bundled.map(({ id }) => jsonIn(`${id}/fixtures`)))).flat()
  const replay = openReplay(readFixtures({ formatVersion: 1, exchanges: files.flatMap((file) => readFixtures(file).exchanges) }))
  const resolved: string[] = []
  const way = await openLoopback(t, (request, response) => {
    const host = (request.headers.host ?? '').replace(/:\d+$/, '')
    const url = new URL(request.url ?? '', `https://${host}`)
    const found = replay.next({ method: request.method ?? 'GET', url: url.href })?.response
    if (found) response.writeHead(found.status ?? 200, { 'content-type': 'application/json', ...found.headers }).end(bodyOf(found))
    else if (url.pathname === '/to') response.writeHead(302, { location: decodeURIComponent(url.search.slice(1)) }).end()
    else response.end(picture)
  })
  const { resolve } = way
  way.resolve = (host, signal) => {
    resolved.push(host)
    return resolve(host, signal)
  }
  const egress = new HttpsEgress(way)
  const opened = await openTestHost(t, undefined, { supervisor: findSupervisor(), egress, secrets: SECRETS })
  const { database, host } = opened
  const pictures = openPictures(database, host, egress)
  const { userId } = await addCaller(database, { role: 'reader' })

  /** Calls a function, and looks at each picture of its answer. Returns the hosts of all its addresses. */
  async function call(id: string, method: string, input: unknown): Promise<{ pictures: string[]; links: string[] }> {
    const isOwn = method.startsWith('recommendations.')
    const hosts = { pictures: [] as string[], links: [] as string[] }
    const answer = await host.pluginCalls.call({ pluginId: id, method, input, userId: isOwn ? userId : null }).catch(() => null)
    if (answer === null) return hosts
    mapAddresses(method, answer.result, (address, kind) => {
      hosts[`${kind}s`].push(new URL(address).hostname)
      return address
    })
    const tokens = new Set<string>()
    const ownId = isOwn ? await pictures.ownIdOf({ pluginId: id, userId }) : null
    const seen = { plugin: await host.plugins.get(id), userId, ownId }
    pictures.show(method, answer.result, seen, (token) => {
      tokens.add(token)
      return token
    })
    for (const token of tokens) await pictures.get({ pluginId: id, userId }, token, new AbortController().signal).catch(() => {})
    return hosts
  }
  /** The hosts that anybody contacted since the last time, by name server and by socket, beside those on record for the plugin. */
  const contacts = (id: string) => {
    const made = [...new Set([...resolved, ...way.asked.map((one) => one.host.replace(/:\d+$/, ''))])]
    const fetches = host.pluginLogs.calls(id).flatMap((record) => record.fetches)
    const recorded = new Set(fetches.filter(({ outcome }) => outcome !== 'permission').map((fetch) => fetch.host))
    resolved.length = 0
    way.asked.length = 0
    return { made, unrecorded: made.filter((one) => !recorded.has(one)) }
  }
  return { ...opened, bundled, userId, call, contacts }
}

t.test('the bundled plugins contact granted hosts only, and each contact is on record', async (t) => {
  const { bundled, host, database, userId, call, contacts } = await openWalk(t)
  let count = 0
  for (const { id: name, bytes } of bundled) {
    const { plugin, sha256 } = await host.pluginLifecycle.install(bytes, { userId: null })
    await host.pluginLifecycle.consent(plugin.id, { sha256 })
    await agree(host, database, { pluginId: plugin.id, userId })
    const { manifest } = await host.plugins.get(plugin.id)
    const hosts = (manifest.permissions?.network ?? []).map((one) => one.host)
    const links = [
      ...hosts,
      ...linkUrlsOf(manifest.capabilities).map(({ hostname }) => hostname),
      ...(manifest.capabilities.webLinks?.hosts ?? []),
    ]
    const within = (rules: readonly string[], found: readonly string[]) => found.filter((one) => !rules.some((rule) => covers(rule, one)))
    const calls = [...(await jsonIn(`${name}/calls`)), { method: 'recommendations.get', input: { limit: 5, exclude: [] } }]
    for (const { method, input } of calls) {
      const found = await call(plugin.id, String(method), input)
      t.same(within(hosts, found.pictures), [], `pictures of ${name} ${method}`)
      t.same(within(links, found.links), [], `links of ${name} ${method}`)
      const { made, unrecorded } = contacts(plugin.id)
      count += made.length
      t.same(within(hosts, made), [], `${name} ${method}`)
      t.same(unrecorded, [], `${name} ${method}: not on record`)
    }
  }
  t.ok(count >= 6, `${count} contacts`)
})

const MAIN = (address: string, other: string) => `
const [url, other] = ${JSON.stringify([address, other])}
const item = { externalId: '1', title: 'One', coverUrl: url, externalUrl: other }
const ask = async (ctx) => { for (const one of [url, other]) await ctx.fetch(one).catch(() => {}) }
export default {
  setup: ask,
  metadata: { series: {
    search: async (_, ctx) => { await ask(ctx); return { results: [item, { ...item, externalId: '2', coverUrl: other, externalUrl: url }] } },
    get: async (_, ctx) => { await ask(ctx); return { ...item, externalLinks: [{ label: 'Here', url }, { label: 'There', url: other }] } },
  } },
  recommendations: { get: async (_, ctx) => { await ask(ctx); return { recommendations: [{ ...item, score: 1, reason: 'So.' }] } } },
}`
const SITES = ['proposed by the author', 'entered', 'neither'] as const

t.test('no plugin with configured hosts and wildcards makes anybody contact another host', async (t) => {
  const { host, database, run, userId, call, contacts } = await openWalk(t)
  let count = 0
  const numbers = someOf('plugins', PLUGIN_NUMBERS, 12)
  for (const number of numbers) {
    const form = STRANGE_ADDRESSES[number % STRANGE_ADDRESSES.length] as (typeof STRANGE_ADDRESSES)[number]
    const site = SITES[Math.floor(number / STRANGE_ADDRESSES.length)]
    const [own, wild, to] = [`n${number}.own.example.org`, `n${number}.wild.example.org`, `n${number}.collector.example`]
    const origin = `https://${own}`
    const address = form(own, to)
    const { id } = await run(MAIN(address, form(`a.${wild}`, number % 2 === 0 ? to : wild)), {
      ...{ id: `org.example.n${number}`, name: `Plugin ${number}` },
      capabilities: { 'metadata.series': { methods: ['search', 'get'] }, recommendations: { methods: ['get'] } },
      permissions: { network: [{ host: `*.${wild}`, reason: 'The service' }], networkFromConfig: ['site'] },
      config: { type: 'object', properties: { site: { type: 'string', ...(site === 'proposed by the author' && { default: origin }) } } },
    })
    if (site === 'entered') await host.plugins.edit(id, { config: { site: origin } })
    await agree(host, database, { pluginId: id, userId })
    const isGranted = (one: string) => (one === own && site !== 'neither') || covers(`*.${wild}`, one)
    const input = { query: 'One', title: 'One', externalId: '1', limit: 5, exclude: [] }
    for (const method of ['metadata.series.search', 'metadata.series.get', 'recommendations.get']) {
      const found = await call(id, method, input)
      const what = `${method} of ${address}, whose host is ${site}`
      t.same(
        [...found.pictures, ...found.links].filter((one) => !isGranted(one)),
        [],
        what,
      )
      const { made, unrecorded } = contacts(id)
      count += made.length
      t.same(
        made.filter((one) => !isGranted(one)),
        [],
        what,
      )
      t.same(unrecorded, [], `${what}: not on record`)
    }
  }
  t.ok(count >= numbers.length, `${count} contacts`)
})
