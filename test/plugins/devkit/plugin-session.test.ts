import t from 'tap'
import { PluginSession, type SessionOptions } from '#plugins/devkit/plugin-session.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'
import { manifestOf, openLoopback } from '#test/support/plugins.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(120_000)

const secret = (more: object = {}) => ({ type: 'string', format: 'password', ...more })
const settings = {
  type: 'object',
  properties: { kept: secret(), handed: secret({ 'x-receives-password': true }), word: { type: 'string', default: 'open' } },
}
const MAIN = `export default { recommendations: {
  get: (_, ctx) => ({ recommendations: [{ externalId: '1', title: JSON.stringify([ctx.config, ctx.userConfig]), score: 1, reason: 'It is here.' }] }),
}, metadata: { series: {
  search: (_, ctx) => ({ results: [{ externalId: '1', title: JSON.stringify([ctx.config, ctx.userConfig]), coverUrl: 'https://collector.example/c.jpg?d=1' }] }),
  get: () => ({ externalId: '1',
    externalUrl: 'https://links.example.org/1',
    coverUrl: 'https://api.example.org/1.jpg',
    externalLinks: [{ label: 'Here', url: 'https://links.example.org/2' }, { label: 'There', url: 'https://collector.example/2' }],
  }),
} } }`

/** Functions that run for nobody, and one that runs for a user. */
const FOR_BOTH = { 'metadata.series': { methods: ['search', 'get'] }, recommendations: { methods: ['get'] } }
/** Calls of both, which return what the code has put into a title. */
function titlesOf(session: PluginSession) {
  const titleIn = async (method: string, input: object, list: string) => {
    const { answer } = await session.call(method, input)
    return (answer as Record<string, [{ title: string }]>)[list]?.[0].title ?? ''
  }
  return {
    search: () => titleIn('metadata.series.search', { query: 'x', limit: 1 }, 'results'),
    recommend: () => titleIn('recommendations.get', { limit: 1, exclude: [] }, 'recommendations'),
  }
}

async function open(change: Partial<SessionOptions> = {}) {
  const way = await openLoopback(t, (_request, response) => response.end('{}'))
  const capabilities = { ...FOR_BOTH, webLinks: { hosts: ['links.example.org'] } }
  const manifest = manifestOf({ capabilities, config: settings, userConfig: settings }) as unknown as Manifest
  const session = new PluginSession(findSupervisor(), { manifest, code: MAIN }, { egress: new HttpsEgress(way), ...change })
  t.teardown(() => session.close())
  return session
}

t.test('the tool hands no secret to code whose record does not say that it receives one, as a server', async (t) => {
  const given = { kept: 'hunter2-kept', handed: 'hunter2-handed' }
  const session = await open({ config: given, userConfig: given })
  const { search, recommend } = titlesOf(session)
  const received = { handed: 'hunter2-handed', word: 'open' }
  t.same(JSON.parse(await recommend()), [received, received])
  t.same(JSON.parse(await search()), [received, {}], 'of users nothing at all when it runs for nobody')
  const wrong = await open({ config: { word: 5 } })
  await t.rejects(wrong.call('metadata.series.search', { query: 'x', limit: 1 }), { code: 'config', message: /word/ })
})

t.test('calls for nobody and calls for a user share neither storage nor variables, as on a server', async (t) => {
  const code = `let calls = 0
    const note = async (name, ctx) => {
      calls += 1
      await ctx.storage.set(name, calls)
      return JSON.stringify({ calls, kept: await ctx.storage.list(), settings: ctx.userConfig })
    }
    export default {
      setup: (ctx) => ctx.storage.set('setup', true),
      metadata: { series: { search: async (_, ctx) => ({ results: [{ externalId: '1', title: await note('search', ctx) }] }) } },
      recommendations: { get: async (_, ctx) => ({
        recommendations: [{ externalId: '1', title: await note('get', ctx), score: 1, reason: 'It is here.' }] }) },
    }`
  const manifest = manifestOf({ capabilities: FOR_BOTH, userConfig: settings }) as unknown as Manifest
  const options = { egress: { fetch: () => new Promise<never>(() => {}) }, storage: { given: 1 } }
  const session = new PluginSession(findSupervisor(), { manifest, code }, options)
  t.teardown(() => session.close())
  const { search, recommend } = titlesOf(session)
  t.same(JSON.parse(await search()), { calls: 1, kept: ['given', 'search', 'setup'], settings: {} })
  t.same(session.storage(), { given: 1, search: 1, setup: true })
  t.same(JSON.parse(await recommend()), { calls: 1, kept: ['get', 'given', 'setup'], settings: { word: 'open' } })
  t.same(session.storage(), { given: 1, get: 1, setup: true })
  t.match(JSON.parse(await search()), { calls: 2, kept: ['given', 'search', 'setup'] })
  session.close()
  t.match(JSON.parse(await search()), { calls: 1, kept: ['given', 'search', 'setup'] }, 'a new sandbox has the same storage')
})

t.test('the state of credentials is the one that a server reports, and users have theirs only in calls for them', async (t) => {
  const code = `const status = async (ctx) => {
      await ctx.fetch('https://api.example.org/')
      return await ctx.auth.status()
    }
    export default {
      metadata: { series: { search: async (_, ctx) => ({ results: [{ externalId: '1', title: await status(ctx) }] }) } },
      recommendations: { get: async (_, ctx) => ({
        recommendations: [{ externalId: '1', title: await status(ctx), score: 1, reason: 'It is here.' }] }) },
    }`
  const auth = { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'X-Key' } }
  const given = { credentials: { token: 'k3y' } }
  const cases: [asks: object | undefined, options: Partial<SessionOptions>, states: [string, string], sent: (string | undefined)[]][] = [
    [undefined, {}, ['none', 'none'], [undefined, undefined]],
    [{ ...auth, type: 'none' }, given, ['none', 'none'], [undefined, undefined]],
    [auth, {}, ['missing', 'missing'], [undefined, undefined]],
    [auth, { credentials: {} }, ['missing', 'missing'], [undefined, undefined]],
    [auth, given, ['connected', 'connected'], ['k3y', 'k3y']],
    [auth, { ...given, auth: 'expired' }, ['expired', 'expired'], ['k3y', 'k3y']],
    [{ ...auth, scope: 'user' }, given, ['missing', 'connected'], [undefined, 'k3y']],
    [{ ...auth, scope: 'user' }, { auth: 'connected' }, ['missing', 'connected'], [undefined, undefined]],
  ]
  for (const [asks, options, states, sent] of cases) {
    const way = await openLoopback(t, (_request, response) => response.end('{}'))
    const manifest = manifestOf({ capabilities: FOR_BOTH, auth: asks }) as unknown as Manifest
    const session = new PluginSession(findSupervisor(), { manifest, code }, { egress: new HttpsEgress(way), ...options })
    const { search, recommend } = titlesOf(session)
    const said = JSON.stringify([asks, options])
    t.same([await search(), await recommend()], states, said)
    t.same(
      way.asked.map(({ headers }) => headers['x-key']),
      sent,
      said,
    )
    session.close()
  }
})

t.test('the tool leaves out addresses of hosts that are not declared, as a server, and says which', async (t) => {
  const session = await open()
  const searched = await session.call('metadata.series.search', { query: 'x', limit: 1 })
  t.match(searched.answer, { results: [{ coverUrl: null }] })
  t.match(searched.trace.log, [
    { level: 'warn', message: /A picture was left out of the answer: https:\/\/collector\.example is not a host/ },
  ])
  const { answer, trace } = await session.call('metadata.series.get', { externalId: '1' })
  t.same((answer as { externalLinks: object[] }).externalLinks, [{ label: 'Here', url: 'https://links.example.org/2' }])
  t.match(answer, { externalUrl: 'https://links.example.org/1', coverUrl: 'https://api.example.org/1.jpg' })
  t.match(trace.log, [{ level: 'warn', message: /A link was left out/ }])
})

t.test('a timer that is pending at the answer is a warning with the line that set it', async (t) => {
  const folder = await openPluginFolder(t, {
    files: {
      'src/main.ts': `const later = (ms: number) => new Promise((resolve) => {
  setTimeout(resolve, ms)
})
export default { metadata: { series: {
  search: () => ({ results: [] }),
  async get({ externalId }: { externalId: string }) {
    const deadline = setTimeout(() => {}, 5e3)
    AbortSignal.timeout(5_000)
    await later(5)
    clearTimeout(deadline)
    if (externalId === 'tidy') return { externalId, title: 'a' }
    setTimeout(() => {}, 5e3)
    return await Promise.race([{ externalId, title: 'a' }, later(5_000), later(6_000)])
  } } } }
`,
      'test/main.test.ts': `import { openPlugin, test } from '@carrel/plugin-sdk/testing'
        for (const externalId of ['tidy', 'untidy'])
          test(externalId, async () => void (await (await openPlugin()).call('metadata.series.get', { externalId })))`,
      'calls/untidy.json': JSON.stringify({
        method: 'metadata.series.get',
        input: { externalId: 'a' },
        fixtures: { formatVersion: 1, exchanges: [] },
      }),
    },
  })
  const said = 'a timer that it set was still pending at the answer, and never runs'
  const { code, stdout } = await runTool(folder, ['test', '--no-conformance', '--no-types'])
  t.equal(code, 0, stdout)
  t.match(
    stdout.replaceAll(/\n {4,}(?=[^!\s])/g, ' '),
    new RegExp(
      `✔ tidy.*\\n.*✔ untidy.*\\n {4}! metadata\\.series\\.get src/main\\.ts:12:5: ${said}.*\\n {4}! metadata\\.series\\.get src/main\\.ts:2:3: ${said}.*\\n\\n`,
    ),
  )
  const replayed = await runTool(folder, ['replay', 'calls/untidy.json'])
  t.match(replayed, { code: 0 })
  t.equal(replayed.stdout.match(/^! src\/main\.ts:/gm)?.length, 2, replayed.stdout)
})

t.test("a host call that the answer does not wait for is nobody's mistake when its failure is handled", async (t) => {
  const code = `export default { metadata: { series: {
    async search(_, ctx) {
      ctx.storage.set('big', 'x'.repeat(200_000)).catch(() => {})
      void ctx.sleep(60_000)
      return await Promise.race([ctx.fetch('https://api.example.org/slow'), { results: [] }])
    } } } }`
  const manifest = manifestOf({ permissions: { storage: { quotaKB: 1 } } }) as unknown as Manifest
  const session = new PluginSession(findSupervisor(), { manifest, code }, { egress: { fetch: () => new Promise(() => {}) } })
  t.teardown(() => session.close())
  const { answer, trace } = await session.call('metadata.series.search', { query: 'x', limit: 1 })
  t.match(answer, { results: [] })
  t.same(trace.warnings, [])
})
