import t from 'tap'
import { eventAudience } from '#core/account/event-audience-query.ts'
import { Events } from '#core/events/follow.ts'
import { silentLog } from '#core/foundation/log.ts'
import { updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { agree, fine, openTestHost } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { until } from '#test/support/user-plugin-server.ts'

t.setTimeout(240_000)

const MAIN = 'export default { recommendations: { get: () => ({ recommendations: [] }) } }'
const manifestOf = (version: string, hosts: string[]) => ({
  version,
  capabilities: { recommendations: { methods: ['get'] } },
  config: { type: 'object', properties: { site: { type: 'string' } } },
  permissions: { network: hosts.map((host) => ({ host, reason: 'Lists' })), networkFromConfig: ['site'] },
})

t.test('a user for whom a plugin pauses is told, once for each pause, and the log says for how many', async (t) => {
  const said: string[] = []
  const log = { ...silentLog, info: (_fields: object, message: string) => void said.push(message) }
  const { host, database, run } = await openTestHost(t, fine, { log })
  const { id: pluginId } = await run(MAIN, manifestOf('1.0.0', []))
  const events = new Events({ database, log: silentLog, audience: eventAudience(database) })
  t.teardown(() => events.close())
  /** The types of the events about plugins that a user has received. */
  const follow = async () => {
    const caller = await addCaller(database, { role: 'admin' })
    const types: string[] = []
    let began = false
    events.follow(caller, { after: null }).start({
      take(delivery) {
        began = true
        for (const { event } of delivery) if (event !== null && 'pluginId' in event) types.push(event.type)
        return true
      },
      end() {},
    })
    await until(async () => began, 'the stream to begin')
    return { userId: caller.userId, count: () => types.filter((type) => type === 'user_plugin_paused').length, types }
  }
  const [ann, bob, cat] = [await follow(), await follow(), await follow()]
  for (const { userId } of [ann, bob]) await agree(host, database, { pluginId, userId })
  await updateUserPlugin(database, { pluginId, userId: bob.userId }, { enabled: false })
  const update = async (version: string, hosts: string[]) => {
    const { sha256, waitsFor } = await host.pluginLifecycle.install(pluginOf(MAIN, manifestOf(version, hosts)), { userId: null })
    if (waitsFor.length > 0) await host.pluginLifecycle.consent(pluginId, { sha256 })
    t.equal((await host.plugins.get(pluginId)).version, version)
  }
  let times = 0
  /** Everything until now has arrived when the event of a later change has. */
  const arrived = async () => {
    times += 1
    await host.pluginLifecycle.setEnabled(pluginId, false)
    await host.pluginLifecycle.setEnabled(pluginId, true)
    const has = ({ types }: typeof ann) => types.filter((type) => type === 'plugin_disabled').length >= times
    await until(async () => [ann, bob, cat].every(has), 'the events until now')
  }
  await update('1.0.1', [])
  await arrived()
  t.equal(ann.count(), 0, 'an update that asks for nothing pauses nothing')
  await update('1.1.0', ['lists.example.org'])
  await arrived()
  t.same([ann.count(), bob.count(), cat.count()], [1, 0, 0], 'only who uses it')
  t.match(
    said.filter((line) => line.includes('pauses')),
    [/asks its users for something else .* pauses for each of them/],
  )
  await update('1.2.0', ['lists.example.org', 'more.example.org'])
  await arrived()
  t.equal(ann.count(), 1, 'it is paused already')
  await agree(host, database, { pluginId, userId: ann.userId })
  await host.plugins.edit(pluginId, { config: { site: 'https://elsewhere.example.org' } })
  await arrived()
  t.equal(ann.count(), 2, 'another host that an administrator enters')
  await host.plugins.edit(pluginId, { config: { site: 'https://elsewhere.example.org' } })
  await arrived()
  t.equal(ann.count(), 2)
})
