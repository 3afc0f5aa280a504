import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import type { PluginHostServices } from '#api/areas/plugins.ts'
import { findConsent } from '#plugins/consent/consent-store.ts'
import { addRepository, addRevocations } from '#plugins/repositories/plugin-repository-store.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { openHostOn, openTestHost, SECRETS } from '#test/support/plugin-hosts.ts'
import { type Loopback, pluginOf, updateOf } from '#test/support/plugins.ts'
import { until } from '#test/support/user-plugin-server.ts'

t.setTimeout(240_000)

/** Returns its word, throws for the input `bad`, and stores the last input. */
const saying = (word: string, more = '') => `export default { ${more} metadata: { series: {
  async search({ query }, ctx) {
    if (query === 'bad') throw new Error('no good')
    const before = await ctx.storage.get('last')
    await ctx.storage.set('last', query)
    return { results: [{ externalId: '1', title: '${word} ' + JSON.stringify(before) }] }
  },
  get: () => ({ externalId: '1' }) } } }`

/** In the code of a plugin. */
const ASKING = "await ctx.fetch('https://api.example.org/')"

type Host = Awaited<ReturnType<typeof openTestHost>>['host']
const asker = (host: Host, pluginId: string) => async (query: string) => {
  const { result } = await host.pluginCalls.call({ pluginId, method: 'metadata.series.search', input: { query, limit: 1 }, userId: null })
  return (result as { results: { title: string }[] }).results[0]?.title
}

t.test('manual rollback: to the previous version with its data', async (t) => {
  const { host, run } = await openTestHost(t)
  const { id } = await run(saying('one'))
  const ask = asker(host, id)
  await t.rejects(host.pluginLifecycle.rollBack(id), { code: 'conflict', message: /no other version/ })
  t.equal(await ask('a'), 'one null')
  const migrate = `async migrate(ctx, from) { await ctx.storage.set('last', 'migrated from ' + from) },`
  const two = await host.pluginLifecycle.install(pluginOf(saying('two', migrate), { version: '2.0.0', dataVersion: 2 }), { userId: null })
  t.same(two.waitsFor, ['has version 2 of its stored data', 'no longer has version 1 of its stored data'])
  await host.pluginLifecycle.consent(id, two)
  t.equal(await ask('b'), 'two "migrated from 1"')
  t.match(await host.pluginLifecycle.rollBack(id), { version: '1.0.0', state: 'enabled', dataVersion: 1 })
  t.equal(await ask('c'), 'one "a"', 'the old version does not read data of the new one')
  await t.rejects(host.pluginLifecycle.rollBack(id, { sha256: two.sha256 }), { code: 'conflict', message: /not older/ })
  await host.pluginLifecycle.consent(id, { sha256: two.sha256 })
  t.equal(await ask('d'), 'two "migrated from 1"', 'the current data is migrated again')
})

t.test('an update that cannot take over is deleted, and the previous version continues', async (t) => {
  const { host, run } = await openTestHost(t)
  const { id } = await run(saying('one'))
  const ask = asker(host, id)
  await ask('a')
  const failing = [
    [saying('two', `setup() { throw new Error('never ready') },`), {}, /cannot take over from 1.0.0: "never ready/],
    [saying('two', 'setup() { for (;;); },'), {}, /cannot take over/],
    [
      saying('two', `async migrate(ctx) { await ctx.storage.set('last', 'half done'); throw new Error('lost') },`),
      { dataVersion: 2 },
      /lost/,
    ],
    [saying('two'), { dataVersion: 2 }, /does not define migrate/],
  ] as const
  for (const [index, [main, manifest, message]] of failing.entries()) {
    const update = host.pluginLifecycle
      .install(pluginOf(main, { version: `2.0.${index}`, ...manifest }), { userId: null })
      .then(({ sha256 }) => host.pluginLifecycle.consent(id, { sha256 }))
    await t.rejects(update, { code: 'invalid_value', message })
  }
  t.same(
    (await host.plugins.versions(id)).map(({ version }) => version),
    ['2.0.2', '1.0.0'],
    'those that wait for consent stay',
  )
  t.equal(await ask('b'), 'one "a"')
  const away = saying(
    'two',
    `async setup(ctx) { await ctx.http.json('https://api.example.org/') ; throw Object.assign(new Error('x'), { code: 'upstream' }) },`,
  )
  t.same(
    (await host.pluginLifecycle.install(pluginOf(away, { version: '2.1.0' }), { userId: null })).waitsFor,
    [],
    'an outage of a service does not reject a version',
  )
})

t.test('an update of a plugin that is disabled runs nothing of it', async (t) => {
  const { host, way, run } = await openTestHost(t)
  const { id } = await run(saying('one'))
  await host.pluginLifecycle.setEnabled(id, false)
  const calling = saying('two', `async setup(ctx) { await ctx.http.json('https://api.example.org/setup') },`)
  t.match((await host.pluginLifecycle.install(pluginOf(calling, { version: '1.0.1' }), { userId: null })).plugin, {
    version: '1.0.1',
    state: 'disabled',
  })
  t.same(way.asked, [])
})

t.test('a new version that fails on probation is rolled back', async (t) => {
  const { host, run } = await openTestHost(t)
  const { id } = await run(saying('one'))
  const ask = asker(host, id)
  await host.pluginLifecycle.install(pluginOf(saying('two'), { version: '2.0.0' }), { userId: null })
  t.match(await ask('a'), /^two/)
  for (let times = 0; times < 5; times++) await t.rejects(ask('bad'), { code: 'unavailable' })
  t.match(await host.plugins.get(id), {
    version: '1.0.0',
    state: 'enabled',
    stateReason: /^2.0.0 failed right after the update \(the plugin says: ".*no good.*"\); 1.0.0 runs again\.$/,
  })
  t.match(await ask('b'), /^one/, 'without a wait: the pause was for the other version')

  await host.pluginLifecycle.install(pluginOf(saying('three'), { version: '3.0.0' }), { userId: null })
  t.match(await host.plugins.get(id), { version: '3.0.0', stateReason: null }, 'why the one before went back is over')
  for (let times = 0; times < 50; times++) await ask('a')
  t.match(await host.plugins.get(id), { probationCalls: 0 })
  for (let times = 0; times < 5; times++) await t.rejects(ask('bad'), { code: 'unavailable' })
  t.match(await host.plugins.get(id), { version: '3.0.0' }, 'a trusted version stays')
  await t.rejects(ask('a'), { code: 'unavailable', message: /Its calls pause/ })
  t.equal(host.plugins.healthOf(await host.plugins.get(id)), 'degraded')
})

t.test('a pause survives a restart, ends with a successful probe, and grows with a failed one', async (t) => {
  const { host, run, database } = await openTestHost(t)
  const { id } = await run(saying('one'))
  const ask = asker(host, id)
  for (let times = 0; times < 5; times++) await t.rejects(ask('bad'))
  const { host: restarted } = await openHostOn(t, database)
  await t.rejects(asker(restarted, id)('a'), { code: 'unavailable', retryAfterSeconds: Number })
  const elapse = async () => {
    const { breaker } = await restarted.plugins.get(id)
    const [[name, state]] = Object.entries(breaker as Record<string, { openUntil: number; pauseMs: number }>) as [
      [string, { openUntil: number; pauseMs: number }],
    ]
    await database('plugins')
      .where({ id })
      .update({ breaker: JSON.stringify({ [name]: { ...state, openUntil: 1 } }) })
    return state
  }
  const first = await elapse()
  const { host: later } = await openHostOn(t, database)
  await t.rejects(asker(later, id)('bad'), { code: 'unavailable', message: /no good/ }, 'one probe is allowed')
  await t.rejects(asker(later, id)('a'), { code: 'unavailable', message: /Its calls pause/ })
  t.equal((await elapse()).pauseMs, first.pauseMs * 2)
  const { host: latest } = await openHostOn(t, database)
  t.match(await asker(latest, id)('a'), /^one/)
  t.match(await asker(latest, id)('b'), /^one/)
  t.equal((await latest.plugins.get(id)).breaker, null)
})

t.test('a revoked version is not run, not installed and not a rollback target', async (t) => {
  const { host, run, database } = await openTestHost(t)
  const { id } = await run(saying('one'))
  const ask = asker(host, id)
  await host.pluginLifecycle.install(pluginOf(saying('two'), { version: '2.0.0' }), { userId: null })
  const repository = await database.transaction((trx) =>
    addRepository(trx, { url: 'https://plugins.example.org/', name: 'x', publicKey: 'x', repositoriesMax: 5 }),
  )
  const revoke = (versionRange: string) =>
    addRevocations(database, repository as string, [{ sha256: null, pluginKey: 'org.example.echo', versionRange, reason: 'It steals.' }])
  await revoke('^1.0.0')
  await t.rejects(host.pluginLifecycle.rollBack(id), { code: 'conflict', message: /revoked.*It steals/ })
  t.same(await host.pluginLifecycle.applyRevocations(), [])
  t.match(await ask('a'), /^two/)
  await revoke('>=2.0.0')
  t.same(await host.pluginLifecycle.applyRevocations(), [id])
  t.match(await host.plugins.get(id), { state: 'revoked', stateReason: /2.0.0 was revoked. Its repository says: "It steals/ })
  await t.rejects(ask('a'), { code: 'conflict', message: /revoked/ })
  await t.rejects(host.pluginLifecycle.setEnabled(id, true), { code: 'conflict', message: /It steals/ })
  await t.rejects(host.pluginLifecycle.consent(id, { sha256: (await host.plugins.get(id)).sha256 }), {
    code: 'conflict',
    message: /It steals/,
  })
  await t.rejects(host.pluginLifecycle.install(pluginOf(saying('x'), { version: '2.0.1' }), { userId: null }), {
    code: 'conflict',
    message: /It steals/,
  })
})

t.test('after a rollback to a version that is revoked, a newer stored version can run again', async (t) => {
  const { host, run, database } = await openTestHost(t)
  const { id } = await run(saying('one'))
  const { sha256: first } = await host.plugins.get(id)
  const newer = pluginOf(saying('two'), { version: '2.0.0' })
  const { sha256: second } = await host.pluginLifecycle.install(newer, { userId: null })
  await host.pluginLifecycle.rollBack(id)
  const repository = await database.transaction((trx) =>
    addRepository(trx, { url: 'https://plugins.example.org/', name: 'x', publicKey: 'x', repositoriesMax: 5 }),
  )
  await addRevocations(database, repository as string, [
    { sha256: null, pluginKey: 'org.example.echo', versionRange: '^1.0.0', reason: 'It steals.' },
  ])
  await host.pluginLifecycle.applyRevocations()
  t.match(await host.plugins.versions(id), [
    { version: '2.0.0', sha256: second, revoked: null },
    { version: '1.0.0', sha256: first, revoked: 'It steals.' },
  ])
  const here = /is here already(?:, with other content|\. To run it: )/
  await t.rejects(host.pluginLifecycle.install(newer, { userId: null }), { code: 'conflict', message: here })
  const none = /no earlier version .* Consent to the SHA-256 of another stored version to run that one: GET .*\/versions lists them/
  await t.rejects(host.pluginLifecycle.rollBack(id), { code: 'conflict', message: none })
  t.match(await host.pluginLifecycle.consent(id, { sha256: second }), { state: 'enabled', version: '2.0.0' })
  t.match(await asker(host, id)('a'), /^two/)
})

/** Until so many statements wait for a lock. */
async function waiting(database: Knex, statements: number) {
  for (const deadline = Date.now() + 60_000; ; await sleep(20)) {
    const { rows } = await database.raw(
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )
    if (rows[0].count >= statements) return
    if (Date.now() > deadline) throw new Error('Nobody waits.')
  }
}

t.test('of two concurrent first installations, the second is an update', async (t) => {
  const { host, database } = await openTestHost(t)
  const [ours, theirs] = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey]
  for (const [others, message] of [
    [pluginOf(saying('one'), {}, [ours]), /here already/],
    [pluginOf(saying('two'), { version: '2.0.0' }, [theirs]), /not signed with/],
  ] as const) {
    const holder = await database.transaction()
    await holder.raw('LOCK TABLE plugins IN SHARE MODE')
    const both = Promise.allSettled([
      host.pluginLifecycle.install(pluginOf(saying('one'), {}, [ours]), { userId: null }),
      host.pluginLifecycle.install(others, { userId: null }),
    ])
    await waiting(database, 2)
    await holder.rollback()
    const [refused, ...more] = (await both).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    t.same(more, [], 'there is one version')
    t.match(refused, { code: 'conflict' })
    if (message.test('here already')) t.match(refused, { message })
    t.equal((await host.plugins.list()).length, 1)
    await host.pluginLifecycle.uninstall((await host.plugins.list())[0]?.id as string)
  }
})

t.test('an update that gets consent meanwhile is not deleted', async (t) => {
  const consented = Promise.withResolvers<void>()
  const { host, run, database } = await openTestHost(t, async (_request, response) => {
    await consented.promise
    response.end('{}')
  })
  const { id } = await run(saying('one'))
  const slow = saying('two', `async setup(ctx) { ${ASKING} },`)
  const update = host.pluginLifecycle.install(pluginOf(slow, { version: '2.0.0' }), { userId: null })
  update.catch(() => {})
  while ((await host.plugins.versions(id)).length < 2) await sleep(10)
  const second = (await host.plugins.versions(id)).find(({ version }) => version === '2.0.0')?.id ?? ''
  // As another server would do it.
  await database('plugins').where({ id }).update({ version_id: second })
  consented.resolve()
  await t.rejects(update, { code: 'conflict', message: /changed meanwhile/ })
  t.match(await host.plugins.get(id), { version: '2.0.0', runningVersionId: second })
})

/** A service that never answers. */
const silent = () => {}

interface Disabling {
  way: Loopback
  other: PluginHostServices
  id: string
  call: () => Promise<unknown>
}

/** Disables a plugin on another server while a call of it waits for a service. */
async function disableDuringCall(t: Test, { way, other, id, call }: Disabling) {
  const last = call()
  last.catch(() => {})
  await until(async () => way.asked.length > 0, 'the plugin to be within the call')
  await other.pluginLifecycle.setEnabled(id, false)
  await t.rejects(last, { code: 'conflict', message: /An administrator has disabled "Echo"/ })
}

t.test('a plugin that was disabled on another server is not restarted by its last failure', async (t) => {
  const late = saying('two').replace(`if (query === 'bad') throw`, `if (query === 'late') ${ASKING}\n    if (query !== 'a') throw`)
  const { host, run, database, way } = await openTestHost(t, silent)
  const { id } = await run(saying('one'))
  const ask = asker(host, id)
  const { host: other } = await openHostOn(t, database)
  await host.pluginLifecycle.install(pluginOf(late, { version: '2.0.0' }), { userId: null })
  for (let times = 0; times < 4; times++) await t.rejects(ask('bad'))
  await disableDuringCall(t, { way, other, id, call: () => ask('late') })
  t.match(await host.plugins.get(id), { state: 'disabled' })
})

t.test('a plugin that breaks its sandbox while it is disabled elsewhere stays disabled', async (t) => {
  const bomb = saying('one').replace(`if (query === 'bad') throw`, `if (query === 'late') ${ASKING}\n    for (;;);\n    throw`)
  const { host, run, database, way } = await openTestHost(t, silent)
  const { id } = await run(bomb, { limits: { cpuMs: 100 } })
  const ask = asker(host, id)
  const { host: other } = await openHostOn(t, database)
  for (let times = 0; times < 2; times++) await t.rejects(ask('bad'), { code: 'unavailable' })
  await disableDuringCall(t, { way, other, id, call: () => ask('late') })
  t.match(await host.plugins.get(id), { state: 'disabled' })
})

t.test('calls of the previous version end, and do not count for the probation of the new one', async (t) => {
  const slow = saying('two').replace('const before', `if (query === 'slow') ${ASKING}\n    const before`)
  const { host, run, database, way } = await openTestHost(t, silent)
  const { id } = await run(saying('one'))
  const ask = asker(host, id)
  const { host: other } = await openHostOn(t, database)
  await host.pluginLifecycle.install(pluginOf(slow, { version: '2.0.0' }), { userId: null })
  for (let times = 0; times < 49; times++) await ask('a')
  const last = ask('slow')
  last.catch(() => {})
  await until(async () => way.asked.length > 0, 'the plugin to be within the call')
  await other.pluginLifecycle.install(pluginOf(saying('three'), { version: '3.0.0' }), { userId: null })
  await t.rejects(last, { code: 'unavailable', message: /was closed/ })
  t.match(await host.plugins.get(id), { version: '3.0.0', probationCalls: 50 })
})

t.test('safe mode: everything is readable and nothing runs', async (t) => {
  const { run, database } = await openTestHost(t)
  const { id } = await run(saying('one'))
  const { host } = await openHostOn(t, database, undefined, { enabled: false })
  await t.rejects(asker(host, id)('a'), { code: 'conflict', message: /safe mode/ })
  t.match(await host.plugins.test(id), { success: false, message: /safe mode/ })
  t.match(await host.pluginLifecycle.setEnabled(id, false), { state: 'disabled' })
  await host.pluginLifecycle.uninstall(id)
})

t.test('a package must match the entry of the repository', async (t) => {
  const { host } = await openTestHost(t)
  const bytes = pluginOf(saying('one'))
  const expected = { id: 'org.example.echo', version: '1.0.1', sha256: 'x' }
  await t.rejects(host.pluginLifecycle.install(bytes, { userId: null, expected }), {
    code: 'invalid_value',
    message: /differs from the repository.s entry/,
  })
  t.same(await host.plugins.list(), [])
})

const sha256Of = (versions: readonly { version: string; sha256: string }[], wanted: string) =>
  versions.find(({ version }) => version === wanted)?.sha256 ?? ''

t.test('after a kill at any moment of an update or rollback, one complete version exists with its own data', onlyFull, async (t) => {
  const { database, url } = await openTestDatabase(t)
  const { host } = await openHostOn(t, database)
  const { plugin, sha256 } = await host.pluginLifecycle.install(updateOf(2), { userId: null })
  await host.pluginLifecycle.consent(plugin.id, { sha256 })
  const seen = new Set<string>()
  for (let round = 0; round < 4; round++) {
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('../../support/plugin-child.ts', import.meta.url)), url, String(100 * (round + 1)), ...SECRETS],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    while (!said.includes('.') && child.exitCode === null) await sleep(5)
    await sleep(round * 121)
    child.kill('SIGKILL')
    await once(child, 'exit')
    t.match(said, /^\.+$/, 'nothing was refused')
    const busy = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`
    await until(async () => (await database.raw(busy)).rows.length === 0, 'the last transaction of the killed process to end')
    const { version, dataVersion, state } = await host.plugins.get(plugin.id)
    const { result } = await host.pluginCalls.call({
      pluginId: plugin.id,
      method: 'metadata.series.search',
      input: { query: '', limit: 1 },
      userId: null,
    })
    const [{ title }] = (result as { results: [{ title: string }] }).results
    seen.add(version)
    const { review } = await host.plugins.review(plugin.id, sha256Of(await host.plugins.versions(plugin.id), version))
    t.equal((await findConsent(database, plugin.id))?.recordHash, review.recordHash, 'what is agreed to is what runs')
    t.same([state, JSON.parse(title)], ['enabled', [version, dataVersion === 2 ? null : dataVersion]], `${version} is complete`)
  }
  t.ok(seen.size > 1, `${[...seen].join(', ')} were found`)
})

t.test('a reset on one server applies to all', async (t) => {
  const { host, run, database } = await openTestHost(t)
  const { id } = await run(saying('one'))
  const ask = asker(host, id)
  const { host: other } = await openHostOn(t, database)
  for (let times = 0; times < 5; times++) await t.rejects(ask('bad'))
  await t.rejects(ask('a'), { message: /Its calls pause/ })
  await other.pluginLifecycle.reset(id)
  t.match(await ask('a'), /^one/)
  for (let times = 0; times < 4; times++) await t.rejects(ask('bad'), { message: /no good/ })
  t.match(await ask('b'), /^one/, 'and the count starts again')
})
