import t from 'tap'
import { defaultOrigin, grantedOf, type Permissions, requestedPermissions } from '#plugins/packages/permissions.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { manifestOf } from '#test/support/plugins.ts'

/** A manifest with configured hosts, each with the rest of its member. */
const configured = (members: Record<string, object>) =>
  readManifest(
    Buffer.from(
      JSON.stringify(
        manifestOf({
          permissions: { networkFromConfig: Object.keys(members) },
          config: {
            type: 'object',
            properties: Object.fromEntries(Object.entries(members).map(([key, rest]) => [key, { type: 'string', ...rest }])),
          },
        }),
      ),
    ),
  )
const asked = (members: Record<string, object>) => requestedPermissions(configured(members))

t.test('a default of a configured host is a permission that is asked for, by its origin', async (t) => {
  const one = asked({ site: { default: 'https://collect.example.net/path?q=1' }, mirror: {} })
  t.same(one.hostDefaults, { site: 'https://collect.example.net' })
  t.notOk(Object.hasOwn(asked({ site: {} }), 'hostDefaults'), 'a record without defaults stays as it was')
  t.notOk(Object.hasOwn(asked({ site: { default: '' } }), 'hostDefaults'))
})

t.test('a default that does not name one host is refused, or opens none', async (t) => {
  const long = `https://openlibrary.org.${'a'.repeat(60)}.${'b'.repeat(20)}.example`
  const wrong = [
    'https://*.com',
    'https://%2a.example.org',
    'https://user:x@a.example',
    'https://user@a.example',
    'ftp://a.example',
    'a.example',
  ]
  for (const url of [...wrong, 'blob:https://a.example/x', long]) {
    t.equal(defaultOrigin(url), null, url)
    t.throws(
      () => configured({ site: { default: url } }),
      { code: 'invalid_value', message: /at \/config\/properties\/site\/default: consent shows/ },
      url,
    )
  }
  for (const value of [undefined, null, 7, true, ['https://a.example'], { default: 'https://a.example' }])
    t.equal(defaultOrigin(value), null)
  t.equal(defaultOrigin('https://B\u00fccher.example/'), 'https://xn--bcher-kva.example')
  const list = { type: 'array', items: { type: 'string' }, default: ['https://a.example'] }
  t.throws(() => configured({ site: list }), { message: /at \/config\/properties\/site\/type: it contains the URL of one host/ })
})

t.test('without a person no right becomes more: each is the least of what is asked for and what was granted', async (t) => {
  const host = (name: string, ...methods: string[]) => ({ host: name, methods, reason: 'r' })
  const auth = { ...{ type: 'apiKey', scope: 'server', host: 'api.example.org' }, loginHost: null, tokenHost: null }
  const all: Permissions = {
    network: [host('api.example.org', 'GET', 'POST'), host('*.example.net', 'GET')],
    ...{ networkFromConfig: ['mirror', 'site'], hostDefaults: { mirror: 'https://m.example', site: 'https://s.example' } },
    ...{ library: ['ratings', 'series.titles'], storageKB: 16, auth, heapMB: 64, cpuMs: 500, wallMs: 20_000 },
  }
  t.same(grantedOf(all, all), all)
  const less: Record<keyof Permissions, unknown> = {
    ...{ network: [host('api.example.org', 'GET')], networkFromConfig: ['site'], hostDefaults: { site: 'https://s.example' } },
    ...{ library: ['series.titles'], storageKB: 8, auth: null, heapMB: 32, cpuMs: 100, wallMs: 1_000 },
  }
  for (const [right, value] of Object.entries(less)) {
    t.same(grantedOf(all, { ...all, [right]: value }), { ...all, [right]: value }, `${right} was not granted`)
    t.same(grantedOf({ ...all, [right]: value }, all), { ...all, [right]: value }, `${right} is not asked for`)
  }
  const { hostDefaults: _, ...before } = all
  t.same(grantedOf(all, before), before, 'what was granted before there were defaults of hosts has none')
  t.same(grantedOf(all, { ...all, hostDefaults: { site: 'https://other.example' } }), before, 'another default was not seen')
  t.same(grantedOf({ ...all, network: [host('a.example.net', 'GET', 'POST')] }, all).network, [host('a.example.net', 'GET')])
})
