import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openPluginHost } from '#api/compose-plugin-host.ts'
import { type Log, silentLog } from '#core/foundation/log.ts'
import { bundleProject } from '#plugins/devkit/bundling/bundle.ts'
import { packProject } from '#plugins/devkit/pack.ts'
import { readValidProject } from '#plugins/devkit/project.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { packPlugin } from '#plugins/packages/plugin-package.ts'
import { FAILING, lineOf } from '#test/support/failing-plugin.ts'
import { onlyFull, someOf } from '#test/support/lane-size.ts'
import { openTestHost, SECRETS } from '#test/support/plugin-hosts.ts'
import { openPluginFolder } from '#test/support/plugin-projects.ts'
import { manifestOf, openLoopback } from '#test/support/plugins.ts'
import { openTestServer } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(240_000)

interface Shown {
  callId: string
  context?: { callId: string }
  source: string | null
  code?: string
  cpuMs?: number
  message: string
}

/** A package of the failing plugin, as its author would pack it; `map` replaces the bundler's. */
async function packed(t: Parameters<typeof openPluginFolder>[0], { code = FAILING, map }: { code?: string; map?: string } = {}) {
  const project = await readValidProject(await openPluginFolder(t, { files: { 'src/main.ts': code } }))
  const bundle = await bundleProject(project)
  return packProject(project, map === undefined ? bundle : { ...bundle, map })
}

t.test('failures, calls and logs name the line of the author', async (t) => {
  const said: string[] = []
  const hear = (_fields: object, message: string) => void said.push(message)
  const log: Log = { debug: hear, info: hear, warn: hear, error: hear }
  const way = await openLoopback(t, (request, response) => {
    response.statusCode = request.url === '/missing' ? 404 : 200
    response.end('{}')
  })
  const server = await openTestServer(t, {
    services: ({ database }) =>
      openPluginHost({ database, supervisor: findSupervisor(), egress: new HttpsEgress(way), log, secrets: SECRETS }),
  })
  const { pluginCalls, pluginLifecycle } = server.services
  t.teardown(() => pluginCalls.close())
  const { plugin, sha256 } = await pluginLifecycle.install(await packed(t), { userId: null })
  await pluginLifecycle.consent(plugin.id, { sha256 })
  const token = server.adminToken
  const at = `/api/v1/admin/plugins/${plugin.id}`
  const shown = async () => {
    const { failures } = (
      await server.request<{ failures: (Shown & { errorCode: string; errorMessage: string })[] }>('GET', `${at}/failures`, { token })
    ).json
    const { calls } = (await server.request<{ calls: Shown[] }>('GET', `${at}/calls`, { token })).json
    const { lines } = (await server.request<{ lines: { message: string }[] }>('GET', `${at}/logs`, { token })).json
    return { failure: failures[0], call: calls[0], line: lines.at(-1)?.message }
  }
  const call = (query: string) =>
    pluginCalls.attempt({ pluginId: plugin.id, method: 'metadata.series.search', input: { query, limit: 1 }, userId: null })

  for (const [way, message] of [
    ['throw', 'thrown at once'],
    ['deep', "Cannot read properties of undefined (reading 'title')"],
    ['async', 'thrown later'],
    ['timer', 'thrown in a timer'],
  ] as const) {
    await pluginLifecycle.reset(plugin.id)
    await pluginLifecycle.setEnabled(plugin.id, true)
    t.match(await call(way), { failed: { code: 'unavailable' } }, way)
    const { failure, call: recorded, line } = await shown()
    t.match(failure, { errorCode: 'thrown', errorMessage: message, source: lineOf(way) }, way)
    t.match(recorded, { code: 'thrown', message, source: lineOf(way), callId: failure?.context?.callId }, way)
    for (const text of [line, said.at(-1)]) t.ok(text?.includes(message) && lineOf(way).test(text), `${way}: ${text}`)
  }

  await pluginLifecycle.reset(plugin.id)
  t.match(await call('spin'), { failed: { code: 'unavailable' } })
  const killed = await shown()
  const running = /CPU limit of 500 ms\. It was running spin\./
  t.match(killed.failure, { errorCode: 'cpu', errorMessage: running, source: lineOf('spin') })
  t.match(killed.call, { code: 'cpu', message: running, source: lineOf('spin') })
  t.ok(Number(killed.call?.cpuMs) >= 500, `at least its limit: ${killed.call?.cpuMs} ms`)
  for (const text of [killed.line, said.at(-1)]) t.ok(lineOf('spin').test(String(text)), String(text))
  const [, lines] = /It spent its time at (.*)\.$/.exec(killed.call?.message ?? '') ?? []
  if (lines !== undefined) t.match(lines, /^src\/main\.ts:\d+ \(\d+ %\)/)

  await pluginLifecycle.reset(plugin.id)
  await pluginLifecycle.setEnabled(plugin.id, true)
  t.match(await call('rejection'), { result: { results: [{ title: 'fine' }] } }, 'its answer is returned')
  const stray = { errorCode: 'unhandled', errorMessage: /nobody waits for me/, source: lineOf('rejection') }
  const { failure, call: recorded, line } = await shown()
  t.match(failure, stray)
  t.match(recorded, { code: 'ok', message: /nobody waits for me/, source: lineOf('rejection') })
  for (const text of [line, said.at(-1)]) t.ok(text?.includes('nobody waits for me') && lineOf('rejection').test(text), String(text))
  t.equal(server.services.plugins.healthOf(await server.services.plugins.get(plugin.id)), 'healthy', 'and it does not count as a failure')

  const before = said.length
  const quiet = (await shown()).line
  t.match(await call('kit'), { failed: { code: 'not_found' } })
  t.match((await shown()).failure, { errorCode: 'not_found', source: lineOf('kit') }, 'the line that threw it, not a line of the SDK')
  t.equal(said.length, before, 'what a service does not know is no failure of anybody')
  t.equal((await shown()).line, quiet)
  t.match(await call('fetch'), { failed: {} })
  t.match((await shown()).failure, { errorCode: 'permission', source: lineOf('fetch') }, 'also for a rejection by the server')
  for (const text of [(await shown()).line, said.at(-1)]) t.match(text, /metadata\.series\.search failed \(permission\)/)
  t.match(await call('missing'), { failed: {} })
  t.match((await shown()).failure, { errorCode: 'not_found', source: lineOf('missing') }, 'also for an error from a response')
  t.equal(said.length, before + 1)
})

t.test('a host call that fails after the answer, because nothing awaited it, is a warning with its place', async (t) => {
  const said: unknown[] = []
  const log = { ...silentLog, warn: (about: unknown, message: unknown) => void said.push([about, message]) } as typeof silentLog
  const { host, run, database } = await openTestHost(t, undefined, { log })
  const main = `export default { metadata: { series: {
  search({ query }, ctx) {
    if (query === 'quota') ctx.storage.set('big', 'x'.repeat(20000))
    if (query === 'host') ctx.http.json('https://elsewhere.example.com/')
    if (query === 'race') ctx.sleep(50_000)
    return { results: [] } },
  get: () => ({ externalId: '1' }) } } }`
  const { id, call } = await run(main, { permissions: { storage: { quotaKB: 8 } } })
  const stored = async () => await database('plugin_failures').orderBy('occurred_at').select('code', 'message', 'source')
  for (const [number, query] of ['race', 'quota', 'host'].entries()) {
    t.same(await call('metadata.series.search', { query, limit: 1 }), { results: [] })
    // Two minutes, for a busy machine.
    for (let tries = 0; tries < 6_000 && (await stored()).length < number; tries += 1) await sleep(20)
  }
  const failures = [
    {
      code: 'unhandled',
      message:
        'Unhandled promise rejection: ctx.storage.set failed after the answer, because nothing awaited it: The storage would have 20005 bytes; the limit is 8192.',
      source: 'main.js:3:40',
    },
    {
      code: 'unhandled',
      message:
        'Unhandled promise rejection: ctx.fetch failed after the answer, because nothing awaited it: https://elsewhere.example.com is not a host that this plugin may contact: permissions.network in its manifest.json does not name it.',
      source: 'main.js:4:36',
    },
  ]
  t.same(await stored(), failures, 'and what was not awaited and did not fail is none')
  const lines = failures.map(({ message, source }) => `${message} (${source})`)
  t.match(
    host.pluginLogs.lines(id, { limit: 10 }).lines,
    lines.map((message) => ({ level: 'error', message, method: 'metadata.series.search' })),
  )
  t.match(
    said.slice(-2),
    lines.map((message) => [{ code: 'unhandled' }, `org.example.echo: ${message}`]),
  )
})

t.test('a timeout mentions an earlier unhandled rejection', async (t) => {
  const { host, database } = await openTestHost(t)
  const folder = await openPluginFolder(t, { manifest: { limits: { wallMs: 1_000 } }, files: { 'src/main.ts': FAILING } })
  const project = await readValidProject(folder)
  const { plugin, sha256 } = await host.pluginLifecycle.install(packProject(project, await bundleProject(project)), { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  const input = { query: 'stuck', limit: 1 }
  let failure: { message: string } | undefined
  // A runner that gets no processor for a quarter of a second is killed before it can say which limit that was.
  for (let tries = 0; tries < 3 && !/1000 ms/.test(failure?.message ?? ''); tries++) {
    t.match(await host.pluginCalls.attempt({ pluginId: plugin.id, method: 'metadata.series.search', input, userId: null }), { failed: {} })
    failure = await database('plugin_failures').orderBy('occurred_at', 'desc').first()
  }
  t.match(failure, {
    code: 'timeout',
    message: /1000 ms.*nobody waits for me/,
    source: lineOf('rejection'),
  })
})

t.test('a plugin that does not start reports the line', async (t) => {
  const { host } = await openTestHost(t)
  const code = `${FAILING}\nconst table: string[] = []\nif (table[0]!.length > 0) table.push('')\n`
  const line = code.split('\n').findIndex((text) => text.startsWith('if (table')) + 1
  await t.rejects(host.pluginLifecycle.install(await packed(t, { code }), { userId: null }), {
    message: new RegExp(`main\\.js does not start: .*reading 'length'.*\\(src/main\\.ts:${line}:\\d+\\)`),
  })
})

t.test('with a damaged, hostile or missing map, messages name the line of main.js', async (t) => {
  const { host, database } = await openTestHost(t)
  const good = await bundleProject(await readValidProject(await openPluginFolder(t, { files: { 'src/main.ts': FAILING } })))
  const map = JSON.parse(good.map as string) as { sources: string[]; mappings: string }
  const change = (members: object) => JSON.stringify({ ...map, ...members })
  // Long enough to be parsed in a thread, if there is one.
  const long = 'A,'.repeat(40_000)
  const maps: Record<string, string | null> = {
    missing: null,
    empty: '',
    text: 'not a map',
    'a number': '5',
    'cut off': (good.map as string).slice(0, 200),
    deep: '['.repeat(100_000),
    'of parts': JSON.stringify({ version: 3, sections: [{ offset: { line: 0, column: 0 }, map }] }),
    'of another version': change({ version: 2 }),
    'without mappings': change({ mappings: null }),
    'with too long mappings': change({ mappings: 'A'.repeat(3 * 1024 * 1024) }),
    'with letters of no number': change({ mappings: '\u{1f600}'.repeat(100) }),
    'of numbers without an end': change({ mappings: 'g'.repeat(5_000) }),
    'that leads before the beginning': change({ mappings: map.mappings.replaceAll('A', 'D') }),
    'that leads to no file': change({ sources: [] }),
    'of files that are none': change({ sources: [null, 7, {}, [], null, null] }),
    'of nothing': change({ mappings: long }),
  }
  let number = 0
  for (const [name, text] of someOf('maps', Object.entries(maps), 3)) {
    const files = new Map([
      ['manifest.json', Buffer.from(JSON.stringify(manifestOf({ id: `org.example.map${++number}` })))],
      ['main.js', Buffer.from(good.code)],
    ])
    if (text !== null) files.set('main.js.map', Buffer.from(text))
    const { plugin, sha256 } = await host.pluginLifecycle.install(packPlugin(files), { userId: null })
    await host.pluginLifecycle.consent(plugin.id, { sha256 })
    await host.pluginCalls.attempt({
      pluginId: plugin.id,
      method: 'metadata.series.search',
      input: { query: 'throw', limit: 1 },
      userId: null,
    })
    const failure = await database('plugin_failures').where('plugin_id', plugin.id).first()
    t.match(
      failure,
      { code: 'thrown', message: 'thrown at once', source: /^main\.js:\d+:\d+$|^\S*(src\/main\.ts|plugin-sdk:)\S*:\d+:\d+$/ },
      name,
    )
    if (!name.startsWith('that leads before')) t.match(failure.source, /^main\.js:/, name)
    await host.pluginLifecycle.uninstall(plugin.id)
  }
})

t.test('a large map is parsed in a thread, and its names are escaped', onlyFull, async (t) => {
  const { host, database } = await openTestHost(t)
  // Lines that all differ, so that the map has an entry for each.
  const many = Array.from(
    { length: 6_000 },
    (_, at) => `export const x${at} = (a: number) => a * ${at} + ${JSON.stringify(randomBytes(4).toString('hex'))}.length`,
  )
  const code = `${FAILING}\n${many.join('\n')}\n;(globalThis as Record<string, unknown>)['all'] = [${many.map((_, at) => `x${at}`).join()}]\n`
  const project = await readValidProject(await openPluginFolder(t, { files: { 'src/main.ts': code } }))
  const bundle = await bundleProject(project)
  const { plugin, sha256 } = await host.pluginLifecycle.install(packProject(project, bundle), { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  t.ok(((await database('plugin_versions').first()).source_map as string).length > 100_000, 'it is long')
  const fail = (query: string) =>
    host.pluginCalls.attempt({ pluginId: plugin.id, method: 'metadata.series.search', input: { query, limit: 1 }, userId: null })
  // A failure waits five seconds for the thread, which a busy machine may need to start it: the first one has started it for the next.
  await fail('deep')
  await fail('throw')
  t.match(await database('plugin_failures').orderBy('occurred_at', 'desc').first(), { source: lineOf('throw') })

  const map = {
    ...JSON.parse(bundle.map as string),
    sources: JSON.parse(bundle.map as string).sources.map(() => '\u001b[31mred\u202e/main.ts'),
  }
  const odd = packProject(
    { ...project, manifestBytes: Buffer.from(JSON.stringify(manifestOf({ version: '2.0.0' }))) },
    { ...bundle, map: JSON.stringify(map) },
  )
  const second = await host.pluginLifecycle.install(odd, { userId: null })
  await host.pluginLifecycle.consent(plugin.id, second)
  await fail('throw')
  const { source } = await database('plugin_failures').orderBy('occurred_at', 'desc').first()
  t.match(source, /red.*main\.ts:\d+/)
  t.notMatch(source, /[\u001b\u202e]/)
})
