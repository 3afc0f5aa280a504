import t from 'tap'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { agree, openHostOn, openTestHost } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(120_000)

t.test('safe mode: no way of administrators and users starts a plugin, at installation and to convert data neither', async (t) => {
  const { run, database, host: usual } = await openTestHost(t)
  const main = `export default { migrate() {}, setup() {}, recommendations: { get: () => ({ recommendations: [] }) } }`
  const manifest = { capabilities: { recommendations: { methods: ['get'] } }, permissions: { storage: { quotaKB: 16 } } }
  const version = (number: string, more: object = {}) => pluginOf(main, { ...manifest, version: number, ...more })
  const { id } = await run(main, manifest)
  const ann = { pluginId: id, userId: (await addCaller(database)).userId }
  const data = { plugin_id: id, data_version: 1, key: 'a', value: '1' }
  await database('plugin_storage').insert([data, { ...data, user_id: ann.userId }])
  await agree(usual, database, ann)
  const { sha256 } = await usual.pluginLifecycle.install(version('2.0.0', { dataVersion: 2 }), { userId: null })
  let started = 0
  const supervisor = {
    open: () => {
      started += 1
      throw new Error('nothing may start')
    },
  } as unknown as Supervisor
  const { host } = await openHostOn(t, database, undefined, { enabled: false, supervisor })
  const refused = { code: 'conflict', message: /safe mode/ }
  await t.rejects(host.pluginLifecycle.install(version('1.0.1'), { userId: null }), refused, 'an update that needs no consent')
  await t.rejects(
    host.pluginLifecycle.install(pluginOf(main, { ...manifest, id: 'org.example.new' }), { userId: null }),
    refused,
    'a new plugin',
  )
  await t.rejects(host.pluginLifecycle.consent(id, { sha256 }), refused, 'a version that converts data')
  await t.rejects(host.pluginCalls.runApart(await host.plugins.get(id), 'migrate', { userId: ann.userId, input: 1 }), refused)
  await t.rejects(host.pluginCalls.call({ ...ann, method: 'recommendations.get', input: { limit: 1 } }), refused)
  t.match(await host.plugins.test(id), { success: false, message: /safe mode/ })
  t.equal(started, 0)
  t.match(await host.plugins.get(id), { version: '1.0.0', state: 'enabled', dataVersion: 1 }, 'everything is as it was')
  t.equal((await host.plugins.versions(id)).length, 2)
})
