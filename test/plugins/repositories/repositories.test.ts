import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import { addRepository } from '#plugins/repositories/plugin-repository-store.ts'
import { findRevocation } from '#plugins/repositories/revocations.ts'
import { add, both, conflict, INDEX, key, one, openTestRepositories, publicKey, refusal, two } from '#test/support/plugin-repositories.ts'
import { entryOf, type Files, filesOf, newKey, REPOSITORY_URL, sha256Of } from '#test/support/plugin-repository.ts'

t.setTimeout(240_000)

t.test('a repository is previewed, added, refreshed, disabled and deleted', async (t) => {
  const { repositories, publish, asked } = await openTestRepositories(t)
  const offer = await repositories.preview('https://plugins.example.org/carrel')
  t.same(offer, {
    url: REPOSITORY_URL,
    name: 'Plugins of example.org',
    publicKey,
    fingerprint: fingerprintOf(publicKey),
    plugins: 1,
  })
  t.same(await repositories.list(), [], 'looking keeps nothing')
  const added = await repositories.add({ url: `${REPOSITORY_URL}index.json`, publicKey: offer.publicKey })
  t.match(added, { url: REPOSITORY_URL, name: offer.name, publicKey, enabled: true, sequence: 1, plugins: 1, error: null })
  t.ok(added.fetchedAt instanceof Date && added.expiresAt instanceof Date)
  t.match(await refusal(add(repositories)), conflict(/exists already/))
  t.ok(asked.every(({ host }) => host.startsWith('plugins.example.org')))

  publish({ ...both, sequence: 2, name: 'Renamed', plugins: [] })
  t.match(await repositories.refresh(added.id), { sequence: 2, name: 'Renamed', plugins: 0, error: null })
  t.match(await repositories.setEnabled(added.id, false), { enabled: false })
  t.match(await refusal(repositories.refresh(added.id)), conflict(/is disabled; enable it first/))
  t.match(await repositories.setEnabled(added.id, true), { enabled: true })
  await repositories.remove(added.id)
  t.same(await repositories.list(), [])
  const works = [
    (id: string) => repositories.get(id),
    (id: string) => repositories.remove(id),
    (id: string) => repositories.refresh(id),
    (id: string) => repositories.setEnabled(id, true),
  ]
  for (const work of works) t.match(await refusal(work(added.id)), { code: 'not_found' })
})

t.test('revoked versions are stopped and refused', async (t) => {
  const { repositories, publish, revoked, database } = await openTestRepositories(t)
  const { id } = await add(repositories)
  const echo = { repositoryId: id, pluginId: 'org.example.echo', userId: null }
  await repositories.install({ ...echo, version: '1.0.0' })
  await repositories.install(echo)
  await database.raw(`UPDATE plugins SET version_id = (SELECT id FROM plugin_versions WHERE version = '1.1.0')`)
  const names = {
    one: { key: 'org.example.echo', version: '1.0.0', sha256: sha256Of(one) },
    two: { key: 'org.example.echo', version: '1.1.0', sha256: sha256Of(two) },
  }
  t.equal(await findRevocation(database, names.two), null)

  const others = [
    { id: 'org.example.other', reason: 'Not here' },
    { id: 'org.example.echo', range: '>=3', reason: 'Not this one' },
    { sha256: 'a'.repeat(64), reason: 'Nobody' },
  ]
  publish({ ...both, sequence: 2, revoked: others })
  await repositories.refresh(id)
  t.same(revoked, [], 'revocations of other plugins have no effect')
  publish({ ...both, sequence: 3, revoked: [...others, { sha256: names.two.sha256, reason: 'It sends what people read' }] })
  await repositories.refresh(id)
  t.same(revoked, [[{ ...names.two, running: true, reason: 'It sends what people read' }]])
  t.match(await findRevocation(database, names.two), { reason: 'It sends what people read' })
  t.match(
    await findRevocation(database, { ...names.two, key: 'org.example.renamed', version: '9.9.9' }),
    { reason: /sends/ },
    'by any name',
  )
  t.equal(await findRevocation(database, { ...names.two, sha256: 'b'.repeat(64) }), null)
  await repositories.refresh(id)
  t.equal(revoked.length, 1, 'it is reported once')

  publish({ ...both, sequence: 4, revoked: [{ id: 'org.example.echo', range: '<1.1.0', reason: 'Old' }] })
  await repositories.refresh(id)
  t.same(
    revoked[1]?.map(({ version, running, reason }) => [version, running, reason]).sort(),
    [
      ['1.0.0', false, 'Old'],
      ['1.1.0', true, 'It sends what people read'],
    ],
    'the first revocation stays, although the newest index no longer has it',
  )
  t.match(
    await findRevocation(database, { ...names.one, version: '1.1.0-rc.1', sha256: 'c'.repeat(64) }),
    { reason: 'Old' },
    'pre-releases too',
  )
  t.match(await refusal(repositories.install({ ...echo, version: '1.0.0' })), conflict(/It was revoked\. The repository says: "Old/))

  await repositories.remove(id)
  t.match(await findRevocation(database, names.one), { reason: 'Old' }, 'all revocations stay after the repository is deleted')
  t.match(await findRevocation(database, names.two), { reason: /sends/ })
})

t.test('a repository is added with its revocations, and only once by concurrent requests', async (t) => {
  const index = { ...both, revoked: [{ id: 'org.example.echo', reason: 'All of it' }] }
  const { repositories, database } = await openTestRepositories(t, { files: filesOf(index, key) as Files })
  const added = await Promise.allSettled([add(repositories), add(repositories), add(repositories)])
  t.same(added.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected'])
  t.equal((await repositories.list()).length, 1)
  t.match(await findRevocation(database, { key: 'org.example.echo', version: '5.0.0-x', sha256: '' }), { reason: 'All of it' })
  t.match(await refusal(repositories.add({ url: REPOSITORY_URL, publicKey: publicKeyText(newKey()) })), { code: 'invalid_value' })
})

t.test('indexes are refreshed periodically until close', async (t) => {
  const { repositories, publish, asked } = await openTestRepositories(t, { timing: { firstMs: 20, everyMs: 20 } })
  const { id } = await add(repositories)
  publish({ ...both, sequence: 2 })
  // Five times the interval.
  await sleep(100)
  t.equal((await repositories.get(id)).sequence, 1, 'no refresh before the start')
  repositories.start()
  repositories.start()
  for (let times = 0; times < 3_000 && (await repositories.get(id)).sequence < 2; times++) await sleep(20)
  t.equal((await repositories.get(id)).sequence, 2)
  await repositories.setEnabled(id, false)
  let before = -1
  for (let tries = 0; tries < 30 && before < asked.length; tries++) {
    before = asked.length
    // A refresh that had begun has sent its next request by then: it goes on between these, also if this process stands still in one.
    for (let steps = 0; steps < 50; steps++) await sleep(20)
  }
  // Seven times the interval.
  await sleep(150)
  t.equal(asked.length, before, 'a disabled repository is not fetched')
  await repositories.setEnabled(id, true)
  await repositories.close()
  // A request that was sent before arrives first.
  await sleep(20)
  const closed = asked.length
  // Seven times the interval.
  await sleep(150)
  t.equal(asked.length, closed, 'nothing is fetched after close')
})

t.test('closing the repositories cancels their downloads', async (t) => {
  const { repositories, files, asked } = await openTestRepositories(t)
  const { id } = await add(repositories)
  files[INDEX] = () => {}
  const before = asked.length
  const refreshing = repositories.refresh(id)
  while (asked.length === before) await sleep(10)
  const started = performance.now()
  await repositories.close()
  t.ok(performance.now() - started < 10_000, 'long before its deadline')
  t.match(await refreshing, { sequence: 1, error: null }, 'which is not an error of the repository')
})

t.test('limits of repositories and revocations', async (t) => {
  const { repositories, publish, database } = await openTestRepositories(t)
  const { id } = await add(repositories)
  await database.raw(
    `INSERT INTO plugin_revocations (repository_id, repository, sha256, reason) SELECT ?, ?, lpad(to_hex(n), 64, '0'), 'x' FROM generate_series(1, 49999) n`,
    [id, REPOSITORY_URL],
  )
  const revoked = ['a', 'b'].map((letter) => ({ sha256: letter.repeat(64), reason: 'New' }))
  const entry = entryOf([two])
  const plugins = [
    {
      ...entry,
      versions: revoked.map(({ sha256 }, at) => ({
        ...(entry.versions[0] as (typeof entry.versions)[number]),
        version: `1.${at}.0`,
        sha256,
      })),
    },
  ]
  publish({ ...both, plugins, sequence: 2, revoked: revoked.slice(0, 1) })
  t.match(await repositories.refresh(id), { sequence: 2, error: null })
  publish({ ...both, plugins, sequence: 3, revoked })
  t.match(await repositories.refresh(id), { sequence: 2, error: /has revoked more than 50000 versions/ })
  t.equal(
    await findRevocation(database, { key: 'org.example.echo', version: '1.0.0', sha256: 'b'.repeat(64) }),
    null,
    'the whole transaction is rolled back',
  )
  publish({ ...both, plugins, sequence: 4, revoked: revoked.slice(0, 1) })
  t.match(await repositories.refresh(id), { sequence: 4, error: null }, 'known revocations do not count again')

  for (let number = 1; number < 20; number++)
    t.type(await addRepository(database, { url: `https://${number}.example.org/`, name: 'x', publicKey, repositoriesMax: 20 }), 'string')
  await repositories.remove((await repositories.list()).at(-1)?.id as string)
  t.type(await addRepository(database, { url: 'https://last.example.org/', name: 'x', publicKey, repositoriesMax: 20 }), 'string')
  await repositories.remove(id)
  await addRepository(database, { url: 'https://other.example.org/', name: 'x', publicKey, repositoriesMax: 20 })
  t.match(await refusal(add(repositories)), conflict(/the limit of 20 repositories is reached/))
})

t.test('a repository that is added again refuses an older index', async (t) => {
  const { repositories, publish } = await openTestRepositories(t)
  const { id } = await add(repositories)
  publish({ ...both, sequence: 5 })
  t.match(await repositories.refresh(id), { sequence: 5, error: null })
  await repositories.remove(id)
  publish({ ...both, sequence: 4 })
  t.match(await refusal(add(repositories)), conflict(/has index 4, but index 5 was seen before/))
  publish({ ...both, sequence: 5, name: 'Other' })
  t.match(await refusal(add(repositories)), conflict(/a different index 5 than before/))
  t.same(await repositories.list(), [])
  publish({ ...both, sequence: 5 })
  const again = await add(repositories)
  t.match(again, { sequence: 5, error: null })
  await repositories.remove(again.id)
  publish({ ...both, sequence: 6 })
  t.match(await add(repositories), { sequence: 6 })
})

t.test('a repository that comes back with another key is refused', async (t) => {
  const { repositories, publish } = await openTestRepositories(t)
  const { id } = await add(repositories)
  publish({ ...both, sequence: 1_000 })
  t.match(await repositories.refresh(id), { sequence: 1_000, error: null })
  await repositories.remove(id)
  const other = newKey()
  publish({ ...both, sequence: 1_001 }, other)
  const again = repositories.add({ url: REPOSITORY_URL, publicKey: publicKeyText(other) })
  t.match(await refusal(again), conflict(/is signed with SHA256:\S+, but was signed with SHA256:\S+ when .* must move to another address/))
  t.match(await refusal(repositories.preview(REPOSITORY_URL)), conflict(/was signed with SHA256:/), 'when a person looks at it')
  publish({ ...both, sequence: 1_001 })
  t.match(await add(repositories), { sequence: 1_001 })
})

t.test('the name of a repository is not an address', async (t) => {
  const { repositories, publish } = await openTestRepositories(t)
  const { id } = await add(repositories)
  for (const name of [
    'https://other.example.org/',
    'other.example.org',
    'other.example.org/plugins/',
    'see http://a',
    'https\uff1a//a',
    'a\uff0eexample',
  ])
    t.throws(() => publish({ ...both, sequence: 2, name }), { code: 'invalid_value', message: /looks like an address/ }, name)
  publish({ ...both, sequence: 2, name: 'Plugins of example.org. Free.' })
  t.match(await repositories.refresh(id), { error: null })
})

t.test('a repository revokes only what it offers, and not what belongs to another', async (t) => {
  const { repositories, publish, database, revoked } = await openTestRepositories(t)
  const { id } = await add(repositories)
  const own = { key: 'carrel.echo', version: '1.0.0', sha256: 'c'.repeat(64) }
  const elsewhere = { key: 'org.example.elsewhere', version: '1.0.0', sha256: 'd'.repeat(64) }
  const entry = entryOf([two])
  const version = (sha256: string) => [{ ...(entry.versions[0] as (typeof entry.versions)[number]), sha256 }]
  const all = [own, elsewhere].flatMap(({ key, sha256 }) => [
    { id: key, reason: 'Ours is better' },
    { sha256, reason: 'Ours is better' },
  ])
  publish({ ...both, sequence: 2, revoked: all })
  t.match(await repositories.refresh(id), { sequence: 2, error: null })
  for (const name of [own, elsewhere]) t.equal(await findRevocation(database, name), null, `${name.key} is not offered`)

  const named = [own, elsewhere].map(({ key, sha256 }) => ({ ...entry, id: key, versions: version(sha256) }))
  publish({ ...both, sequence: 3, plugins: named, revoked: all })
  t.match(await repositories.refresh(id), { sequence: 3, error: null })
  t.equal(await findRevocation(database, own), null, 'the server brings it')
  t.match(await findRevocation(database, elsewhere), { repository: REPOSITORY_URL, reason: 'Ours is better' }, 'it belongs to nobody yet')
  const from = { ...elsewhere, repository: 'https://other.example.org/' }
  t.equal(await findRevocation(database, from), null, 'it comes from another repository')
  await database('plugin_identities').insert({
    key: elsewhere.key,
    signers: [],
    named: true,
    version: '1.0.0',
    repository: from.repository,
  })
  t.equal(await findRevocation(database, elsewhere), null, 'it belongs to another repository')
  t.same(revoked, [])
})
