import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { checkEntry, hindranceOf, newestFirst, pluginEntry, summaryOf, versionEntry } from '#plugins/repositories/index-entry.ts'
import { signIndex } from '#plugins/repositories/index-file.ts'
import { indexOf, newKey } from '#test/support/plugin-repository.ts'
import { manifestOf } from '#test/support/plugins.ts'

const read = (change: Record<string, unknown> = {}) => readManifest(Buffer.from(JSON.stringify(manifestOf(change))))
const lies = { url: 'a.plugin', size: 1, releasedAt: '2026-11-01T00:00:00Z' }
const rich = read({
  author: { name: 'Ada', url: 'https://example.org' },
  capabilities: { recommendations: { methods: ['get'] }, 'metadata.series': { methods: ['search'] } },
  permissions: {
    network: [
      { host: 'b.example.org', reason: 'One' },
      { host: '*.a.example.org', methods: ['POST'], reason: 'Other' },
    ],
    networkFromConfig: ['address'],
    library: ['series.titles', 'ratings'],
    storage: { quotaKB: 64 },
  },
  config: { type: 'object', properties: { address: { type: 'string' } } },
  auth: { type: 'apiKey', scope: 'server', bind: { host: 'b.example.org', header: 'Authorization', format: 'Bearer {token}' } },
})

t.test('the index entry of a package', async (t) => {
  t.same(pluginEntry(rich), {
    ...{ id: 'org.example.echo', name: 'Echo', summary: 'Returns its input' },
    ...{ author: { name: 'Ada' }, capabilities: ['metadata.series', 'recommendations'] },
  })
  t.same(summaryOf(rich), {
    hosts: ['*.a.example.org', 'b.example.org'],
    hostsFromConfig: ['address'],
    library: ['ratings', 'series.titles'],
    storageKB: 64,
    credentials: 'apiKey',
  })
  const version = versionEntry({ manifest: rich, sha256: 'a'.repeat(64) }, { ...lies, server: '>=1', yanked: 'It broke' })
  t.match(version, { version: '1.0.0', pluginApi: '^1.0', server: '>=1', yanked: 'It broke', ...lies })
  const plugins = [
    { ...pluginEntry(rich), versions: [version] },
    {
      ...pluginEntry(read({ id: 'org.example.plain', permissions: {} })),
      versions: [versionEntry({ manifest: read({ permissions: {} }), sha256: 'b'.repeat(64) }, lies)],
    },
  ]
  t.ok(signIndex(indexOf({ plugins }), newKey()), 'such an index can be signed')
})

t.test('a package must match its entry, in any order', async (t) => {
  const version = versionEntry({ manifest: rich, sha256: '' }, lies)
  const { permissions } = version
  checkEntry(rich, { id: rich.id, version })
  checkEntry(rich, { id: rich.id, version: { ...version, permissions: { ...permissions, hosts: [...permissions.hosts].reverse() } } })
  const newer = { ...permissions, bluetooth: true }
  checkEntry(rich, { id: rich.id, version: { ...version, permissions: newer } })
  const lying = [
    { ...permissions, hosts: ['b.example.org'] },
    { ...permissions, hosts: [...permissions.hosts, 'c.example.org'] },
    { ...permissions, hostsFromConfig: [] },
    { ...permissions, library: ['ratings'] },
    { ...permissions, storageKB: 0 },
    { ...permissions, credentials: null },
  ]
  for (const one of lying) {
    const error = t.throws(() => checkEntry(rich, { id: rich.id, version: { ...version, permissions: one } }), {
      code: 'conflict',
      message: /other permissions/,
    })
    t.ok(error instanceof AppError)
  }
})

t.test('why a version cannot be installed', async (t) => {
  const version = versionEntry({ manifest: rich, sha256: '' }, lies)
  const code = (change: object, serverVersion = '1.2.3', revoked: string | null = null) =>
    hindranceOf({ ...version, ...change }, { serverVersion, revoked })?.code ?? null
  t.equal(code({}), null)
  t.equal(code({ pluginApi: '*' }), null)
  t.equal(code({ pluginApi: '^1.1' }), 'plugin_api')
  t.equal(code({ pluginApi: '^2.0 || ^1.0' }), null)
  t.equal(code({ server: '>=1.0 <3' }), null)
  t.equal(code({ server: '>=2' }), 'server')
  t.equal(code({ server: '>=2.0.0' }, '2.0.0-rc.1'), null, 'a pre-release of the server counts as its release')
  t.equal(code({ yanked: 'No', server: '>=2' }), 'yanked')
  t.equal(code({ yanked: 'No' }, '1.0.0', 'Bad'), 'revoked')
  const numbers = ['1.0.0', '1.10.0', '1.2.0', '2.0.0-rc.2', '2.0.0-rc.10', '2.0.0']
  t.same(
    newestFirst(numbers.map((one) => ({ ...version, version: one }))).map((one) => one.version),
    ['2.0.0', '2.0.0-rc.10', '2.0.0-rc.2', '1.10.0', '1.2.0', '1.0.0'],
  )
})
