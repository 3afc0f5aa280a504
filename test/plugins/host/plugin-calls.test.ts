import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { addCaller } from '#test/support/library-rows.ts'
import { agree, openHostOn, openTestHost } from '#test/support/plugin-hosts.ts'

t.setTimeout(60_000)

/** Stores its configuration at setup, as plugins do that prepare something once. */
const KEEPING = `let kept
export default {
  setup(ctx) { kept = ctx.config.word + ' ' + (ctx.userConfig.word ?? '') },
  metadata: { series: { search: (_, ctx) => ({ results: [{ externalId: '1', title: kept }] }), get: () => ({ externalId: '1' }) } } }`
const word = (fallback: string) => ({ type: 'object', properties: { word: { type: 'string', default: fallback } } })
const search = { method: 'metadata.series.search', input: { query: '', limit: 1 } }
const titleOf = ({ result }: { result: unknown }) => (result as { results: { title: string }[] }).results[0]?.title

t.test('a configuration from another server applies to the next call', async (t) => {
  const { host, run, database } = await openTestHost(t)
  const { id: pluginId } = await run(KEEPING, { config: word('one'), userConfig: word('a') })
  const { userId } = await addCaller(database)
  await agree(host, database, { pluginId, userId })
  const { host: other } = await openHostOn(t, database)
  t.equal(titleOf(await host.pluginCalls.call({ ...search, pluginId, userId: null })), 'one')
  t.equal(titleOf(await host.pluginCalls.call({ ...search, pluginId, userId })), 'one a')
  await other.plugins.edit(pluginId, { config: { word: 'two' } })
  t.equal(titleOf(await host.pluginCalls.call({ ...search, pluginId, userId: null })), 'two')
  await database('user_plugins').update({ config: JSON.stringify({ word: 'b' }) })
  t.equal(titleOf(await host.pluginCalls.call({ ...search, pluginId, userId })), 'two b')
})

t.test('whom the setup or the migration of a plugin contacts is on record', async (t) => {
  const { host, run } = await openTestHost(t)
  const { id: pluginId } = await run(
    `const contact = (ctx, path) => ctx.fetch('https://api.example.org/' + path).then(() => {})
export default {
  setup: (ctx) => contact(ctx, 'setup'), migrate: (ctx) => contact(ctx, 'migrate'),
  metadata: { series: { search: () => ({ results: [{ externalId: '1', title: 'x' }] }), get: () => ({ externalId: '1' }) } } }`,
    { dataVersion: 2, permissions: { network: [{ host: 'api.example.org', reason: 'Test' }] } },
  )
  await host.pluginCalls.call({ ...search, pluginId, userId: null })
  await host.pluginCalls.runApart(await host.plugins.get(pluginId), 'migrate', { userId: null, input: { from: 1, to: 2 } })
  const contacts = host.pluginLogs
    .calls(pluginId)
    .map(({ method, userId, code, fetches }) => ({ method, userId, code, hosts: fetches.map(({ host }) => host) }))
  for (const method of ['setup', 'migrate'])
    t.match(
      contacts.filter((one) => one.method === method).at(-1),
      { method, userId: null, code: 'ok', hosts: ['api.example.org'] },
      JSON.stringify(contacts),
    )
})

t.test('whom a setup contacts that is repeated in a new isolate is on record', async (t) => {
  const { host, run } = await openTestHost(t)
  const { id: pluginId, call } = await run(
    `export default {
  async setup(ctx) { if (await ctx.storage.get('again')) await ctx.fetch('https://api.example.org/again') },
  metadata: { series: {
    async search({ query }, ctx) {
      if (query === 'again') await ctx.storage.set('again', true)
      if (query === 'endless') for (;;);
      return { results: [] }
    },
    get: () => ({ externalId: '1' }) } } }`,
  )
  const method = 'metadata.series.search'
  const contacts = () => host.pluginLogs.calls(pluginId).flatMap((one) => one.fetches.map(({ host }) => [one.method, one.code, host]))
  await call(method, { query: 'again', limit: 1 })
  t.same(contacts(), [], 'the first setup contacts nobody')
  await t.rejects(call(method, { query: 'endless', limit: 1 }))
  await call(method, { query: 'One', limit: 1 })
  t.same(contacts(), [['setup', 'ok', 'api.example.org']])
})

t.test('a plugin that is removed during a call is not found', async (t) => {
  const { host, run, database } = await openTestHost(t)
  const { id: pluginId } = await run(KEEPING, { config: word('one'), userConfig: word('a') })
  const { userId } = await addCaller(database)
  const holder = await database.transaction()
  await holder.raw('LOCK TABLE user_plugins IN ACCESS EXCLUSIVE MODE')
  const call = host.pluginCalls.call({ ...search, pluginId, userId })
  call.catch(() => {})
  // The call waits for the lock by then.
  await sleep(200)
  await holder('plugins').where({ id: pluginId }).delete()
  await holder.commit()
  await t.rejects(call, { code: 'not_found' })
})
