import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import {
  checkEntry,
  hindranceOf,
  newestFirst,
  permissionSummary,
  pluginEntry,
  shownOf,
  versionEntry,
} from '#plugins/repositories/index-entry.ts'
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
  t.same(permissionSummary(rich), {
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

const listing = (change: object = {}, own: object = {}, permissions: object = {}) => {
  const version = versionEntry({ manifest: rich, sha256: '' }, lies)
  return {
    plugin: { ...pluginEntry(rich), ...change },
    version: { ...version, ...own, permissions: { ...version.permissions, ...permissions } },
  }
}

t.test('a package must match each member of its entry, in any order', async (t) => {
  const { hosts } = permissionSummary(rich)
  checkEntry(rich, listing())
  checkEntry(rich, listing({ capabilities: ['recommendations', 'metadata.series'] }, {}, { hosts: [...hosts].reverse() }))
  checkEntry(rich, listing({ categories: ['Books'] }, { server: '>=1', changelog: 'New', advisory: 'Beware' }, { bluetooth: true }))
  const table: [member: string, differing: ReturnType<typeof listing>[]][] = [
    ['identifier', [listing({ id: 'org.example.other' })]],
    ['version', [listing({}, { version: '1.0.1' })]],
    ['range of the plugin interface', [listing({}, { pluginApi: '*' })]],
    ['name', [listing({ name: 'Open Library' }), listing({}, { name: 'Open Library' })]],
    ['summary', [listing({ summary: 'Offline, reads nothing' }), listing({}, { summary: 'Offline, reads nothing' })]],
    ['author', [listing({ author: { name: 'Carrel' } }), listing({ author: undefined }), listing({}, { author: null })]],
    ['capabilities', [listing({ capabilities: ['metadata.series'] }), listing({}, { capabilities: [] })]],
    ['hosts', [[], ['b.example.org'], [...hosts, 'c.example.org'], ['*.example.org']].map((hosts) => listing({}, {}, { hosts }))],
    ['settings with hosts', [listing({}, {}, { hostsFromConfig: [] }), listing({}, {}, { hostsFromConfig: ['address', 'other'] })]],
    ['data of the library', [listing({}, {}, { library: ['ratings'] }), listing({}, {}, { library: [] })]],
    ['KB of storage', [listing({}, {}, { storageKB: 0 }), listing({}, {}, { storageKB: 65 })]],
    ['kind of sign-in', [listing({}, {}, { credentials: null }), listing({}, {}, { credentials: 'oauth2' })]],
  ]
  for (const [member, differing] of table)
    for (const [n, one] of differing.entries()) {
      const error = t.throws(() => checkEntry(rich, one), { code: 'conflict' }, `${member} ${n}`) as unknown as Error
      t.ok(error instanceof AppError && error.message.includes(`(${member}): the index lists `), error.message)
    }
})

t.test('an older version has members of its own where it differs from the newest, and must match these', async (t) => {
  const older = read({ version: '0.9.0', name: 'Old echo', summary: 'Repeats' })
  const plugin = pluginEntry(rich)
  const version = versionEntry({ manifest: older, sha256: '' }, lies, plugin)
  t.match(version, { name: 'Old echo', summary: 'Repeats', author: null, capabilities: Object.keys(older.capabilities) })
  t.same(shownOf(plugin, version), pluginEntry(older))
  checkEntry(older, { plugin, version })
  const { name: _name, ...unnamed } = version
  t.throws(() => checkEntry(older, { plugin, version: unnamed }), {
    message: /\(name\): the index lists "Echo", the package has "Old echo"/,
  })
  const same = versionEntry({ manifest: rich, sha256: '' }, lies, plugin)
  t.notOk(['name', 'summary', 'author', 'capabilities'].some((member) => member in same))
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
