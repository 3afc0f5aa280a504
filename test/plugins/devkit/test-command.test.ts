import { readdir } from 'node:fs/promises'
import t from 'tap'
import { ECHO, openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(240_000)

const IMPORTS = `import { assertEqual, assertFails, openPlugin, test } from '@carrel/plugin-sdk/testing'\n`

t.test('an author’s tests run in the sandbox, each with its own storage', async (t) => {
  const folder = await openPluginFolder(t, {
    manifest: {
      capabilities: { 'metadata.series': { methods: ['search', 'get'] }, recommendations: { methods: ['get'] } },
      permissions: { network: [{ host: 'api.example.org', reason: 'The service' }], storage: { quotaKB: 16 }, library: ['series.titles'] },
      config: { type: 'object', properties: { word: { type: 'string' } } },
    },
    files: {
      'src/main.ts': ECHO.replace(
        'definePlugin({',
        `definePlugin({
  recommendations: {
    async get(_, ctx) {
      const first = await ctx.library.entries()
      const { entries } = await ctx.library.entries({ cursor: first.nextCursor })
      const pages = [first.entries.length, entries.length]
      const title = JSON.stringify({ pages, first: first.entries[0], auth: await ctx.auth.status(), word: ctx.config['word'] })
      return { recommendations: [{ externalId: '1', title, score: 1, reason: 'It is here.' }] }
    },
  },`,
      ),
      'test/main.test.ts': `${IMPORTS}
        import { expected } from './expected.ts'
        test('is answered from fixtures, and read as a server reads it', async () => {
          const plugin = await openPlugin({ fixtures: 'echo' })
          const { answer, requests, log } = await plugin.call('metadata.series.search', { query: 'echo', limit: 2 })
          assertEqual(answer.results.map(({ title }) => title), expected)
          assertEqual(requests, [{ method: 'GET', url: 'https://api.example.org/titles?q=echo', status: 200 }])
          assertEqual(log, [{ level: 'info', message: 'found', data: { titles: 3 } }])
          assertEqual(plugin.manifest.id, 'org.example.echo')
        })
        for (const turn of [1, 2])
          test('begins with an empty storage, time ' + turn, async () => {
            const plugin = await openPlugin()
            await plugin.call('metadata.series.get', { externalId: 'a' })
            await plugin.restart()
            await plugin.call('metadata.series.get', { externalId: 'a' })
            assertEqual(await plugin.storage(), { times: 2 })
          })
        test('reads of the library what its manifest asks for, page by page', async () => {
          const library = Array.from({ length: 250 }, (_, index) => ({ seriesId: 'id' + index, title: 'T' + index, rating: 5 }))
          const plugin = await openPlugin({ library, auth: 'expired', config: { word: 'hello' } })
          const { answer } = await plugin.call('recommendations.get', { limit: 1, exclude: [] })
          assertEqual(JSON.parse(answer.recommendations[0].title), { pages: [200, 50], first: { seriesId: 'id0', title: 'T0' }, auth: 'expired', word: 'hello' })
        })
        test('sees failures of services', async () => {
          const request = { url: 'https://api.example.org/titles?q=x' }
          const at = (answer) => openPlugin({ fixtures: { formatVersion: 1, exchanges: [{ request, ...answer }] } })
          const search = async (answer) => (await at(answer)).call('metadata.series.search', { query: 'x', limit: 1 })
          await assertFails(search({ response: { status: 404 } }), 'not_found')
          await assertFails(search({ response: { status: 429 } }), 'rate_limited')
          await assertFails(search({ failure: { code: 'timeout', message: 'late' } }), 'timeout')
        })`,
      'test/expected.ts': `export const expected: string[] = ['Echo', 'Echoes']`,
    },
  })
  const { code, stdout, stderr } = await runTool(folder, ['test', '--no-conformance'])
  t.same([code, stderr], [0, ''], stdout)
  t.match(stdout, /^test\/main\.test\.ts\n {2}✔ is answered from fixtures[\s\S]*✔ 5 passed\n$/)
  t.notOk(
    (await readdir(folder)).some((name) => name.startsWith('.carrel-plugin')),
    'no files are left',
  )
})

t.test('failing tests report their place', async (t) => {
  const folder = await openPluginFolder(t, {
    files: {
      'test/a.test.js': `${IMPORTS}
        test('fails', () => {
          throw new Error('it is so')
        })
        test('asks for what no fixture answers', async () => {
          const plugin = await openPlugin({ fixtures: 'echo' })
          await plugin.call('metadata.series.search', { query: 'silence', limit: 5 }).catch((error) => { if (error.code !== 'unmatched') return; throw error })
        })
        test('does not ask for what is required', async () => {
          const request = { url: 'https://api.example.org/needed' }
          await openPlugin({ fixtures: { formatVersion: 1, exchanges: [{ request, response: {}, required: true }] } })
        })
        test('names no fixtures that there are', () => openPlugin({ fixtures: 'nowhere' }))
        test('computes too long', async () => {
          const plugin = await openPlugin()
          await plugin.call('metadata.series.get', { externalId: 'a' })
        })
        test('goes on', () => {})`,
      'test/b.test.ts': `throw new Error('this file is broken')`,
      'test/c.test.ts': `${IMPORTS}test('still runs', () => {})`,
    },
  })
  const { code, stdout } = await runTool(folder, ['test', '--no-conformance'])
  t.equal(code, 1)
  for (const expected of [
    /✖ fails.*\n {6}it is so\n {6}at test\/a\.test\.js:\d+:\d+\n/,
    /✖ asks for what no fixture answers.*\n {6}unmatched: No fixture matches GET\s+https:\/\/api\.example\.org\/titles\?q=silence/,
    /✖ does not ask for what is required.*\n {6}GET https:\/\/api\.example\.org\/needed of the fixtures of this test is\s+required/,
    /✖ names no fixtures that there are.*\n {6}There is no fixtures\/nowhere\.json/,
    /✔ goes on/,
    /test\/b\.test\.ts\n {2}✖ the file loads\n {6}this file is broken/,
    /test\/c\.test\.ts\n {2}✔ still runs/,
    /✖ 3 passed, 5 failed\n$/,
  ])
    t.match(stdout, expected)
  const chosen = await runTool(folder, ['test', 'c.test', '--no-conformance'])
  t.same(
    // A slow test says how long it took.
    [chosen.code, chosen.stdout.replace(/ {2}\(\d+ ms\)\n/, '\n')],
    [0, 'test/c.test.ts\n  ✔ still runs\n\n! Types were not checked: there is no tsconfig.json.\n✔ 1 passed\n'],
  )

  const slow = await openPluginFolder(t, {
    files: {
      'src/main.ts': `export default { metadata: { series: {
        search: () => ({ results: [] }),
        get: ({ externalId }) => { for (let at = 0; at < 3e7; at++) ; return { externalId } } } } }`,
      'test/slow.test.ts': `${IMPORTS}
        test('computes', async () => void (await (await openPlugin()).call('metadata.series.get', { externalId: 'a' })))`,
    },
  })
  t.match(await runTool(slow, ['test', '--no-conformance', '--cpu-ms', '5']), {
    code: 1,
    stdout: /cpu: metadata\.series\.get took .* --cpu-ms allows 5/,
  })
})

t.test('conformance checks find what a server would refuse', async (t) => {
  const good = await runTool(await openPluginFolder(t), ['test'])
  t.equal(good.code, 0, good.stdout)
  t.match(good.stdout, /handles a rate limit \(429\)/)
  t.match(good.stdout, /You have no tests yet/)
  t.match(good.stdout, /– returns the same answer twice {2}\(save a call of it with fixtures, in\s+calls\/\)/)

  const careless = await openPluginFolder(t, {
    files: {
      'src/main.ts': `let turn = 0
        export default { metadata: { series: {
          async search({ query, cursor }, ctx) {
            if (query === '') throw new TypeError('no query')
            const response = await ctx.fetch('https://api.example.org/titles?q=echo')
            const { titles } = JSON.parse(await response.text())
            decodeURIComponent(query)
            return { results: titles.map((title) => ({ externalId: title, title })), nextCursor: 'again' }
          },
          async get({ externalId }) { return { externalId, title: String(turn++) } },
        } } }`,
      'calls/get.json': JSON.stringify({ method: 'metadata.series.get', input: { externalId: '1' }, fixtures: 'echo' }),
    },
  })
  const { code, stdout } = await runTool(careless, ['test'])
  t.equal(code, 1)
  for (const expected of [
    /✖ handles a rate limit \(429\).*\n {6}At status 429, it ended with thrown/,
    /✖ handles a service that fails \(500\)( {2}\(\d+ ms\))?\n/,
    /✔ handles a service that does not respond( {2}\(\d+ ms\))?\n/,
    /✖ handles an unexpected response( {2}\(\d+ ms\))?\n/,
    /✖ handles an empty query.*\n {6}With an empty query, it ended with thrown: no query/,
    /✖ handles a query in any script.*\n {6}With such a query, it ended with thrown: URI malformed/,
    /✖ respects the limit.*\n {6}The limit was 1 result, and it returned 3/,
    /✖ reaches the last page.*\n {6}It returned the same cursor twice/,
    /✖ returns the same answer twice( {2}\(\d+ ms\))?\n/,
  ])
    t.match(stdout, expected)
})

t.test('a command that is stopped ends, and is no success', async (t) => {
  const endless = `${IMPORTS}test('never ends', () => new Promise(() => {}))`
  const folder = await openPluginFolder(t, { files: { 'test/a.test.ts': endless } })
  const stopping = new AbortController()
  const ended = runTool(folder, ['test', '--no-types'], stopping.signal)
  // The test has begun, or begins later: either way it does not end by itself.
  setTimeout(() => stopping.abort(), 100)
  t.match(await ended, { code: 1, stderr: /Stopped\. Not all tests ran\./ })
  t.notOk(
    (await readdir(folder)).some((name) => name.startsWith('.carrel-plugin')),
    'no files are left',
  )
  for (const [given, said] of [
    [['test', '--no-types', '--no-conformance'], /Stopped\. Not all tests ran\./],
    [['validate'], /Stopped\. Not everything was checked\./],
    [['pack', '--out', 'stopped.plugin'], /Stopped\. Nothing was packed\./],
  ] as const)
    t.match(await runTool(folder, given, AbortSignal.abort()), { code: 1, stdout: '', stderr: said }, given[0])
  t.equal((await runTool(folder, ['pack', '--out', 'whole.plugin'])).code, 0)
  t.notOk((await readdir(folder)).includes('stopped.plugin'))
  await runTool(folder, ['sign', '--new-key', 'key.pem'])
  const index = ['index', '.', '--key', 'key.pem', '--name', 'Own', '--url', 'https://example.org/']
  t.match(await runTool(folder, index, AbortSignal.abort()), { code: 1, stderr: /Stopped\. The index was not written\./ })
  t.notOk((await readdir(folder)).includes('index.json'))
})

t.test('conformance checks fail for a request without a fixture, also when the code catches its error', async (t) => {
  const folder = await openPluginFolder(t, {
    files: {
      'src/main.ts': `export default { metadata: { series: {
        search: () => ({ results: [] }),
        async get({ externalId }, ctx) {
          for (const name of ['more', 'most']) await ctx.http.json('https://api.example.org/' + name).catch(() => null)
          return { externalId, title: externalId }
        },
      } } }`,
      'calls/search.json': null,
      'calls/get.json': JSON.stringify({ method: 'metadata.series.get', input: { externalId: '1' }, fixtures: 'echo' }),
    },
  })
  const { code, stdout } = await runTool(folder, ['test', '--no-types'])
  t.equal(code, 1)
  const said = stdout.replaceAll(/\s+/g, ' ')
  for (const name of ['returns what its type says, well within its budget', 'returns the same answer twice'])
    t.match(
      said,
      new RegExp(
        `✖ ${name} (?:\\(\\d+ ms\\) )?unmatched: No fixture matches GET https://api\\.example\\.org/more, GET https://api\\.example\\.org/most\\. Record it with: \\S[^✖]* test --record`,
      ),
    )
  t.match(said, /✖ \d+ passed, 2 failed/)
})

t.test('a plugin that no server would install is not tested', async (t) => {
  const folder = await openPluginFolder(t, { manifest: { version: 'one' } })
  t.match(await runTool(folder, ['test']), { code: 1, stdout: '', stderr: /semantic version/ })
  const broken = await openPluginFolder(t, { files: { 'test/x.test.ts': 'const const' } })
  t.match(await runTool(broken, ['test']), { code: 1, stderr: /The bundler reports errors:\n +test\/x\.test\.ts:1:7/ })
})
