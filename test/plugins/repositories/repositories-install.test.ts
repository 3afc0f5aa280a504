import t from 'tap'
import { add, both, conflict, endless, key, one, openTestRepositories, redirect, refusal, two } from '#test/support/plugin-repositories.ts'
import { entryOf, type Files, filesOf, indexOf, type UnsignedIndex } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

t.test('available plugins, and why some cannot be installed', async (t) => {
  const version = (number: string, change: Record<string, unknown> = {}) => {
    const bytes = pluginOf(`export default ${JSON.stringify(number)}`, { version: number })
    return { ...entryOf([bytes]).versions[0], ...change } as UnsignedIndex['plugins'][number]['versions'][number]
  }
  const bad = version('1.4.0')
  const plugins = [
    {
      ...entryOf([one]),
      versions: [
        ...[version('1.0.0'), version('1.2.0'), version('2.0.0', { pluginApi: '^2.0' }), version('1.3.0', { server: '>=3' })],
        ...[version('1.5.0', { yanked: 'It forgets what it found' }), bad, version('1.6.0-rc.1'), version('0.9.0')],
      ],
    },
    { ...entryOf([one]), id: 'org.example.all-gone', name: 'All gone', versions: [version('1.0.0', { yanked: 'No' })] },
    { ...entryOf([one]), id: 'org.example.beta', name: 'Beta', versions: [version('0.1.0-beta.1'), version('0.1.0-beta.2')] },
  ]
  const revoked = [
    { sha256: bad.sha256, reason: 'It sends what people read' },
    { id: 'org.example.echo', range: '<1.0.0', reason: 'Old and leaky' },
  ]
  const { repositories, database } = await openTestRepositories(t, { files: filesOf(indexOf({ plugins, revoked }), key) as Files })
  const { id } = await add(repositories)
  const { plugins: available } = await repositories.listAvailable()
  t.same(
    available.map(({ name, version }) => [name, version]),
    [
      ['All gone', null],
      ['Beta', '0.1.0-beta.2'],
      ['Echo', '1.2.0'],
    ],
  )
  t.same(
    available[2]?.versions.map(({ version, hindrance }) => [version, hindrance?.code ?? null, hindrance?.message]),
    [
      ['1.6.0-rc.1', null, undefined],
      ['1.2.0', null, undefined],
      ['1.0.0', null, undefined],
      ['2.0.0', 'plugin_api', 'It needs the plugin interface ^2.0; this server offers 1.0.'],
      ['1.5.0', 'yanked', 'Its publisher withdrew it, and says: "It forgets what it found"'],
      ['1.4.0', 'revoked', 'It was revoked. The repository says: "It sends what people read"'],
      ['1.3.0', 'server', 'It needs a server of version >=3; this is 1.2.3.'],
      ['0.9.0', 'revoked', 'It was revoked. The repository says: "Old and leaky"'],
    ],
  )
  t.match(available[2], { repository: { id, name: 'Plugins of example.org' }, installedVersion: null, capabilities: ['metadata.series'] })
  const install = (pluginId: string, version?: string) => repositories.install({ repositoryId: id, pluginId, version, userId: null })
  t.match(await refusal(install('org.example.echo', '2.0.0')), conflict(/2\.0\.0 cannot be installed\. It needs the plugin interface/))
  t.match(
    await refusal(install('org.example.echo', '1.4.0')),
    conflict(/It was revoked\. The repository says: "It sends what people read"/),
  )
  t.match(await refusal(install('org.example.echo', '1.5.0')), conflict(/Its publisher withdrew it/))
  t.match(
    await refusal(install('org.example.all-gone')),
    conflict(/No version of org\.example\.all-gone can be installed here\. The newest: Its publisher/),
  )
  t.match(await refusal(install('org.example.echo', '7.0.0')), { code: 'not_found' })
  t.match(await refusal(install('org.example.none')), { code: 'not_found' })
  await repositories.setEnabled(id, false)
  t.same(await repositories.listAvailable(), { plugins: [], total: 0 })
  t.match(await refusal(install('org.example.echo')), conflict(/is disabled/))
  await repositories.setEnabled(id, true)
  await database('plugin_repositories').update({ expires_at: new Date(Date.now() - 1_000) })
  t.same(await repositories.listAvailable(), { plugins: [], total: 0 }, 'an expired index offers nothing')
  t.match(await refusal(install('org.example.echo')), conflict(/has expired; refresh it first/))
})

t.test('only the package in the index is installed', async (t) => {
  const { repositories, files, publish } = await openTestRepositories(t)
  const { id } = await add(repositories)
  const echo = { repositoryId: id, pluginId: 'org.example.echo', userId: null }
  const at = '/carrel/packages/1.1.0.plugin'
  const attacks: [name: string, bytes: Files[string], refused: object][] = [
    ['another version', one, conflict(/bytes, but the index lists|differs from the index of the repository/)],
    ['one byte changed', Buffer.from(two.map((byte, place) => (place === 100 ? byte ^ 1 : byte))), conflict(/differs from the index/)],
    ['a byte less', two.subarray(1), conflict(/bytes, but the index lists/)],
    ['a byte more', Buffer.concat([two, Buffer.alloc(1)]), { code: 'service_failed', message: /exceeds/ }],
    ['nothing', Buffer.alloc(0), conflict(/has 0 bytes, but the index lists/)],
    ['a hundred megabytes', (_, response) => endless(response, 100), { code: 'service_failed', message: /exceeds/ }],
    ['none', (_, response) => response.writeHead(404).end(), { code: 'service_failed', message: /answers 404/ }],
    ['a redirect to an internal host', (_, response) => redirect(response, 'https://127.0.0.1/a'), { code: 'invalid_value' }],
  ]
  for (const [name, file, refused] of attacks) {
    files[at] = file
    t.match(await refusal(repositories.install(echo)), refused, name)
  }
  t.equal((await repositories.listAvailable()).plugins[0]?.installedVersion, null, 'none of it was installed')

  // Another host is fine, because the hash identifies the package.
  files['/far/away'] = two
  files[at] = (_, response) => redirect(response, 'https://releases.example.net/far/away')
  t.match(await repositories.install(echo), { version: '1.1.0', plugin: { key: 'org.example.echo' } })
  t.equal((await repositories.listAvailable()).plugins[0]?.installedVersion, '1.1.0')
  t.match(await repositories.install({ ...echo, version: '1.0.0' }), { version: '1.0.0' }, 'an older version by its number')

  const entry = entryOf([two])
  const promised = entry.versions[0] as (typeof entry.versions)[number]
  const lies: [change: object, message: RegExp][] = [
    [{ id: 'org.example.other' }, /\(identifier\): the index lists "org\.example\.other", the package has "org\.example\.echo"/],
    [{ name: 'Open Library' }, /\(name\): the index lists "Open Library", the package has "Echo"/],
    [{ capabilities: [] }, /\(capabilities\)/],
    [{ versions: [{ ...promised, version: '1.2.0' }] }, /\(version\)/],
    [{ versions: [{ ...promised, permissions: { ...promised.permissions, storageKB: 8 } }] }, /\(KB of storage\): the index lists "8"/],
  ]
  files[at] = two
  let sequence = 1
  for (const [change, message] of lies) {
    const lying = { ...entry, ...change }
    publish({ ...both, sequence: ++sequence, plugins: [lying] })
    t.match(await repositories.refresh(id), { sequence, error: null })
    t.match(await refusal(repositories.install({ ...echo, pluginId: lying.id })), conflict(message), message.source)
  }
})
