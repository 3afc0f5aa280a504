import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { describeRecord } from '#plugins/consent/record-lines.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { agree, openTestHost } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

/** Uses as much as its input says. */
const MAIN = `
const works = {
  cpu: () => { for (;;); },
  wall: (ctx) => ctx.sleep(60_000),
  memory: () => { const kept = []; for (;;) kept.push(new Array(10_000).fill(kept.length)) },
  some: () => { const kept = new Array(500_000).fill(1); return kept.length },
  store: async (ctx, bytes) => { await ctx.storage.delete('k'); await ctx.storage.set('k', 'x'.repeat(bytes)) },
  ask: async (ctx, times, timeoutMs = 15_000) => {
    for (let n = 0; n < times; n++) await ctx.fetch('https://api.example.org/' + n, { timeoutMs })
  },
}
const work = async (query, ctx) => { const [name, ...sizes] = query.split(' '); await works[name]?.(ctx, ...sizes.map(Number)) }
export default {
  setup: (ctx) => work(ctx.config.work ?? '', ctx),
  migrate: (ctx) => work(ctx.config.work ?? '', ctx),
  metadata: { series: { async search({ query }, ctx) { await work(query, ctx); return { results: [] } }, async get({ externalId }, ctx) { await work(externalId, ctx); return { externalId } } } },
  recommendations: { async refresh(_, ctx) { await work(ctx.userConfig.work ?? '', ctx); return { recommendations: [] } } },
}`
const setting = { type: 'object', properties: { work: { type: 'string', default: '' } } }
const MANIFEST = {
  capabilities: { 'metadata.series': { methods: ['search', 'get'] }, recommendations: { methods: ['refresh'] } },
  permissions: { network: [{ host: 'api.example.org', reason: 'Test' }], storage: { quotaKB: 1 } },
  http: { rateLimit: { 'api.example.org': { perMinute: 18 } }, cacheTtl: { get: 4 } },
  limits: { heapMB: 16, cpuMs: 400, wallMs: 4_000 },
  ...{ config: setting, userConfig: setting },
}

t.test('what a consent says that a plugin may use is what ends it when it uses more', async (t) => {
  const { host, database, run, way } = await openTestHost(t)
  const { id, call } = await run(MAIN, MANIFEST)
  const { userId } = await addCaller(database)
  const { review } = await host.plugins.review(id)
  const words = describeRecord(review.record).join(' ').replaceAll(/\s+/g, ' ')
  /** The numbers that the words state, such as `of CPU time and`. */
  const stated = (pattern: string): number[] => {
    const found = new RegExp(pattern.replaceAll('#', '(\\d+(?:\\.\\d+)?)')).exec(words)
    t.ok(found, `${pattern}: ${words}`)
    return (found ?? []).slice(1).map(Number)
  }
  /** By its CPU time, or on a machine with much other work by its time, or with its process that does not answer in time. */
  const spent = (limitMs = 0, limitS = 0) => ({
    message: new RegExp(`CPU limit of ${limitMs} ms|time limit of ${limitS * 1000} ms|did not return in time`),
  })
  const search = (query: string) => call('metadata.series.search', { query, limit: 1 })
  const [cpuMs, wallS] = stated('uses up to # ms of CPU time and # s for each call')
  const [heapMB] = stated('uses up to # MB of memory for the server, and as much for each user')
  const [loadCpuMs, loadS, setupCpuMs, setupS, migrateCpuMs, migrateS] = stated(
    'uses up to # ms of CPU time and # s to start, # ms of CPU time and # s to prepare, and # ms of CPU time and # s to change stored data',
  )
  const [refreshCpuMs, refreshS] = stated('uses up to # ms of CPU time and # s for each refresh of the recommendations of a user')
  const [quotaKB] = stated('stores up to # KB for the server, and as much for each user')
  const [perMinute, burst] = stated('connects to api.example.org \\(GET\\), at most # a minute after # at once')
  const [cachedS] = stated('uses answers of services to get again for up to # s')
  t.same([heapMB, quotaKB, perMinute, cachedS], [16, 1, 18, 4])

  /** The message that a search fails with. A process that gets no processor is killed before it can say why: it is asked again. */
  const refusalOf = async (query: string) => {
    for (let tries = 1; ; tries++) {
      const message = await search(query).then(
        () => 'it has not failed',
        (error: Error) => error.message,
      )
      if (tries === 3 || !message.includes('did not return in time')) return message
      await host.pluginLifecycle.reset(id)
    }
  }
  await search('some')
  t.match(await refusalOf('wall'), new RegExp(`time limit of ${(wallS ?? 0) * 1000} ms`))
  await t.rejects(search('cpu'), spent(cpuMs, wallS))
  t.match(await refusalOf('memory'), new RegExp(`memory limit of ${heapMB} MB`))
  await host.pluginLifecycle.reset(id)

  const apart = async (method: 'setup' | 'migrate', limit: { message: RegExp }) => {
    await host.plugins.edit(id, { config: { work: 'cpu' } })
    await t.rejects(host.pluginCalls.runApart(await host.plugins.get(id), method, { userId: null, input: 1 }), limit, method)
    await host.plugins.edit(id, { config: {} })
  }
  await apart('setup', spent(setupCpuMs, setupS))
  await apart('migrate', spent(migrateCpuMs, migrateS))
  const endless = pluginOf(`for (;;);\n${MAIN}`, { ...MANIFEST, id: 'org.example.endless' })
  await t.rejects(host.pluginLifecycle.install(endless, { userId: null }), spent(loadCpuMs, loadS))

  const refresh = async (work: string) => {
    await agree(host, database, { pluginId: id, userId }, { work })
    return await call('recommendations.refresh', { limit: 1 }, userId)
  }
  const bytes = (quotaKB ?? 0) * 1024 - 10
  for (const stores of [search, refresh]) {
    await stores(`store ${bytes}`)
    await t.rejects(stores(`store ${bytes + 20}`), { message: new RegExp(`the limit is ${(quotaKB ?? 0) * 1024}`) })
  }

  await search(`ask ${burst}`)
  t.equal(way.asked.length, burst)
  await t.rejects(search('ask 2 1000'), { message: /Too many requests to api\.example\.org/ })
  await sleep(60_000 / (perMinute ?? 1) + 500)
  const asked = way.asked.length
  await call('metadata.series.get', { externalId: 'ask 1' })
  await call('metadata.series.get', { externalId: 'ask 1' })
  t.equal(way.asked.length, asked + 1, 'the second answer is that of before')
  await sleep((cachedS ?? 0) * 1000 + 60_000 / (perMinute ?? 1))
  await call('metadata.series.get', { externalId: 'ask 1' })
  t.equal(way.asked.length, asked + 2, 'which is too old now')

  await t.rejects(refresh('cpu'), spent(refreshCpuMs, refreshS))
})
