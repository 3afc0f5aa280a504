import t from 'tap'
import { CONFIG_LENGTH_MAX, readConfig } from '#plugins/packages/plugin-config.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { agree, openTestHost } from '#test/support/plugin-hosts.ts'

t.setTimeout(60_000)

/** Behaves as each user has configured. */
const OBEYING = `export default { metadata: { series: {
  search(_, ctx) {
    if (ctx.userConfig.word === 'bad') throw new Error('no good')
    if (ctx.userConfig.word === 'loop') for (;;);
    return { results: [{ externalId: '1', title: String(ctx.userConfig.words?.length ?? 0) }] }
  },
  get: () => ({ externalId: '1' }) } } }`
const USER_CONFIG = {
  type: 'object',
  properties: {
    word: { type: 'string' },
    words: { type: 'array', items: { type: 'string', maxLength: 10_000 }, maxItems: 100 },
  },
}

t.test('the configuration of a user does not affect others', async (t) => {
  const { host, run, database } = await openTestHost(t)
  const { id: pluginId } = await run(OBEYING, { userConfig: USER_CONFIG, limits: { cpuMs: 100 } })
  const addReader = async (config: object) => {
    const { userId } = await addCaller(database)
    await agree(host, database, { pluginId, userId })
    await database('user_plugins')
      .where({ user_id: userId })
      .update({ config: JSON.stringify(config) })
    return async () =>
      (await host.pluginCalls.call({ pluginId, method: 'metadata.series.search', input: { query: '', limit: 1 }, userId })).result
  }
  const healthy = await addReader({})
  const bad = await addReader({ word: 'bad' })
  t.match(await healthy(), { results: [{ title: '0' }] })

  t.test('repeated failures for one user pause only the calls of that user', async (t) => {
    for (let times = 0; times < 5; times++) await t.rejects(bad(), { code: 'unavailable', message: /no good/ })
    await t.rejects(bad(), { code: 'unavailable', message: /Its calls pause/, retryAfterSeconds: Number })
    t.match(await healthy(), { results: [{ title: '0' }] })
    t.equal(host.plugins.healthOf(await host.plugins.get(pluginId)), 'healthy')
  })

  t.test('endless calls of one user do not quarantine the plugin', async (t) => {
    const loop = await addReader({ word: 'loop' })
    for (let times = 0; times < 4; times++) await t.rejects(loop(), { code: 'unavailable' })
    t.match(await host.plugins.get(pluginId), { state: 'enabled' })
    t.match(await healthy(), { results: [{ title: '0' }] })
  })

  t.test('a configuration that is too large is refused, and a stored one fails only for its user', async (t) => {
    const fitting = await addReader({ words: Array(30).fill('"'.repeat(530)) })
    t.match(await fitting(), { results: [{ title: '30' }] }, 'the maximum size, with any escapes')
    for (const words of [Array(9).fill('x'.repeat(10_000)), Array(99).fill('"'.repeat(9_999))]) {
      t.throws(() => readConfig(USER_CONFIG, { words }), { code: 'invalid_value', message: `the limit is ${CONFIG_LENGTH_MAX}` })
      const large = await addReader({ words })
      const outcomes = await Promise.allSettled([healthy(), large(), healthy(), large(), fitting()])
      t.same(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
      )
      t.match(outcomes[1], { reason: { code: 'unavailable', details: { code: 'config' } } })
    }
    t.equal(host.plugins.healthOf(await host.plugins.get(pluginId)), 'healthy')
  })

  t.test('failures for many users count against the plugin', async (t) => {
    for (let times = 0; times < 3; times++) await t.rejects((await addReader({ word: 'bad' }))(), { message: /no good/ })
    await t.rejects(healthy(), { code: 'unavailable', message: /Its calls pause/ })
    t.equal(host.plugins.healthOf(await host.plugins.get(pluginId)), 'degraded')
  })
})
