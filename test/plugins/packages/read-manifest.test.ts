import t from 'tap'
import type { AppError } from '#core/foundation/errors.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { FULL_MANIFEST } from '#test/support/full-manifest.ts'
import { manifestOf } from '#test/support/plugins.ts'

function faultsOf(change: Record<string, unknown>) {
  try {
    readManifest(Buffer.from(JSON.stringify(manifestOf(change))))
  } catch (error) {
    const { message, details } = error as AppError
    return {
      message,
      details: details as { path: string; message: string }[],
      paths: (details as { path: string }[]).map(({ path }) => path),
    }
  }
  throw new Error('It was taken')
}

t.test('a manifest is refused with all its errors at once', async (t) => {
  const form = faultsOf({ version: '1', name: 7, permissions: { network: [{ host: 'localhost', methods: ['GET'], reason: '' }] } })
  t.same(form.paths.toSorted(), [
    '/manifest/name',
    '/manifest/permissions/network/0/host',
    '/manifest/permissions/network/0/reason',
    '/manifest/version',
  ])
  t.equal(form.message.match(/manifest\.json at /g)?.length, 4, form.message)

  const rules = faultsOf({
    capabilities: { sync: {}, releases: {}, kitchen: {} },
    permissions: { camera: {}, networkFromConfig: ['address', 'other'] },
    config: { type: 'object', properties: { port: { type: 'strin' } } },
  })
  t.same(rules.paths, [
    ...['/manifest/capabilities/sync', '/manifest/capabilities/releases', '/manifest/capabilities/kitchen', '/manifest/permissions/camera'],
    '/manifest/config/properties/port/type',
    ...['/manifest/permissions/networkFromConfig/0', '/manifest/permissions/networkFromConfig/1'],
  ])
})

t.test('a value that matches no alternative is one error, and many errors are counted', async (t) => {
  t.equal(faultsOf({ author: [1] }).paths.length, 1)
  const permissions = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`p${index}`, {}]))
  const { details, message } = faultsOf({ permissions })
  t.equal(details.length, 20)
  t.match(message, /It has 5 more errors\.$/)
})

/** The same with a further member in each object. */
function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore)
  if (value === null || typeof value !== 'object') return value
  return { ...Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withMore(member)])), reads: { everything: true } }
}

t.test(
  'members that this server does not know are dropped wherever they stand, so a later one finds nothing that nobody agreed to',
  async (t) => {
    const whole = JSON.parse(JSON.stringify(FULL_MANIFEST)) as Record<string, unknown>
    const read = (manifest: unknown) => readManifest(Buffer.from(JSON.stringify(manifest)))
    t.same(read(whole), whole, 'a manifest with every known member stays whole')
    const { capabilities, permissions, config, userConfig, ...rest } = whole
    const { reads: _, ...known } = withMore(capabilities) as Record<string, unknown>
    const { reads: _reads, ...granted } = withMore(permissions) as Record<string, unknown>
    const { http, ...others } = withMore(rest) as { http: { rateLimit: Record<string, unknown> } }
    const { reads: _rates, ...rateLimit } = http.rateLimit
    // Settings have a schema of their own, which refuses unknown members; so are unknown capabilities, permissions and hosts.
    const more = { ...others, http: { ...http, rateLimit }, capabilities: known, permissions: granted, config, userConfig, $schema: 'x' }
    t.ok(JSON.stringify(more).length > JSON.stringify(whole).length + 300)
    t.same(read(more), whole)
  },
)

t.test('an address that no browser can read is refused, and not shown or opened later', (t) => {
  for (const address of ['https://example.org:99999/{id}', 'https://1.2.3.4.5/{id}', 'https://256.256.256.256/{id}']) {
    const capabilities = { 'metadata.series': { methods: ['search'] }, webLinks: { series: address } }
    t.same(faultsOf({ capabilities }).paths, ['/manifest/capabilities/webLinks/series'], address)
    const plain = address.replace('{id}', '')
    const oauth2 = { authorizeUrl: plain, tokenUrl: plain }
    const auth = { type: 'oauth2', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization' }, oauth2 }
    t.same(faultsOf({ auth }).paths, ['/manifest/auth/oauth2/authorizeUrl', '/manifest/auth/oauth2/tokenUrl'], plain)
    t.same(faultsOf({ homepage: plain, author: { name: 'Ann', url: plain } }).paths, ['/manifest/author/url', '/manifest/homepage'], plain)
  }
  t.end()
})
