import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { ToolProblem } from '#plugins/devkit/command.ts'
import { readCall } from '#plugins/devkit/saved-call.ts'
import { openLocalService, openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(240_000)

/** A plugin that asks the service in its configuration, and a call of it whose fixtures do not exist yet. */
async function openAuthor(t: Test, files: Record<string, string | null> = {}) {
  const { place, manifest } = await openLocalService(t, (url) => ({ title: url }))
  const folder = await openPluginFolder(t, {
    manifest,
    files: {
      'src/main.ts': `export default { metadata: { series: {
        search: () => ({ results: [] }),
        async get({ externalId }, ctx) {
          const { title } = await ctx.http.json(ctx.config.site + '/' + externalId)
          return { externalId, title }
        } } } }`,
      'calls/search.json': null,
      'calls/get.json': JSON.stringify({ method: 'metadata.series.get', input: { externalId: 'a' }, fixtures: 'catalog' }),
      ...files,
    },
  })
  const read = async () =>
    JSON.parse(await readFile(path.join(folder, 'fixtures/catalog.json'), 'utf8')) as { exchanges: { request: { url: string } }[] }
  return { folder, record: ['test', '--record', '--allow-local', place], read, url: `http://${place}` }
}

t.test('recording makes the fixtures that calls name, and the checks of the same run use them', async (t) => {
  const { folder, record, read, url } = await openAuthor(t)
  t.match(await runTool(folder, ['test']), {
    code: 1,
    stderr: /calls\/get\.json: there is no fixtures\/catalog\.json\. Record it: .*test --record/,
  })
  const { code, stdout } = await runTool(folder, record)
  t.equal(code, 0, stdout)
  t.match(stdout, /calls\n {2}✔ get\.json is recorded[\s\S]*recorded fixtures\/catalog\.json[\s\S]*✔ returns the same answer twice/)
  t.match(await read(), { exchanges: [{ request: { url: `${url}/a` } }] })
  t.match(await runTool(folder, ['test']), { code: 0, stdout: /✔ returns the same answer twice/ }, 'also without the service')
})

t.test('a recording of some tests keeps the answers of the others', async (t) => {
  const testOf = (id: string) => `import { openPlugin, test } from '@carrel/plugin-sdk/testing'
    test('gets', async () => void (await (await openPlugin({ fixtures: 'catalog' })).call('metadata.series.get', { externalId: '${id}' })))`
  const { folder, record, read, url } = await openAuthor(t, { 'test/b.test.ts': testOf('b'), 'test/c.test.ts': testOf('c') })
  const urls = async () => (await read()).exchanges.map(({ request }) => request.url.slice(url.length)).sort()
  t.match(await runTool(folder, record), { code: 0 })
  t.same(await urls(), ['/a', '/b', '/c'])
  t.match(await runTool(folder, [...record, 'b.test']), { code: 0 })
  t.same(await urls(), ['/a', '/b', '/c'])
  t.match(await runTool(folder, ['test', '--record']), { code: 1, stdout: /✖ get\.json is recorded/ })
  t.same(await urls(), ['/a', '/b', '/c'], 'nor does a recording in which nothing answers lose any')
})

t.test('a recording leaves responses of 400 or more as they were written, and names them', async (t) => {
  const { folder, record, read, url } = await openAuthor(t, {
    'test/busy.test.ts': `import { assertFails, openPlugin, test } from '@carrel/plugin-sdk/testing'
      test('waits', async () => {
        const plugin = await openPlugin({ fixtures: 'catalog' })
        await assertFails(plugin.call('metadata.series.get', { externalId: 'busy' }), 'rate_limited')
      })`,
  })
  const busy = { request: { url: `${url}/busy` }, response: { status: 429 } }
  await writeFile(path.join(folder, 'fixtures/catalog.json'), JSON.stringify({ formatVersion: 1, exchanges: [busy] }))
  const { code, stdout } = await runTool(folder, record)
  t.equal(code, 0, stdout)
  t.match(
    stdout.replaceAll(/\s+/g, ' '),
    `! fixtures/catalog.json keeps GET ${url}/busy (429): no recording replaces failures and statuses of 400 or more. To record one again, delete it from the file. `,
  )
  t.match(await read(), { exchanges: [busy, { request: { url: `${url}/a` } }] })
})

t.test('a recording in which a test fails keeps the answers that it did not come to', async (t) => {
  const { folder, record, read, url } = await openAuthor(t, {
    'test/all.test.ts': `import { assertEqual, openPlugin, test } from '@carrel/plugin-sdk/testing'
      test('gets two', async () => {
        const plugin = await openPlugin({ fixtures: 'catalog' })
        const { answer } = await plugin.call('metadata.series.get', { externalId: 'b' })
        assertEqual(answer.title, 'as written')
        await plugin.call('metadata.series.get', { externalId: 'c' })
      })`,
  })
  const written = ['b', 'c'].map((id) => ({ request: { url: `${url}/${id}` }, response: { json: { title: 'as written' } } }))
  await writeFile(path.join(folder, 'fixtures/catalog.json'), JSON.stringify({ formatVersion: 1, exchanges: written }))
  t.match(await runTool(folder, record), { code: 1 })
  t.match(await read(), { exchanges: [{ response: { json: { title: '/b' } } }, written[1], { request: { url: `${url}/a` } }] })
})

t.test('calls without a fixture say how to record it', async (t) => {
  const { folder, record } = await openAuthor(t, {
    'calls/get.json': JSON.stringify({ method: 'metadata.series.get', input: { externalId: 'a' } }),
  })
  const advice = /calls\/get\.json has no\s+fixtures; give it "fixtures": "get", and record them:[\s\S]*test --record/
  t.match((await runTool(folder, ['test'])).stdout, advice)
  t.match((await runTool(folder, record)).stdout, advice)
  const other = await openAuthor(t, {
    'fixtures/catalog.json': JSON.stringify({ formatVersion: 1, exchanges: [] }),
  })
  t.match(await runTool(other.folder, ['test']), {
    code: 1,
    stdout: /No fixture matches GET[\s\S]*Record it\s+with: [\s\S]*test\s+--record/,
  })
})

t.test('a call that a server recorded is repeated as it is, unless a part of its input is missing', async (t) => {
  const fixtures = { formatVersion: 1, exchanges: [] }
  const recorded = { method: 'metadata.series.search', input: { query: 'a', limit: 1 }, config: {}, fixtures }
  const saved = (isInputCut: boolean) => ({ files: { 'calls/search.json': JSON.stringify({ ...recorded, isInputCut }) } })
  t.match(await runTool(await openPluginFolder(t, saved(true)), ['test']), {
    code: 1,
    stderr: /calls\/search\.json: the server has hidden or left out a part of "input"\. Enter what is missing, and remove "isInputCut"\./,
  })
  t.notMatch((await runTool(await openPluginFolder(t, saved(false)), ['test'])).stderr, /isInputCut/)
})

t.test('misspelt members of calls are refused', async (t) => {
  const call = { method: 'metadata.series.search', input: { query: 'a', limit: 1 } }
  for (const [more, complaint] of [
    [{ librry: [] }, /calls\/search\.json: "librry" is unknown\. Did you mean "?library"?\? Known are: method, input, /i],
    [{ library: {} }, /"library" must be an array of series, each with a "seriesId"/],
    [{ library: [{ title: 'Dune' }] }, /item 0 has no "seriesId"/],
    [{ library: [{ seriesId: 'a' }, { seriesId: 'b', titel: 'Dune' }] }, /in item 1 of "library", "titel" is unknown\..*title/],
  ] as const) {
    const folder = await openPluginFolder(t, { files: { 'calls/search.json': JSON.stringify({ ...call, ...more }) } })
    t.match(await runTool(folder, ['test']), { code: 1, stderr: complaint })
  }
})

t.test('only a call for a user has a library, of which the plugin sees what it asks for', async (t) => {
  const fixtures = { formatVersion: 1, exchanges: [] }
  const folder = await openPluginFolder(t, {
    manifest: {
      capabilities: { 'metadata.series': { methods: ['search', 'get'] }, recommendations: { methods: ['get'] } },
      permissions: { library: ['series.titles'] },
    },
    files: {
      'src/main.ts': `const titles = async (ctx) => (await ctx.library.entries()).entries.map(({ title, year }) => title + ' of ' + year)
        export default {
          metadata: { series: {
            search: async (query, ctx) => ({ results: (await titles(ctx)).map((title) => ({ externalId: title, title })) }),
            get: ({ externalId }) => ({ externalId, title: externalId }) } },
          recommendations: {
            get: async (request, ctx) => ({
              recommendations: (await titles(ctx)).map((title) => ({ externalId: title, title, score: 1, reason: 'It is here.' })) }) } }`,
      'calls/search.json': JSON.stringify({ method: 'metadata.series.search', input: { query: 'a', limit: 5 }, fixtures }),
      'calls/recommend.json': JSON.stringify({
        method: 'recommendations.get',
        input: { limit: 5, exclude: [] },
        library: [{ seriesId: 'a', title: 'Dune', year: 1965 }],
        fixtures,
      }),
    },
  })
  t.match(await runTool(folder, ['replay', 'calls/recommend.json']), { code: 0, stdout: /"title": "Dune of undefined"/ })
  const { code, stdout } = await runTool(folder, ['replay', 'calls/search.json'])
  t.equal(code, 1)
  t.match(stdout.replaceAll(/\s+/g, ' '), '✖ permission: This call is not for a user, so there is no library to read. at src/main.ts:1:')
  const tested = await runTool(folder, ['test', '--no-types'])
  t.equal(tested.code, 1)
  t.match(tested.stdout.replaceAll(/\s+/g, ' '), /✖ returns what its type says[^✖]* permission: This call is not for a user/)
})

t.test('the state of the credentials in a call is that of accepted ones, unless it says another', async (t) => {
  const call = (more: object) =>
    JSON.stringify({
      method: 'metadata.series.get',
      input: { externalId: '1' },
      fixtures: { formatVersion: 1, exchanges: [] },
      ...more,
    })
  const open = (more: object) =>
    openPluginFolder(t, {
      manifest: { auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'X-Key' } } },
      files: {
        'src/main.ts': `export default { metadata: { series: {
          search: () => ({ results: [] }),
          async get({ externalId }, ctx) {
            const title = await ctx.auth.status()
            if (title !== 'connected' && externalId === '1') throw new Error('it is ' + title)
            return { externalId, title }
          } } } }`,
        'test/main.test.ts': `import { assertEqual, openPlugin, test } from '@carrel/plugin-sdk/testing'
          for (const [auth, title] of [[undefined, 'missing'], ['none', 'none'], ['connected', 'connected']])
            test('is ' + title, async () => {
              const { answer } = await (await openPlugin({ auth })).call('metadata.series.get', { externalId: '2' })
              assertEqual(answer.title, title)
            })`,
        'calls/get.json': call(more),
      },
    })
  const accepted = await open({})
  const good = await runTool(accepted, ['test', '--no-types'])
  t.equal(good.code, 0, good.stdout)
  t.match(good.stdout, /✔ is missing[\s\S]*✔ is none[\s\S]*✔ is connected[\s\S]*✔ returns the same answer twice/)
  t.match(await runTool(accepted, ['replay', 'calls/get.json']), { code: 0, stdout: /"title": "connected"/ })
  for (const auth of ['missing', 'expired']) {
    const folder = await open({ auth })
    for (const typed of [
      ['test', '--no-types'],
      ['replay', 'calls/get.json'],
    ])
      t.match(await runTool(folder, typed), { code: 1, stdout: new RegExp(`thrown: it is ${auth}`) }, `${typed[0]} ${auth}`)
  }
})

const METHODS =
  'metadata.series.search, metadata.series.get, metadata.series.match, metadata.book.search, metadata.book.get, metadata.book.match, recommendations.get, recommendations.refresh, recommendations.dismiss'
const FOR_USERS = 'recommendations.get, recommendations.refresh, recommendations.dismiss'
const SEARCH = { method: 'metadata.series.search', input: { query: 'echo', limit: 5 } }
const recommend = (name: string, input: unknown) => ({ method: `recommendations.${name}`, input })

/** What an author writes into calls/search.json, and the whole message after the name of the file. */
const MISTAKES: [name: string, content: object | string, message: string | RegExp][] = [
  ['nothing', '', 'it is not valid JSON (Unexpected end of JSON input).'],
  ['a list', [], 'a call must be an object: { "method", "input", "config", "userConfig", "library", "auth", "fixtures" }.'],
  ['no method', { input: {} }, `there is no "method"; it must be one of ${METHODS}.`],
  [
    'the end of a method',
    { ...SEARCH, method: 'search' },
    '"method" is "search". Did you mean metadata.series.search or metadata.book.search?',
  ],
  [
    'a misspelled method',
    { ...SEARCH, method: 'metadata.serie.search' },
    '"method" is "metadata.serie.search". Did you mean metadata.series.search?',
  ],
  ['another method', { ...SEARCH, method: 'download' }, `"method" is "download"; it must be one of ${METHODS}.`],
  [
    'a misspelled member',
    { ...SEARCH, inputs: {} },
    '"inputs" is unknown. Did you mean input? Known are: method, input, config, userConfig, library, auth, fixtures.',
  ],
  [
    'a misspelled state of the credentials',
    { ...SEARCH, atuh: 'missing' },
    '"atuh" is unknown. Did you mean auth? Known are: method, input, config, userConfig, library, auth, fixtures.',
  ],
  ['another state of the credentials', { ...SEARCH, auth: 'yes' }, '"auth" must be one of none, missing, connected, expired; it is "yes".'],
  [
    'the library of a user for a search',
    { ...SEARCH, library: [{ seriesId: 'a' }] },
    `"library" is only for ${FOR_USERS}, which run for a user: a server runs metadata.series.search for nobody.`,
  ],
  [
    'settings of a user for a search',
    { ...SEARCH, userConfig: { language: 'de' } },
    `"userConfig" is only for ${FOR_USERS}, which run for a user: a server runs metadata.series.search for nobody.`,
  ],
  [
    'a text as input',
    { ...SEARCH, input: 'echo' },
    '"input" must be an object, for metadata.series.search such as { "query": "…", "limit": 5 }; it is "echo".',
  ],
  [
    'a misspelled member of the input',
    { ...SEARCH, input: { querry: 'echo', limit: 5 } },
    '"input" has no "query", which metadata.series.search always gets, as in { "query": "…", "limit": 5 }.',
  ],
  ['a number as text', { ...SEARCH, input: { query: 'echo', limit: '5' } }, '"limit" of "input" must be a number; it is "5".'],
  [
    'the input of a search for get',
    { ...SEARCH, method: 'metadata.series.get' },
    '"input" has no "externalId", which metadata.series.get always gets, as in { "externalId": "…" }.',
  ],
  ['a text as number of recommendations', recommend('get', { limit: '5', exclde: [] }), '"limit" of "input" must be a number; it is "5".'],
  [
    'a misspelled list of what is excluded',
    recommend('get', { limit: 5, exclde: [] }),
    '"input" has no "exclude", which recommendations.get always gets, as in { "limit": 5, "exclude": [] }.',
  ],
  [
    'numbers that are excluded',
    recommend('get', { limit: 5, exclude: [1] }),
    '"exclude" of "input" must be an array of strings; it is [1].',
  ],
  [
    'nothing for a refresh',
    recommend('refresh', null),
    '"input" must be an object, for recommendations.refresh such as { "limit": 5 }; it is null.',
  ],
  [
    'the input of get for a refresh',
    recommend('refresh', { limit: 5, exclude: [] }),
    'in "input", "exclude" is unknown. Known are: limit.',
  ],
  [
    'a dismissal of nothing',
    recommend('dismiss', { reason: null }),
    '"input" has no "externalId", which recommendations.dismiss always gets, as in { "externalId": "…" }.',
  ],
  [
    'a misspelled reason',
    recommend('dismiss', { externalId: '1', reasn: null }),
    'in "input", "reasn" is unknown. Did you mean reason? Known are: externalId, reason.',
  ],
  [
    'fixtures with the end of the file',
    { ...SEARCH, fixtures: 'echo.json' },
    '"fixtures" is the name of a file in fixtures/ alone: write "echo" instead of "echo.json".',
  ],
  [
    'fixtures with their folder',
    { ...SEARCH, fixtures: 'fixtures/echo' },
    '"fixtures" is the name of a file in fixtures/ alone: write "echo" instead of "fixtures/echo".',
  ],
  ['fixtures that do not exist', { ...SEARCH, fixtures: 'eco' }, /^there is no fixtures\/eco\.json\. Record it: .* test --record$/],
]

t.test('every mistake in a saved call has a message that says what is wrong, with what, and what to do', async (t) => {
  for (const [name, content, message] of MISTAKES) {
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    const folder = await openPluginFolder(t, { files: { 'calls/search.json': text } })
    const expected = typeof message === 'string' ? { message: `calls/search.json: ${message}` } : {}
    const error = await readCall(folder, path.join(folder, 'calls/search.json')).catch((problem: Error) => problem)
    t.type(error, ToolProblem, name)
    t.match(error, expected, name)
    if (message instanceof RegExp) t.match((error as Error).message.replace('calls/search.json: ', ''), message, name)
  }
  const folder = await openPluginFolder(t)
  t.match(await runTool(folder, ['replay', 'search']), {
    code: 1,
    stderr: /^search: there is no such file\. Did you mean calls\/search\.json\?$/m,
  })
  t.match(await runTool(folder, ['replay', 'calls/none.json']), { code: 1, stderr: /^calls\/none\.json: there is no such file\.$/m })
})
