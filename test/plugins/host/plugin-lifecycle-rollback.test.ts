import t from 'tap'
import { findConsent } from '#plugins/consent/consent-store.ts'
import { openTestHost } from '#test/support/plugin-hosts.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

/** Throws for the input `bad`. */
const saying = (word: string) => `export default { metadata: { series: {
  search({ query }) {
    if (query === 'bad') throw new Error('no good')
    return { results: [{ externalId: '1', title: '${word}' }] }
  },
  get: () => ({ externalId: '1' }) } } }`

type Host = Awaited<ReturnType<typeof openTestHost>>['host']
const asker = (host: Host, pluginId: string) => (query: string) =>
  host.pluginCalls.call({ pluginId, method: 'metadata.series.search', input: { query, limit: 1 }, userId: null })

t.test('no rollback brings back rights that were given up', async (t) => {
  const wide = { permissions: { network: [{ host: 'a.example.org', reason: 'All.' }], storage: { quotaKB: 100 } } }
  const begging = saying('two').replace('no good', 'Please consent to 2.0.1". 1.0.0 runs again. "')
  for (const isByHand of [true, false]) {
    const { host, run } = await openTestHost(t)
    const { id } = await run(saying('one'), wide)
    const { sha256: first } = await host.plugins.get(id)
    const narrow = { permissions: { storage: { quotaKB: 50 } } }
    const update = await host.pluginLifecycle.install(pluginOf(begging, { version: '2.0.0', ...narrow }), { userId: null })
    if ((await host.plugins.get(id)).version !== '2.0.0') await host.pluginLifecycle.consent(id, update)
    if (isByHand) {
      const more = new RegExp(
        `1\\.0\\.0 waits for consent, because it connects to a\\.example\\.org \\(GET\\), stores up to 100 KB .*no longer stores up to 50 KB .*consent to its SHA-256 to run it: ${first}`,
      )
      for (const which of [{}, { sha256: first }])
        await t.rejects(host.pluginLifecycle.rollBack(id, which), { code: 'conflict', message: more })
    } else {
      for (let times = 0; times < 5; times++) await t.rejects(asker(host, id)('bad'), { code: 'unavailable' })
      t.match(
        (await host.plugins.get(id)).stateReason,
        /^2\.0\.0 failed right after the update \(the plugin says: ".*Please consent to 2\.0\.1\\".*"\); 1\.0\.0 does not run again by itself: it waits for consent, because it connects to a/,
      )
    }
    t.match(await host.plugins.get(id), { version: '2.0.0', granted: { network: [], storageKB: 50 } })
    await host.pluginLifecycle.install(pluginOf(saying('three'), { version: '3.0.0', name: 'Three' }), { userId: null })
    t.match(
      await host.pluginLifecycle.consent(id, { sha256: first }),
      { version: '1.0.0', state: 'enabled' },
      'a person may go back, whatever waits',
    )
  }
})

t.test('a rollback compares all that a version can cause with what was agreed to', async (t) => {
  const oauth2 = { authorizeUrl: 'https://a.example.org/in', tokenUrl: 'https://a.example.org/token', scopes: ['read'] }
  const auth = {
    type: 'oauth2',
    scope: 'server',
    bind: { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}' },
    oauth2,
  }
  const earlier: [Record<string, unknown>, RegExp][] = [
    [{ auth: { ...auth, oauth2: { ...oauth2, scopes: ['read', 'delete'] } } }, /asks there for 2 scopes/],
    [{ auth: { ...auth, oauth2: { ...oauth2, authorizeUrl: 'https://a.example.org/r?to=evil.example' } } }, /sign in at .*\/r\?to=evil/],
    [{ auth: { ...auth, oauth2: { ...oauth2, pkce: false } } }, /does not protect the code of the sign-in by PKCE/],
    [{ auth, capabilities: { 'metadata.series': { methods: ['search', 'get'], idSource: 'other' } } }, /the identifiers of other/],
  ]
  const { host } = await openTestHost(t)
  for (const [index, [change, words]] of earlier.entries()) {
    const id = `org.example.p${index}`
    const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(saying('one'), { id, ...change }), { userId: null })
    await host.pluginLifecycle.consent(plugin.id, { sha256 })
    await host.pluginLifecycle.consent(
      plugin.id,
      await host.pluginLifecycle.install(pluginOf(saying('two'), { id, auth, version: '2.0.0' }), { userId: null }),
    )
    await t.rejects(host.pluginLifecycle.rollBack(plugin.id), { code: 'conflict', message: words })
    t.match(await host.plugins.get(plugin.id), { version: '2.0.0', state: 'enabled' })
  }
})

t.test('what is given up by a rollback needs consent again', async (t) => {
  const wide = { permissions: { network: [{ host: 'a.example.org', reason: 'All.' }], storage: { quotaKB: 100 } } }
  const narrow = { permissions: { storage: { quotaKB: 50 } } }
  for (const isByHand of [true, false]) {
    const { host, run, database } = await openTestHost(t)
    const { id } = await run(saying('one'), narrow)
    await host.pluginLifecycle.consent(
      id,
      await host.pluginLifecycle.install(pluginOf(saying('two'), { version: '2.0.0', ...wide }), { userId: null }),
    )
    const given = await findConsent(database, id)
    if (isByHand) await host.pluginLifecycle.rollBack(id)
    else for (let times = 0; times < 5; times++) await t.rejects(asker(host, id)('bad'), { code: 'unavailable' })
    t.match(await host.plugins.get(id), { version: '1.0.0', granted: { network: [], storageKB: 50 } }, 'less runs at once')
    const { review } = await host.plugins.review(id, (await host.plugins.get(id)).sha256)
    t.match(await findConsent(database, id), {
      recordHash: review.recordHash,
      sha256: given?.sha256,
      consentedAt: given?.consentedAt as Date,
    })
    t.same(review.waitsFor, [])
    const again = await host.pluginLifecycle.install(pluginOf(saying('three'), { version: '2.0.1', ...wide }), { userId: null })
    t.match(again, {
      waitsFor: [/connects to a\.example\.org/, /stores up to 100 KB/, /no longer stores up to 50 KB/],
      plugin: { version: '1.0.0' },
    })
  }
})

t.test('a rollback to a version that is not older names the command that runs it', async (t) => {
  const { host, run } = await openTestHost(t)
  const { id } = await run(saying('one'))
  const { sha256: first } = await host.plugins.get(id)
  const more = { version: '2.0.0', permissions: { storage: { quotaKB: 64 } } }
  const { sha256 } = await host.pluginLifecycle.install(pluginOf(saying('two'), more), { userId: null })
  await t.rejects(host.pluginLifecycle.rollBack(id, { sha256 }), {
    code: 'conflict',
    message:
      'org.example.echo 2.0.0 is not older than 1.0.0, which runs. To run it: POST /api/v1/admin/plugins/org.example.echo/consent with ' +
      `{"sha256":"${sha256}"}`,
  })
  await t.rejects(host.pluginLifecycle.rollBack(id, { sha256: first }), {
    code: 'conflict',
    message: 'org.example.echo 1.0.0 runs already.',
  })
})
