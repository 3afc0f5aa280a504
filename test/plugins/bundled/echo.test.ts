import { readFile } from 'node:fs/promises'
import t from 'tap'
import { getBundledPlugin } from '#plugins/packages/bundled-plugins.ts'
import { packPlugin } from '#plugins/packages/plugin-package.ts'
import { openHostedPlugins } from '#test/support/hosted-plugins.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { agree } from '#test/support/plugin-hosts.ts'

t.setTimeout(240_000)

const { bytes } = await getBundledPlugin('echo')

const { database, install } = await openHostedPlugins(t)
const { id } = await install(bytes)

async function openEcho(t: Parameters<typeof openHostedPlugins>[0], config: Record<string, unknown> = {}) {
  const { host, use } = await openHostedPlugins(t, undefined, database)
  await host.plugins.edit(id, { config })
  return { host, call: use(id).call, configure: (config: Record<string, unknown>) => host.plugins.edit(id, { config }) }
}

t.test('it searches page by page, and returns metadata of its results', async (t) => {
  const { call, configure } = await openEcho(t)
  for (const kind of ['metadata.series', 'metadata.book']) {
    const first = await call(`${kind}.search`, { query: 'Dune', limit: 5 })
    t.match(first, {
      results: [
        { externalId: '1:Dune', title: 'Dune', relevance: 1 },
        { externalId: '2:Dune', title: 'Dune 2', relevance: 0.5 },
        { title: 'Dune 3' },
        {},
        {},
      ],
      nextCursor: '5',
    })
    t.match(await call(`${kind}.search`, { query: 'Dune', limit: 5, cursor: '10' }), {
      results: [{ title: 'Dune 11' }, { title: 'Dune 12' }],
      nextCursor: null,
    })
    t.same(await call(`${kind}.search`, { query: ' ', limit: 5 }), { results: [], nextCursor: null })
    t.match(await call(`${kind}.get`, { externalId: '2:Dune' }), { externalId: '2:Dune', title: 'Dune', tags: ['dune'], year: 2004 })
    for (const externalId of ['Dune', '2:', 'x:Dune'])
      await t.rejects(call(`${kind}.get`, { externalId }), { code: 'not_found' }, externalId)
    const matched = await call(`${kind}.match`, { title: 'Dune', alternateTitles: ['Arrakis'] })
    t.match(matched, { match: { title: 'Dune' }, confidence: 1, alternatives: [{ title: 'Arrakis 2' }] })
  }
  t.match(await call('metadata.series.get', { externalId: '1:Dune' }), { status: 'ended', totalVolumeCount: 12 })
  t.match(await call('metadata.book.get', { externalId: '1:Dune' }), { pageCount: 100, subjects: ['Echo'] })
  await configure({ prefix: '> ' })
  t.match(await call('metadata.book.match', { title: 'Dune' }), { match: { title: '> Dune' } })
})

t.test('it fails in the configured way and function', async (t) => {
  const { call, configure, host } = await openEcho(t)
  const search = () => call('metadata.book.search', { query: 'x', limit: 1 })
  const ways: [way: string, code: string, message: RegExp][] = [
    ['not_found', 'not_found', /no entry with this identifier/],
    ['rate_limited', 'rate_limited', /rate limited/],
    ['auth', 'auth', /credentials/],
    ['upstream', 'upstream', /unavailable/],
    ['config', 'config', /demands a failure/],
    ['permission', 'permission', /not-granted\.example\.org/],
    ['thrown', 'thrown', /has a bug/],
    ['invalid_result', 'invalid_result', /results/],
    ['cpu', 'cpu', /500 ms/],
    ['memory', 'memory', /64 MB/],
  ]
  for (const [fail, code, message] of ways) {
    await configure({ fail, failMethod: 'metadata.book.search' })
    await t.rejects(search(), { code: code === 'not_found' ? code : 'unavailable', details: { code }, message }, fail)
    t.match(await call('metadata.book.match', { title: 'x' }), { confidence: 1 }, `${fail}: nothing else fails`)
  }
  t.equal((await host.plugins.get(id)).state, 'enabled')
  await configure({ fail: '' })
  t.match(await search(), { results: [{ title: 'x' }] }, 'it succeeds again')
})

t.test('it waits as long as configured', async (t) => {
  const { call } = await openEcho(t, { delayMs: 300 })
  const at = performance.now()
  await call('metadata.book.match', { title: 'x' })
  t.ok(performance.now() - at >= 290)
})

t.test('it exceeds its time limit when configured to', async (t) => {
  const { host, install } = await openHostedPlugins(t)
  const folder = new URL('../../../plugins/bundled/echo/', import.meta.url)
  const manifest = JSON.parse(await readFile(new URL('manifest.json', folder), 'utf8'))
  const { id, call } = await install(
    packPlugin(
      new Map([
        ['manifest.json', Buffer.from(JSON.stringify({ ...manifest, id: 'org.example.slow-echo', limits: { wallMs: 1_000 } }))],
        ['main.js', await readFile(new URL('main.js', folder))],
      ]),
    ),
  )
  await host.plugins.edit(id, { config: { fail: 'timeout' } })
  await t.rejects(call('metadata.series.match', { title: 'x' }), { code: 'unavailable', details: { code: 'timeout' } })
})

t.test('it recommends the library without dismissed series, for each user separately', async (t) => {
  const { call, host } = await openEcho(t)
  const [rita, ravi] = [await addCaller(database), await addCaller(database)]
  const library_id = await addLibrary(database)
  const series = new Map<string, string>()
  for (const title of ['One', 'Two', 'Three']) {
    const series_id = await addSeries(database, { library_id, title })
    await addBook(database, { library_id, series_id, title })
    series.set(title, series_id)
  }
  for (const { userId } of [rita, ravi]) await agree(host, database, { pluginId: id, userId })
  const titles = async (request: Record<string, unknown>, { userId }: { userId: string }, method = 'get') => {
    const { recommendations } = (await call(`recommendations.${method}`, request, userId)) as { recommendations: { title: string }[] }
    return recommendations.map(({ title }) => title).sort()
  }
  t.same(await titles({ limit: 10, exclude: [] }, rita), ['One', 'Three', 'Two'])
  t.same(await titles({ limit: 10, exclude: [series.get('One')] }, rita), ['Three', 'Two'])
  t.equal((await titles({ limit: 2, exclude: [] }, rita)).length, 2)
  await call('recommendations.dismiss', { externalId: series.get('Two') }, rita.userId)
  t.same(await titles({ limit: 10 }, rita, 'refresh'), ['One', 'Three'], 'dismissed for her')
  t.same(await titles({ limit: 10, exclude: [] }, ravi), ['One', 'Three', 'Two'], 'but not for him')

  const progress: [number, string | null][] = []
  await host.pluginCalls.call({
    pluginId: id,
    method: 'recommendations.refresh',
    input: { limit: 1 },
    userId: rita.userId,
    onProgress: (fraction, text) => progress.push([fraction, text]),
  })
  t.same(progress, [
    [0, 'Reading the library'],
    [1, 'Done'],
  ])
  await host.plugins.edit(id, { config: { fail: 'invalid_result' } })
  await t.rejects(call('recommendations.get', { limit: 1, exclude: [] }, rita.userId), {
    code: 'unavailable',
    details: { code: 'invalid_result' },
  })
})
