import t from 'tap'
import { PRIVATE } from '#core/account/private-words.ts'
import type { Log } from '#core/foundation/log.ts'
import { listFailures } from '#plugins/host/plugin-store.ts'
import { deleteUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { agree, fine, openTestHost } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const WORDS = 'rated eighty-seven'
const capabilities = { recommendations: { methods: ['get'] } }

/** A host whose log is kept as text. */
async function openLogged(t: Parameters<typeof openTestHost>[0]) {
  const written: string[] = []
  const write = (fields: object, message: string) => void written.push(`${JSON.stringify(fields)} ${message}`)
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const opened = await openTestHost(t, fine, { log })
  const addReader = async (pluginId: string) => {
    const user = { pluginId, userId: (await addCaller(opened.database)).userId }
    await agree(opened.host, opened.database, user)
    return user
  }
  return { ...opened, written: () => written.join('\n'), addReader }
}

t.test('why a plugin is in quarantine tells nothing about the users for whom it ran', async (t) => {
  const { host, run, addReader, written } = await openLogged(t)
  const main = `export default { recommendations: { async get(_, ctx) {
    Promise.reject(new Error('${WORDS}'))
    await ctx.sleep(20)
    for (;;);
  } } }`
  const { id } = await run(main, { capabilities, limits: { cpuMs: 50 } })
  for (let number = 0; number < 3; number++)
    await t.rejects(host.pluginCalls.call({ ...(await addReader(id)), method: 'recommendations.get', input: { limit: 1 } }), {
      message: /./,
    })
  const { state, stateReason } = await host.plugins.get(id)
  t.equal(state, 'quarantined')
  t.ok(stateReason?.includes(PRIVATE), stateReason ?? '')
  t.notOk(`${stateReason} ${written()}`.includes(WORDS))
})

t.test('what is left out of an answer for a user is not in the log of the server', async (t) => {
  const { host, run, addReader, written } = await openLogged(t)
  const item = `{ externalId: '1', title: 'One', score: 1, reason: 'So', externalUrl: 'https://${WORDS.replaceAll(' ', '-')}.example/' }`
  const { id } = await run(`export default { recommendations: { get: () => ({ recommendations: [${item}] }) } }`, { capabilities })
  await host.pluginCalls.call({ ...(await addReader(id)), method: 'recommendations.get', input: { limit: 1 } })
  t.ok(written().includes(PRIVATE))
  t.notOk(written().includes('eighty-seven'))
})

t.test('an update that cannot convert the data of a user tells who updates nothing about it', async (t) => {
  const { host, addReader } = await openLogged(t)
  const main = `export default {
    async migrate(ctx) { if ((await ctx.storage.get('data')) !== null) throw new Error('${WORDS}') },
    recommendations: { async get(_, ctx) { await ctx.storage.set('data', 1); return { recommendations: [] } } },
  }`
  const version = (dataVersion: number) =>
    pluginOf(main, { capabilities, dataVersion, version: `${dataVersion}.0.0`, permissions: { storage: { quotaKB: 16 } } })
  const { plugin, sha256 } = await host.pluginLifecycle.install(version(1), { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  await host.pluginCalls.call({ ...(await addReader(plugin.id)), method: 'recommendations.get', input: { limit: 1 } })
  const next = await host.pluginLifecycle.install(version(2), { userId: null })
  const error = await host.pluginLifecycle.consent(plugin.id, next).catch((error: Error) => error)
  t.match(error, { message: /cannot take over/ })
  t.notOk((error as Error).message.includes(WORDS), (error as Error).message)
})

t.test('failures of calls for a user go with the user, and with the data of the plugin about the user', async (t) => {
  const { host, database, run, addReader } = await openLogged(t)
  const { id } = await run(`export default { recommendations: { get() { throw new Error('${WORDS}') } } }`, { capabilities })
  const [ann, bob] = [await addReader(id), await addReader(id)]
  for (const user of [ann, bob]) await t.rejects(host.pluginCalls.call({ ...user, method: 'recommendations.get', input: { limit: 1 } }))
  const left = async () => (await listFailures(database, id, { offset: 0, limit: 10 })).items.map(({ userId }) => userId)
  t.same((await left()).toSorted(), [ann.userId, bob.userId].toSorted())
  await database('users').where({ id: ann.userId }).delete()
  t.same(await left(), [bob.userId])
  await deleteUserPlugin(database, bob)
  t.same(await left(), [])
})
