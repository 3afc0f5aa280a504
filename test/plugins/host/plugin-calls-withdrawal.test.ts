import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Client } from 'pg'
import t from 'tap'
import type { PluginHostServices } from '#api/areas/plugins.ts'
import { deleteUserPlugin, updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { agree, openHostOn, openTestHost } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { until } from '#test/support/user-plugin-server.ts'

t.setTimeout(240_000)

/** Sends requests until it is ended. */
const BUSY = `export default { recommendations: { async refresh(_, ctx) {
  for (;;) { await ctx.fetch('https://api.example.org/' + ctx.userConfig.who); await ctx.sleep(20) } } } }`
const MANIFEST = {
  capabilities: { recommendations: { methods: ['refresh'] } },
  userConfig: { type: 'object', properties: { who: { type: 'string', default: 'nobody' } } },
  config: { type: 'object', properties: { pace: { type: 'integer', default: 1 } } },
  auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'X-Key' } },
}
/** A running call must have ended by then, also on a busy machine. */
const ENDED_MS = 10_000

interface Reader {
  pluginId: string
  userId: string
}

/** What can be withdrawn, as another server or a command does it: the server that runs the call is not told. */
const WITHDRAWALS: Record<string, (other: { host: PluginHostServices; database: Knex }, ann: Reader) => Promise<unknown>> = {
  'the plugin is disabled': ({ host }, { pluginId }) => host.pluginLifecycle.setEnabled(pluginId, false),
  'the plugin is uninstalled': ({ host }, { pluginId }) => host.pluginLifecycle.uninstall(pluginId),
  'the plugin is revoked': ({ database }, { pluginId }) => database('plugins').where({ id: pluginId }).update({ state: 'revoked' }),
  'its credentials are removed': ({ host }, { pluginId }) => host.plugins.edit(pluginId, { credentials: {} }),
  'an administrator changes its settings': ({ host }, { pluginId }) => host.plugins.edit(pluginId, { config: { pace: 2 } }),
  'its permissions are taken away': ({ database }, { pluginId }) => database('plugins').where({ id: pluginId }).update({ granted: null }),
  'the user disables it': ({ database }, ann) => updateUserPlugin(database, ann, { enabled: false }),
  'the user deletes its data': ({ database }, ann) => deleteUserPlugin(database, ann),
  'the user changes the settings': ({ database }, ann) => updateUserPlugin(database, ann, { config: { who: 'annabel' } }),
  'the user is disabled': ({ database }, { userId }) => database('users').where({ id: userId }).update({ is_active: false }),
  'the user is deleted': ({ database }, { userId }) => database('users').where({ id: userId }).delete(),
}

for (const [title, withdraw] of Object.entries(WITHDRAWALS))
  t.test(`running calls end on every server when ${title}`, async (t) => {
    const { host, way, run, database } = await openTestHost(t)
    const { host: other } = await openHostOn(t, database)
    const { id: pluginId } = await run(BUSY, MANIFEST)
    const { userId } = await addCaller(database)
    const ann = { pluginId, userId }
    await agree(host, database, ann, { who: 'ann' })
    const call = host.pluginCalls.call({ ...ann, method: 'recommendations.refresh', input: { limit: 1 } })
    const ended = call.then(
      () => null,
      (error: Error) => error,
    )
    await until(async () => way.asked.some(({ url }) => url === '/ann'), 'the first request')
    const at = performance.now()
    await withdraw({ host: other, database }, ann)
    t.ok(await ended)
    t.ok(performance.now() - at < ENDED_MS, 'in time')
    // A request that was sent before the end arrives first.
    await sleep(20)
    const { length } = way.asked
    // What the plugin still had to send would be sent by then.
    await sleep(200)
    t.equal(way.asked.length, length, 'and nothing more is sent')
  })

/** Drops what is sent and received on every connection that `isMeant`, as a network does that fails without a word, until it is restored. */
function openCuts(database: Knex) {
  const clients: { client: Client; said: string[] }[] = []
  const acquire = database.client.acquireRawConnection.bind(database.client)
  database.client.acquireRawConnection = async () => {
    const client: Client = await acquire()
    const said: string[] = []
    const query = client.query.bind(client) as (...given: unknown[]) => unknown
    client.query = ((...given: unknown[]) => {
      said.push(typeof given[0] === 'string' ? given[0] : '')
      return query(...given)
    }) as Client['query']
    clients.push({ client, said })
    return client
  }
  return (isMeant: (said: readonly string[]) => boolean) => {
    const restore = clients
      .filter(({ said }) => isMeant(said))
      .map(({ client }) => {
        const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
        const held: (() => void)[] = []
        const write = stream.write.bind(stream) as (...given: unknown[]) => boolean
        stream.write = ((...given: unknown[]) => {
          held.push(() => write(...given))
          return true
        }) as Socket['write']
        stream.pause()
        return () => {
          stream.write = write as Socket['write']
          for (const send of held) send()
          stream.resume()
        }
      })
    const restoreAll = () => {
      for (const one of restore) one()
    }
    return { count: restore.length, restore: restoreAll }
  }
}

/** Probes each second, two seconds for an answer to one, and as long for the answer of the database to what may still run. */
const UNHEARD_MS = 7_000

t.test('a server whose connection the network has dropped without a word ends what was withdrawn', async (t) => {
  const { database } = await openTestDatabase(t)
  const cut = openCuts(database)
  const { host, way } = await openHostOn(t, database)
  const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(BUSY, MANIFEST), { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  const ann = { pluginId: plugin.id, userId: (await addCaller(database)).userId }
  await agree(host, database, ann, { who: 'ann' })
  const begin = () => {
    way.asked.length = 0
    return host.pluginCalls.call({ ...ann, method: 'recommendations.refresh', input: { limit: 1 } }).then(
      () => null,
      (error: Error) => error,
    )
  }
  const runs = () => until(async () => way.asked.length > 0, 'the first request')

  const ended = begin()
  await runs()
  const listener = cut((said) => said.includes('LISTEN carrel_plugin'))
  t.equal(listener.count, 1)
  const at = performance.now()
  await updateUserPlugin(database, ann, { enabled: false })
  t.match(await ended, { code: 'conflict' })
  t.ok(performance.now() - at < UNHEARD_MS + ENDED_MS, 'in time')
  listener.restore()

  await updateUserPlugin(database, ann, { enabled: true })
  const cutOff = begin()
  await runs()
  const all = cut(() => true)
  await sleep(UNHEARD_MS)
  const { length } = way.asked
  // Long enough for several further requests of a call that still runs.
  await sleep(500)
  t.equal(way.asked.length, length, 'a server that knows nothing of its database runs nothing')
  all.restore()
  t.ok(await cutOff)
})

t.test('what one user withdraws ends no call of another', async (t) => {
  const { host, way, run, database } = await openTestHost(t)
  const { id: pluginId } = await run(BUSY, MANIFEST)
  const [ann, bob] = [
    { pluginId, userId: (await addCaller(database)).userId },
    { pluginId, userId: (await addCaller(database)).userId },
  ]
  await agree(host, database, ann, { who: 'ann' })
  await agree(host, database, bob, { who: 'bob' })
  const calls = [ann, bob].map((user) =>
    host.pluginCalls.call({ ...user, method: 'recommendations.refresh', input: { limit: 1 } }).catch((error) => error),
  )
  const requestsOf = (who: string) => way.asked.filter(({ url }) => url === `/${who}`).length
  await until(async () => requestsOf('ann') > 0 && requestsOf('bob') > 0, 'requests of both')
  await updateUserPlugin(database, ann, { enabled: false })
  t.match(await calls[0], { code: 'conflict' })
  const before = requestsOf('bob')
  await until(async () => requestsOf('bob') > before + 3, 'further requests for bob')
  await host.pluginLifecycle.setEnabled(pluginId, false)
  await calls[1]
})

t.test('an isolate that begins right after a change is not ended by the news of it', async (t) => {
  const { host, run, database } = await openTestHost(t)
  const { id: pluginId } = await run(
    `export default { recommendations: { async get(_, ctx) { await ctx.sleep(50); return { recommendations: [] } } } }`,
    {
      capabilities: { recommendations: { methods: ['get'] } },
    },
  )
  const { userId } = await addCaller(database)
  await agree(host, database, { pluginId, userId })
  for (let time = 0; time < 5; time++) {
    await host.pluginLifecycle.setEnabled(pluginId, false)
    await host.pluginLifecycle.setEnabled(pluginId, true)
    await host.pluginCalls.call({ pluginId, userId, method: 'recommendations.get', input: { limit: 1 } })
  }
  t.pass('all calls were answered')
})

t.test('after all its data is deleted, a plugin receives no earlier answer and stores nothing', async (t) => {
  let answers = 0
  const { host, way, run, database } = await openTestHost(t, (_request, response) => {
    response.setHeader('cache-control', 'max-age=600')
    response.end(String(++answers))
  })
  const main = `export default { recommendations: { async get(_, ctx) {
    const title = await (await ctx.fetch('https://api.example.org/rated')).text()
    return { recommendations: [{ externalId: '1', title, score: 0.5, reason: 'So' }] } } } }`
  const { id: pluginId } = await run(main, {
    capabilities: { recommendations: { methods: ['get'] } },
    http: { cacheTtl: { get: 600 } },
  })
  const { userId } = await addCaller(database)
  const ann = { pluginId, userId }
  const titles = async () => {
    const { result } = await host.pluginCalls.call({ ...ann, method: 'recommendations.get', input: { limit: 1 } })
    return (result as { recommendations: { title: string }[] }).recommendations.map(({ title }) => title)
  }
  await agree(host, database, ann)
  t.same([await titles(), await titles()], [['1'], ['1']], 'the second is the cached one')
  await deleteUserPlugin(database, ann)
  await agree(host, database, ann)
  t.same(await titles(), ['2'], 'the service was asked again')
  t.equal(way.asked.length, 2)
})
