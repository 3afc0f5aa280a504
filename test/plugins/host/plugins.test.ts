import { generateKeyPairSync } from 'node:crypto'
import t, { type Test } from 'tap'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { agree, openTestHost } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const openHost = (t: Test) =>
  openTestHost(t, (request, response) => {
    if (request.url?.startsWith('/missing')) response.statusCode = 404
    if (request.url?.startsWith('/slow')) response.statusCode = 429
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ you: request.headers['user-agent'], asked: request.url }))
  })

const SEARCH = `export default { metadata: { series: {
  async search({ query }, ctx) {
    const answer = await ctx.http.json('https://api.example.org/' + query)
    await ctx.storage.set('last', query)
    ctx.log.info('searched', { query })
    return { results: [{ externalId: '1', title: answer.asked, relevance: 7, extra: 'dropped', coverUrl: null }], nextCursor: null, more: 1 }
  },
  async get({ externalId }, ctx) { return { externalId, title: await ctx.storage.get('last'), summary: 'x'.repeat(50000), status: 'ended' } } } } }`

t.test('a plugin is installed, granted permissions, called, disabled and deleted', async (t) => {
  const { host, way } = await openHost(t)
  const { plugin, waitsFor } = await host.pluginLifecycle.install(pluginOf(SEARCH), { userId: null })
  t.match(plugin, { key: 'org.example.echo', state: 'waiting', granted: null, version: '1.0.0' })
  t.same(waitsFor, ['runs for the first time'])
  const search = { pluginId: plugin.id, method: 'metadata.series.search', input: { query: 'dune', limit: 5 }, userId: null }
  await t.rejects(host.pluginCalls.call(search), { code: 'conflict', message: '"Echo" waits for the consent of an administrator.' })
  await t.rejects(host.pluginLifecycle.setEnabled(plugin.id, true), { code: 'conflict' }, 'nobody has agreed')
  await t.rejects(host.pluginLifecycle.consent(plugin.id, { sha256: 'another' }), { code: 'conflict' })
  t.match(await host.pluginLifecycle.consent(plugin.id, { sha256: plugin.sha256 }), {
    state: 'enabled',
    granted: { network: [{ host: 'api.example.org' }] },
  })

  const { result, wallMs } = await host.pluginCalls.call(search)
  t.same(
    result,
    { results: [{ externalId: '1', title: '/dune', relevance: 1, coverUrl: null }], nextCursor: null },
    'checked and clamped, without unknown members',
  )
  t.ok(wallMs > 0)
  t.match(way.asked, [{ url: '/dune', headers: { 'user-agent': 'Carrel (plugin org.example.echo 1.0.0)' } }])
  const { result: metadata } = await host.pluginCalls.call({ ...search, method: 'metadata.series.get', input: { externalId: '1' } })
  t.match(metadata, { title: 'dune', summary: /^x{40000}$/, status: 'ended' }, 'the storage persists, and long texts are cut')
  await t.rejects(
    host.pluginCalls.call({ ...search, method: 'metadata.series.match' }),
    { code: 'invalid_value' },
    'a method that it does not offer',
  )

  await host.pluginLifecycle.setEnabled(plugin.id, false)
  await t.rejects(host.pluginCalls.call(search), { code: 'conflict', message: /disabled/ })
  await host.pluginLifecycle.setEnabled(plugin.id, true)
  t.ok(await host.pluginCalls.call(search))
  await host.pluginLifecycle.uninstall(plugin.id)
  await t.rejects(host.pluginCalls.call(search), { code: 'not_found' })
  t.same(await host.plugins.list(), [])
})

t.test('updates: at once when they cause the same, else after consent, never to older versions or other keys', async (t) => {
  const { host } = await openHost(t)
  const keys = generateKeyPairSync('ed25519').privateKey
  const others = generateKeyPairSync('ed25519').privateKey
  const main = (word: string) =>
    `export default { metadata: { series: { search: () => ({ results: [{ externalId: '1', title: '${word}' }] }), get: () => ({ externalId: '1' }) } } }`
  const { plugin } = await host.pluginLifecycle.install(pluginOf(main('one'), {}, [keys]), { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256: plugin.sha256 })
  const title = async () => {
    const { result } = await host.pluginCalls.call({
      pluginId: plugin.id,
      method: 'metadata.series.search',
      input: { query: '', limit: 1 },
      userId: null,
    })
    return (result as { results: { title: string }[] }).results[0]?.title
  }
  t.equal(await title(), 'one')
  t.same((await host.pluginLifecycle.install(pluginOf(main('two'), { version: '1.1.0' }, [keys]), { userId: null })).waitsFor, [])
  t.equal(await title(), 'two')

  const wider = {
    version: '1.2.0',
    permissions: {
      network: [
        { host: 'api.example.org', reason: 'x' },
        { host: 'evil.example.com', reason: 'more' },
      ],
    },
  }
  const { waitsFor } = await host.pluginLifecycle.install(pluginOf(main('three'), wider, [keys]), { userId: null })
  t.same(waitsFor, [
    'connects to api.example.org (GET)',
    'connects to evil.example.com (GET)',
    'no longer connects to api.example.org (GET, POST)',
    'no longer stores up to 16 KB for the server, and as much for each user',
  ])
  t.equal(await title(), 'two', 'the old version still runs')
  await t.rejects(host.pluginLifecycle.install(pluginOf(main('x'), { version: '1.1.0' }, [keys]), { userId: null }), {
    code: 'conflict',
    message: /here already/,
  })
  await t.rejects(host.pluginLifecycle.install(pluginOf(main('x'), { version: '1.0.5' }, [keys]), { userId: null }), {
    code: 'conflict',
    message: /older/,
  })
  await t.rejects(host.pluginLifecycle.install(pluginOf(main('x'), { version: '9.0.0' }, [others]), { userId: null }), {
    code: 'conflict',
    message: /signed/,
  })
  await t.rejects(
    host.pluginLifecycle.install(pluginOf(main('x'), { version: '9.0.0' }), { userId: null }),
    { code: 'conflict', message: /signed/ },
    'an update must keep the signature',
  )
  t.equal(await title(), 'two')
})

t.test('invalid packages, and plugins that do not start or lack functions, are refused', async (t) => {
  const { host } = await openHost(t)
  await t.rejects(host.pluginLifecycle.install(Buffer.from('no zip'), { userId: null }), { code: 'invalid_value' })
  for (const [main, message] of [
    ['export default {}', /names metadata.series.search, metadata.series.get/],
    ['syntax error', /does not start/],
    ['for (;;);', /does not start/],
    ['throw new Error("at once")', /at once/],
    ['import fs from "node:fs"; export default {}', /cannot import ..node:fs/],
    ['const a = []; for (;;) a.push(new Array(1000).fill(a.length)); export default {}', /does not start/],
  ] as const)
    await t.rejects(host.pluginLifecycle.install(pluginOf(main), { userId: null }), { code: 'invalid_value', message }, main)
  t.same(await host.plugins.list(), [], 'none of them is stored')
})

t.test('failures have codes, count, and lead to quarantine', async (t) => {
  const { host, run } = await openHost(t)
  const { id, call } = await run(`export default { metadata: { series: {
    async search({ query }, ctx) {
      if (query === 'missing') return await ctx.http.json('https://api.example.org/missing')
      if (query === 'limited') return await ctx.http.json('https://api.example.org/slow')
      if (query === 'elsewhere') return await ctx.fetch('https://other.example.org/')
      if (query === 'rubbish') return { results: 'none' }
      if (query === 'loop') for (;;);
      return { results: [] } },
    get() { throw new TypeError('my bug') } } } }`)
  const search = async (query: string) => await call('metadata.series.search', { query, limit: 1 })
  t.same(await search('fine'), { results: [] })
  await t.rejects(search('missing'), { code: 'not_found' })
  await t.rejects(search('limited'), { code: 'unavailable', details: { code: 'rate_limited' } })
  await t.rejects(search('elsewhere'), { code: 'unavailable', details: { code: 'permission' } })
  await t.rejects(search('rubbish'), { code: 'unavailable', details: { code: 'invalid_result' }, message: /results/ })
  await t.rejects(call('metadata.series.get', { externalId: 'x' }), { code: 'unavailable', message: /my bug/ })
  t.same(await search('fine'), { results: [] })
  for (let times = 0; times < 2; times++) await t.rejects(search('loop'), { code: 'unavailable', details: { code: 'cpu' } })
  t.same(await search('fine'), { results: [] }, 'two are forgiven')
  await t.rejects(search('loop'), { code: 'unavailable' })
  await t.rejects(
    search('fine'),
    {
      code: 'conflict',
      message:
        'The server has stopped "Echo", because it failed. It runs again when an administrator resets and enables it, or installs a newer version.',
    },
    'the plugin is quarantined after three failures within ten minutes',
  )
  await t.rejects(host.pluginLifecycle.setEnabled(id, true), {
    code: 'conflict',
    message:
      /^org\.example\.echo is in quarantine\. It broke its sandbox 3 times within 10 minutes\. Last error: ".*" Reset it first: POST \/api\/v1\/admin\/plugins\/org\.example\.echo\/reset\.$/,
  })
  t.match(await host.pluginLifecycle.reset(id), { state: 'disabled' })
  await host.pluginLifecycle.setEnabled(id, true)
  t.same(await search('fine'), { results: [] })
})

t.test('a newer version that an administrator installs leaves the quarantine, and begins without failures', async (t) => {
  const { host, run } = await openHost(t)
  const main = `export default { metadata: { series: {
    search({ query }) { if (query === 'loop') for (;;); return { results: [] } }, get: () => ({ externalId: '1' }) } } }`
  const limits = { cpuMs: 100 }
  const { id, call } = await run(main, { limits })
  const search = async (query: string) => await call('metadata.series.search', { query, limit: 1 })
  for (let times = 0; times < 3; times++) await t.rejects(search('loop'), { code: 'unavailable' })
  t.match(await host.plugins.get(id), { state: 'quarantined' })
  await host.pluginLifecycle.install(pluginOf(main, { limits, version: '1.0.1' }), { userId: null })
  t.match(await host.plugins.get(id), { state: 'enabled', version: '1.0.1', stateReason: null })
  t.same(await search('fine'), { results: [] })
  for (let times = 0; times < 2; times++) await t.rejects(search('loop'), { code: 'unavailable' })
  t.match(await host.plugins.get(id), { state: 'enabled', version: '1.0.1' }, 'failures of the version before do not count')
  await t.rejects(search('loop'), { code: 'unavailable' })
  t.match(
    await host.plugins.get(id),
    { state: 'quarantined', version: '1.0.1' },
    'a version from the quarantine never runs again by itself',
  )

  await host.pluginLifecycle.reset(id)
  await host.pluginLifecycle.setEnabled(id, false)
  await host.pluginLifecycle.install(pluginOf(main, { limits, version: '1.0.2' }), { userId: null })
  t.match(await host.plugins.get(id), { state: 'disabled', version: '1.0.2' }, 'what an administrator has disabled stays so')
})

t.test('neither errors of the server nor error codes of the plugin itself lead to quarantine', async (t) => {
  const { database, host, run } = await openHost(t)
  const { id, call } = await run(`export default { metadata: { series: {
    async search({ query }, ctx) { await ctx.storage.set('last', query); return { results: [] } },
    get({ externalId }) { throw Object.assign(new Error('so I say'), { code: externalId }) } } } }`)
  for (const word of ['memory', 'crash', 'cpu'])
    await t.rejects(call('metadata.series.get', { externalId: word }), { code: 'unavailable', details: { code: 'thrown' } }, word)
  await database.schema.renameTable('plugin_storage', 'plugin_storage_gone')
  for (let times = 0; times < 6; times++)
    await t.rejects(call('metadata.series.search', { query: 'x', limit: 1 }), { code: 'unavailable', details: { code: 'server' } })
  await database.schema.renameTable('plugin_storage_gone', 'plugin_storage')
  t.match(await host.plugins.get(id), { state: 'enabled' })
  t.same(await call('metadata.series.search', { query: 'x', limit: 1 }), { results: [] })
})

t.test('data of users is separate, and a plugin reads only the granted parts of the library', async (t) => {
  const { database, host, run } = await openHost(t)
  const [rita, ravi] = [await addCaller(database), await addCaller(database)]
  const library_id = await addLibrary(database)
  for (let n = 0; n < 230; n++) await addSeries(database, { library_id, title: `Series ${n}` })
  const secret = await addSeries(database, { library_id, title: 'Secret' })
  await addBook(database, { library_id, series_id: secret, title: 'One' })
  await shareSeries(database, { seriesId: secret, caller: rita, mode: 'deny' })
  const { id, call } = await run(
    `let seen = 0
    export default { recommendations: { async get({ limit }, ctx) {
      seen += 1
      const titles = []
      let cursor = null
      do { const page = await ctx.library.entries({ cursor }); titles.push(...page.entries); cursor = page.nextCursor } while (cursor)
      const odd = await ctx.library.entries({ cursor: '-'.repeat(36) }).catch((error) => error.code)
      const before = await ctx.storage.get('note')
      await ctx.storage.set('note', 'of ' + seen)
      return { recommendations: [{ externalId: 'x', title: String(titles.length), score: 1, reason: JSON.stringify([seen, before, Object.keys(titles[0]).sort(), titles.some((one) => one.title === 'Secret'), odd]) }] }
    } } }`,
    {
      id: 'org.example.taste',
      capabilities: { recommendations: { methods: ['get'] } },
      permissions: { library: ['series.titles', 'reading.progress'], storage: { quotaKB: 1 } },
    },
  )
  for (const { userId } of [rita, ravi]) await agree(host, database, { pluginId: id, userId })
  const ask = async (userId: string) => {
    const { recommendations } = (await call('recommendations.get', { limit: 5, exclude: [] }, userId)) as {
      recommendations: { title: string; reason: string }[]
    }
    return [recommendations[0]?.title, ...JSON.parse(recommendations[0]?.reason ?? '[]')]
  }
  const members = ['alternateTitles', 'booksRead', 'booksStarted', 'lastReadAt', 'readers', 'seriesId', 'title']
  t.same(await ask(rita.userId), ['230', 1, null, members, false, 'invalid_argument'])
  t.same(await ask(rita.userId), ['230', 2, 'of 1', members, false, 'invalid_argument'])
  t.same(await ask(ravi.userId), ['231', 1, null, members, true, 'invalid_argument'], 'a separate isolate and storage')
  await t.rejects(call('recommendations.get', { limit: 5, exclude: [] }), { code: 'unavailable', message: /not for a user/ })
})

t.test('the retry time of a service reaches the caller', async (t) => {
  const { run } = await openTestHost(t, (request, response) => {
    response.statusCode = request.url === '/busy' ? 503 : 429
    response.setHeader('retry-after', '120')
    response.end()
  })
  const { call } = await run(`export default { metadata: { series: {
    search: ({ query }, ctx) => ctx.http.json('https://api.example.org/' + query),
    get: ({ externalId }) => { throw Object.assign(new Error('later'), { code: 'rate_limited', retryAfterSeconds: JSON.parse(externalId) }) } } } }`)
  for (const query of ['limited', 'busy'])
    await t.rejects(call('metadata.series.search', { query, limit: 1 }), {
      code: 'unavailable',
      details: { code: 'rate_limited' },
      retryAfterSeconds: 120,
    })
  for (const [given, seconds] of [
    ['7.5', 8],
    ['1e8', 86_400],
    ['-1', undefined],
    ['"5"', undefined],
    ['null', undefined],
  ] as const)
    t.match(
      await call('metadata.series.get', { externalId: given }).catch((error: unknown) => error),
      { details: { code: 'rate_limited' }, retryAfterSeconds: seconds },
      given,
    )
})
