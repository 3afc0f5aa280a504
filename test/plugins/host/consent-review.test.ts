import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { findConsent } from '#plugins/consent/consent-store.ts'
import { addRepository, addRevocations } from '#plugins/repositories/plugin-repository-store.ts'
import { openHostOn, openTestHost } from '#test/support/plugin-hosts.ts'
import { manifestOf, pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const MAIN = 'export default { migrate() {}, metadata: { series: { search: () => ({ results: [] }), get: () => ({ externalId: "1" }) } } }'
const someone = { userId: null }

t.test('what was agreed to is stored with the switch to the version, and an update that causes the same runs at once', async (t) => {
  const { host, database } = await openTestHost(t)
  const first = await host.pluginLifecycle.install(pluginOf(MAIN), someone)
  t.equal(first.review.agreed, null)
  const { id } = first.plugin
  t.equal(await findConsent(database, id), null)
  await host.pluginLifecycle.consent(id, first)
  const consent = await findConsent(database, id)
  t.match(consent, { sha256: first.sha256, recordHash: first.review.recordHash, record: first.review.record, consentedAt: Date })
  const same = await host.pluginLifecycle.install(pluginOf(MAIN, { version: '1.0.1', summary: 'Another text' }), someone)
  t.match(same, { waitsFor: [], plugin: { version: '1.0.1' }, review: { differences: [], recordHash: first.review.recordHash } })
  t.same(await findConsent(database, id), consent, 'the consent is that of the person')
})

t.test('changes outside of permissions wait for consent', async (t) => {
  const auth = {
    ...{ type: 'oauth2', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}' } },
    oauth2: { authorizeUrl: 'https://api.example.org/login', tokenUrl: 'https://api.example.org/token', scopes: ['read'] },
  }
  const member = { type: 'boolean', title: 'Send my ratings', default: false }
  const base = {
    ...{ auth, author: { name: 'A' }, http: { rateLimit: { 'api.example.org': { perMinute: 10, burst: 2 } } } },
    userConfig: { type: 'object', properties: { send: member } },
    capabilities: { 'metadata.series': { methods: ['search', 'get'], idSource: 'a' }, webLinks: { series: 'https://a.example/{id}' } },
  }
  const { host, run } = await openTestHost(t)
  const { id } = await run(MAIN, base)
  const changes: Record<string, Record<string, unknown>> = {
    '/manifest/auth/oauth2/scopes/delete': { auth: { ...auth, oauth2: { ...auth.oauth2, scopes: ['read', 'delete'] } } },
    '/manifest/auth/oauth2/pkce': { auth: { ...auth, oauth2: { ...auth.oauth2, pkce: false } } },
    '/manifest/auth/oauth2/authorizeUrl': { auth: { ...auth, oauth2: { ...auth.oauth2, authorizeUrl: 'https://api.example.org/r?to=x' } } },
    '/manifest/auth/bind/header': { auth: { ...auth, bind: { ...auth.bind, header: 'Referer' } } },
    '/manifest/capabilities/webLinks/search': {
      capabilities: { ...base.capabilities, webLinks: { ...base.capabilities.webLinks, search: 'https://collector.example/?q={title}' } },
    },
    '/manifest/capabilities/metadata.series/idSource': {
      capabilities: { ...base.capabilities, 'metadata.series': { methods: ['search', 'get'], idSource: 'b' } },
    },
    '/manifest/userConfig/properties/send/default': { userConfig: { type: 'object', properties: { send: { ...member, default: true } } } },
    '/manifest/name': { name: 'Other' },
    '/manifest/author/name': { author: { name: 'B' } },
    '/manifest/dataVersion': { dataVersion: 2 },
    '/manifest/http/rateLimit/api.example.org/perMinute': { http: { rateLimit: { 'api.example.org': { perMinute: 20, burst: 2 } } } },
    '/manifest/permissions/network/api.example.org/reason': {
      permissions: { network: [{ host: 'api.example.org', methods: ['GET', 'POST'], reason: 'Another' }], storage: { quotaKB: 16 } },
    },
  }
  for (const [index, [path, change]] of Object.entries(changes).entries()) {
    const { review, plugin } = await host.pluginLifecycle.install(
      pluginOf(MAIN, { ...base, ...change, version: `1.0.${index + 1}` }),
      someone,
    )
    t.ok(review.waitsFor.length > 0, path)
    t.same(
      review.differences.map((one) => one.path),
      [path],
    )
    t.equal(plugin.version, '1.0.0')
  }
  t.equal((await host.plugins.get(id)).version, '1.0.0')
})

t.test('a consent is for the newest stored package that may run, and nothing else', async (t) => {
  const { host, run, database } = await openTestHost(t)
  const { id } = await run(MAIN)
  const two = await host.pluginLifecycle.install(pluginOf(MAIN, { version: '2.0.0', name: 'Two' }), someone)
  const three = await host.pluginLifecycle.install(pluginOf(MAIN, { version: '3.0.0', name: 'Three' }), someone)
  // A clock that was set back changes nothing.
  await database('plugin_versions').where({ version: '3.0.0' }).update({ installed_at: '2001-01-01' })
  const newer = { code: 'conflict', message: new RegExp(`3\\.0\\.0 \\(${three.sha256}\\) was stored after 2\\.0\\.0`) }
  await t.rejects(host.pluginLifecycle.consent(id, two), newer)
  await t.rejects(host.pluginLifecycle.consent(id, { sha256: (await host.plugins.get(id)).sha256 }), {
    code: 'conflict',
    message: /was stored after 1\.0\.0/,
  })
  await t.rejects(host.pluginLifecycle.consent(id, { sha256: 'f'.repeat(64) }), { code: 'conflict', message: /is not a stored package/ })
  t.match(await host.plugins.review(id), { review: { sha256: three.sha256 } })
  const repository = await database.transaction((trx) =>
    addRepository(trx, { url: 'https://plugins.example.org/', name: 'x', publicKey: 'x', repositoriesMax: 5 }),
  )
  await addRevocations(database, repository as string, [
    { sha256: three.sha256, pluginKey: null, versionRange: null, reason: 'It steals.' },
  ])
  await t.rejects(host.pluginLifecycle.consent(id, three), { code: 'conflict', message: /It steals/ })
  t.match(await host.plugins.review(id), { review: { sha256: two.sha256 } })
  t.match(await host.pluginLifecycle.consent(id, two), { version: '2.0.0' })
  await t.rejects(host.plugins.review(id, 'f'.repeat(64)), { code: 'not_found' })
})

t.test('of two administrators who consent at once, one wins, and the other gets the state or a conflict', async (t) => {
  const { host, database, run } = await openTestHost(t)
  const { id } = await run(MAIN)
  const { host: other } = await openHostOn(t, database)
  const two = await host.pluginLifecycle.install(pluginOf(MAIN, { version: '2.0.0', name: 'Two' }), someone)
  const outcomes = await Promise.allSettled([host.pluginLifecycle.consent(id, two), other.pluginLifecycle.consent(id, two)])
  for (const one of outcomes)
    if (one.status === 'fulfilled') t.match(one.value, { version: '2.0.0', state: 'enabled' })
    else t.match(one.reason, { code: 'conflict', message: /changed meanwhile/ })
  t.ok(outcomes.some(({ status }) => status === 'fulfilled'))
  t.match(await host.pluginLifecycle.consent(id, two), { version: '2.0.0', state: 'enabled' }, 'and again later')
})

t.test('a package that arrives while a consent is given ends that consent', async (t) => {
  const arrived = Promise.withResolvers<void>()
  const { host, database, run, way } = await openTestHost(t, async (_request, response) => {
    await arrived.promise
    response.end('{}')
  })
  const { id } = await run(MAIN)
  const { host: other } = await openHostOn(t, database)
  const slow = MAIN.replace('default {', "default { async setup(ctx) { await ctx.fetch('https://api.example.org/') },")
  const permissions = { network: [{ host: 'api.example.org', reason: 'The service' }] }
  const two = await host.pluginLifecycle.install(pluginOf(slow, { version: '2.0.0', name: 'Two', permissions }), someone)
  const consent = host.pluginLifecycle.consent(id, two)
  consent.catch(() => {})
  while (way.asked.length === 0) await sleep(10)
  await other.pluginLifecycle.install(pluginOf(MAIN, { version: '3.0.0', name: 'Three' }), someone)
  arrived.resolve()
  await t.rejects(consent, { code: 'conflict', message: /stored meanwhile/ })
  t.match(await host.plugins.get(id), { version: '1.0.0' })
  t.match((await findConsent(database, id))?.record.manifest.name, 'Echo', 'nothing is stored')
})

t.test('a package that is revoked while its consent makes it start does not run', async (t) => {
  const revoked = Promise.withResolvers<void>()
  const { host, run, database, way } = await openTestHost(t, async (_request, response) => {
    await revoked.promise
    response.end('{}')
  })
  const { id, call } = await run(MAIN)
  const slow = MAIN.replace('default {', "default { async setup(ctx) { await ctx.fetch('https://api.example.org/') },")
  const two = await host.pluginLifecycle.install(pluginOf(slow, { version: '2.0.0', name: 'Two' }), someone)
  const consent = host.pluginLifecycle.consent(id, two)
  consent.catch(() => {})
  while (way.asked.length === 0) await sleep(10)
  const repository = await database.transaction((trx) =>
    addRepository(trx, { url: 'https://plugins.example.org/', name: 'x', publicKey: 'x', repositoriesMax: 5 }),
  )
  await addRevocations(database, repository as string, [{ sha256: two.sha256, pluginKey: null, versionRange: null, reason: 'It steals.' }])
  revoked.resolve()
  t.match(await consent, { state: 'revoked', stateReason: /2\.0\.0 was revoked\. Its repository says: "It steals/ })
  await t.rejects(call('metadata.series.search', { query: 'x', limit: 1 }), { code: 'conflict', message: /is revoked/ })
  await t.rejects(host.pluginLifecycle.consent(id, two), { code: 'conflict', message: /Its repository says: "It steals/ })
})

t.test('a plugin that ran before there were records keeps running, and says so until somebody consents', async (t) => {
  const { host, database, run } = await openTestHost(t)
  const { id, call } = await run(MAIN)
  await database('plugin_consents').delete()
  t.same(await call('metadata.series.search', { query: 'x', limit: 1 }), { results: [] })
  const { review } = await host.plugins.review(id)
  t.match(review, { differences: [], waitsFor: [], agreed: { consentedAt: null, recordHash: review.recordHash } })
  t.equal(await findConsent(database, id), null, 'looking grants nothing')
  const wider = await host.pluginLifecycle.install(pluginOf(MAIN, { version: '1.1.0', name: 'Other' }), someone)
  t.same(wider.waitsFor, ['is org.example.echo (the author names it: "Other", before: "Echo")'])
  t.match((await host.pluginLifecycle.install(pluginOf(MAIN, { version: '1.2.0' }), someone)).waitsFor, [], 'what causes the same runs')
  await host.pluginLifecycle.consent(id, await host.plugins.get(id))
  t.match((await host.plugins.review(id)).review, { agreed: { consentedAt: Date } })
})

t.test('an update of a plugin that ran before there were records gets no right that nobody was shown', async (t) => {
  const { host, database, run } = await openTestHost(t)
  const site = { type: 'string', default: 'https://collect.example.net' }
  const asks = { permissions: { networkFromConfig: ['site'] }, config: { type: 'object', properties: { site } } }
  const { id } = await run(MAIN, asks)
  await database('plugin_consents').delete()
  // Defaults of hosts were no right then.
  await database('plugins').update({ granted: database.raw(`granted - 'hostDefaults'`) })
  const before = (await host.plugins.get(id)).granted
  t.match(await host.pluginLifecycle.install(pluginOf(MAIN, { ...asks, version: '1.0.1' }), someone), {
    waitsFor: [],
    plugin: { version: '1.0.1' },
  })
  t.same((await host.plugins.get(id)).granted, before)
  await host.pluginLifecycle.rollBack(id)
  t.same((await host.plugins.get(id)).granted, before, 'nor does going back')
  await host.pluginLifecycle.consent(id, (await host.plugins.review(id)).version)
  t.match((await host.plugins.get(id)).granted, { hostDefaults: { site: 'https://collect.example.net' } }, 'whoever consents has seen it')
})

t.test('who signed it, and which repository it comes from, are part of what was agreed to', async (t) => {
  const { host } = await openTestHost(t)
  const key = generateKeyPairSync('ed25519').privateKey
  const from = { ...someone, repository: 'https://a.example/' }
  const first = await host.pluginLifecycle.install(pluginOf(MAIN, {}, [key]), from)
  await host.pluginLifecycle.consent(first.plugin.id, first)
  t.match(await host.pluginLifecycle.install(pluginOf(MAIN, { version: '1.0.1' }, [key]), from), { waitsFor: [] })
  const moved = await host.pluginLifecycle.install(pluginOf(MAIN, { version: '1.0.2' }, [key]), {
    ...{ ...someone, repository: 'https://b.example/', moveFrom: 'https://a.example/' },
  })
  t.same(moved.review.differences, [{ path: '/repository', kind: 'changed', before: 'https://a.example/', after: 'https://b.example/' }])
})

t.test('a record that nobody can review is refused before it is stored', async (t) => {
  const { host } = await openTestHost(t)
  const properties = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`m${index}`, { type: 'number', enum: Array.from({ length: 200 }, () => 1) }]),
  )
  const bytes = pluginOf(MAIN, manifestOf({ userConfig: { type: 'object', properties } }))
  await t.rejects(host.pluginLifecycle.install(bytes, someone), { code: 'invalid_value', message: /entries; the limit is 5000/ })
  t.same(await host.plugins.list(), [])
})
