import t from 'tap'
import { isCovered } from '#plugins/consent/coverage.ts'
import { differencesOf } from '#plugins/consent/differences.ts'
import { consentRecordOf } from '#plugins/consent/record.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { FULL_MANIFEST } from '#test/support/full-manifest.ts'

type Json = Record<string, unknown>
const SIGNED = { signedBy: ['A', 'B'], repository: 'https://a.example/' }

/** The manifest with another value at a place, such as `auth.oauth2.pkce`; undefined removes it. */
function withValue(place: string, value: unknown): Manifest {
  const changed = structuredClone(FULL_MANIFEST) as unknown as Json
  const names = place.split('/')
  const parent = names.slice(0, -1).reduce((one, name) => one[name] as Json, changed)
  if (value === undefined) delete parent[names.at(-1) as string]
  else parent[names.at(-1) as string] = value
  return changed as unknown as Manifest
}

const agreed = consentRecordOf({ manifest: FULL_MANIFEST, ...SIGNED })
const covers = (manifest: Manifest, change: object = {}): boolean => {
  const record = { ...consentRecordOf({ manifest, ...SIGNED }), ...change }
  return isCovered(record, differencesOf(agreed, record))
}

t.test('a package with less than was agreed to is covered', async (t) => {
  t.ok(covers(FULL_MANIFEST))
  const { rateLimit: _, ...http } = FULL_MANIFEST.http ?? {}
  const less: [string, unknown][] = [
    ['version', '0.9.0'],
    [
      'permissions/network',
      [
        { host: 'api.example.org', methods: ['GET'], reason: 'Searches for books' },
        { host: 'img.example.org', reason: 'Covers' },
      ],
    ],
    ['permissions/networkFromConfig', undefined],
    ['permissions/library', ['ratings']],
    ['permissions/storage', undefined],
    ['permissions/storage/quotaKB', 6],
    ['capabilities/recommendations', undefined],
    ['capabilities/recommendations/methods', ['get']],
    ['capabilities/metadata.series/languages', ['en']],
    ['capabilities/webLinks', { search: 'https://links.example/?q={title}', hosts: ['shop.example'] }],
    ['auth', undefined],
    ['auth/oauth2/scopes', ['read']],
    ['config/properties/order', undefined],
    ['userConfig', undefined],
    ['limits', { heapMB: 76, cpuMs: 332, wallMs: 3_999 }],
    ['dataVersion', 2],
    ['http/rateLimit/api.example.org', { perMinute: 10, burst: 4, maxParallel: 1 }],
  ]
  for (const [place, value] of less) t.ok(covers(withValue(place, value)), place)
  const withoutHost = {
    ...FULL_MANIFEST,
    http,
    permissions: { ...FULL_MANIFEST.permissions, networkFromConfig: [], network: FULL_MANIFEST.permissions?.network?.slice(1) },
  }
  t.ok(covers(withoutHost as Manifest), 'without a host there is no rate of it')
})

t.test('a rate stays while its host can be contacted in another way', async (t) => {
  const manifestOf = (hosts: string[], rated: string[], networkFromConfig: string[] = []) => {
    const network = hosts.map((host) => ({ host, reason: 'Books' }))
    const rateLimit = Object.fromEntries(rated.map((host) => [host, { perMinute: 1 }]))
    return { ...FULL_MANIFEST, permissions: { network, networkFromConfig }, auth: undefined, http: { rateLimit } } as unknown as Manifest
  }
  const isLess = (before: Manifest, after: Manifest) => {
    const [had, has] = [consentRecordOf({ manifest: before, ...SIGNED }), consentRecordOf({ manifest: after, ...SIGNED })]
    return isCovered(has, differencesOf(had, has))
  }
  const [wide, one] = ['*.example.org', 'api.example.org']
  t.notOk(isLess(manifestOf([wide, one], [one]), manifestOf([wide], [])), 'by a wildcard')
  t.notOk(isLess(manifestOf([wide, one], [wide]), manifestOf([one], [])), 'below a wildcard')
  t.notOk(isLess(manifestOf([one], [one], ['site']), manifestOf([], [], ['site'])), 'as what an administrator enters')
  t.ok(isLess(manifestOf([one, 'img.example.org'], [one]), manifestOf(['img.example.org'], [])))
})

t.test('whatever is more, other or unknown is not covered', async (t) => {
  const more: [string, unknown][] = [
    ['auth/oauth2/scopes', ['read', 'delete', 'payments']],
    ['auth/oauth2/scopes', ['read', 'payments']],
    ['auth/oauth2/pkce', false],
    ['auth/oauth2/authorizeUrl', 'https://login.example.org/in?next=2'],
    ['auth/oauth2/tokenUrl', 'https://token.example.org/got'],
    ['auth/oauth2', undefined],
    ['auth/bind/header', 'Referer'],
    ['auth/bind/format', undefined],
    ['auth/scope', 'server'],
    ['permissions/network', [{ host: 'other.example.org', reason: 'Covers' }]],
    ['permissions/network/1/methods', ['GET', 'POST']],
    ['permissions/network/1/reason', 'Other words'],
    ['permissions/library', ['reading.progress']],
    ['permissions/storage/quotaKB', 8],
    ['capabilities/webLinks/search', 'https://other.example/?q={title}'],
    ['capabilities/webLinks/hosts', ['publisher.example', 'collector.example']],
    ['capabilities/metadata.series/idSource', undefined],
    ['capabilities/metadata.series/methods', ['match']],
    ['http/rateLimit', undefined],
    ['http/rateLimit/api.example.org/maxParallel', undefined],
    ['http/rateLimit/api.example.org/perMinute', 12],
    ['http/cacheTtl/search', undefined],
    ['http/cacheTtl/search', 60],
    ['config/properties/site/default', 'https://other.example'],
    ['config/properties/order/enum', undefined],
    ['userConfig/properties/send/default', true],
    ['userConfig/properties/mine/format', undefined],
    ['userConfig/properties/more', { type: 'string' }],
    ['limits/heapMB', 78],
    ['dataVersion', 4],
    ['name', 'Other'],
    ['author', undefined],
    ['id', 'org.example.other'],
  ]
  for (const [place, value] of more) t.notOk(covers(withValue(place, value)), `${place}: ${JSON.stringify(value)}`)
  t.notOk(covers(FULL_MANIFEST, { signedBy: ['A'] }), 'a signer less')
  t.notOk(covers(FULL_MANIFEST, { signedBy: [] }), 'not signed')
  t.notOk(covers(FULL_MANIFEST, { repository: null }), 'from elsewhere')
  const record = { ...agreed, manifest: { ...agreed.manifest, schedule: 'hourly' } }
  t.notOk(isCovered(record, differencesOf(agreed, record)), 'a member that is added later')
  t.notOk(isCovered(agreed, differencesOf(record, agreed)), 'nor its absence, which nobody knows to be less')
})
