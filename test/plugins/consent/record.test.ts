import t from 'tap'
import { type ConsentDifference, differencesOf } from '#plugins/consent/differences.ts'
import { type ConsentRecord, checkRecordSize, consentRecordOf, HARMLESS, recordHash, userRecordOf } from '#plugins/consent/record.ts'
import { MANIFEST_SHAPE, type Manifest } from '#plugins/packages/manifest.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { manifestOf } from '#test/support/plugins.ts'

const read = (change: Record<string, unknown> = {}): Manifest => readManifest(Buffer.from(JSON.stringify(manifestOf(change))))
const record = (change: Record<string, unknown> = {}, more: { signedBy?: string[]; repository?: string } = {}): ConsentRecord =>
  consentRecordOf({ manifest: read(change), signedBy: [], repository: null, ...more })

t.test('a record has every member of the schema of manifests, except the harmless ones', async (t) => {
  const members = Object.keys(MANIFEST_SHAPE.properties ?? {})
  t.same([...HARMLESS], ['version', 'summary'])
  for (const name of HARMLESS) t.ok(members.includes(name), name)
  const full = record({
    ...{
      description: 'A text',
      author: { name: 'A' },
      license: 'MIT',
      homepage: 'https://a.example',
      repository: 'https://a.example/code',
    },
    ...{
      auth: { type: 'none', scope: 'server' },
      config: { type: 'object', properties: {} },
      userConfig: { type: 'object', properties: {} },
    },
  })
  t.same(Object.keys(full.manifest).sort(), members.filter((name) => !(HARMLESS as readonly string[]).includes(name)).sort())
  t.equal(recordHash(record({ version: '9.9.9', summary: 'Another' })), recordHash(record()), 'harmless members change nothing')
  t.equal(recordHash(record({ futureMember: { reads: 'everything' } })), recordHash(record()), 'what this server ignores causes nothing')
})

t.test('manifests that mean the same have one record', async (t) => {
  const network = [
    { host: 'a.example.org', reason: 'A' },
    { host: 'b.example.org', methods: ['POST', 'GET'], reason: 'B' },
  ]
  const library = ['ratings', 'series.titles']
  const same: [Record<string, unknown>, Record<string, unknown>][] = [
    [{ main: 'main.js', dataVersion: 1, limits: { heapMB: 64, cpuMs: 500, wallMs: 20_000 }, http: { rateLimit: {} } }, {}],
    [{ limits: {}, http: { cacheTtl: {} } }, { http: {} }],
    [
      { http: { rateLimit: { 'api.example.org': { perMinute: 30 } } } },
      { http: { rateLimit: { 'api.example.org': { perMinute: 30, burst: 5 } } } },
    ],
    [{ config: { type: 'object', properties: {} } }, { config: { type: 'object', properties: {}, additionalProperties: false } }],
    [{ permissions: {} }, { permissions: { network: [], networkFromConfig: [], library: [] } }],
    [
      { permissions: { network, library } },
      {
        permissions: {
          library: library.toReversed(),
          network: [
            { reason: 'B', host: 'b.example.org', methods: ['GET', 'POST'] },
            { methods: ['GET'], host: 'a.example.org', reason: 'A' },
          ],
        },
      },
    ],
    [
      { capabilities: { 'metadata.series': { methods: ['search', 'get'] }, recommendations: { methods: ['get'] } } },
      {
        capabilities: {
          recommendations: { methods: ['get'], scope: 'user', idSource: 'org.example.echo' },
          'metadata.series': { methods: ['get', 'search'], idSource: 'org.example.echo', languages: [] },
        },
      },
    ],
  ]
  for (const [one, other] of same) {
    t.equal(recordHash(record(one)), recordHash(record(other)), JSON.stringify(one))
    t.same(differencesOf(record(one), record(other)), [])
  }
  t.match(recordHash(record()), /^[0-9a-f]{64}$/)
  t.not(recordHash(record({}, { signedBy: ['A'] })), recordHash(record()), 'the signer is a part')
  t.not(recordHash(record({}, { repository: 'https://a.example/' })), recordHash(record()), 'so is the repository')
  t.equal(recordHash(record({}, { signedBy: ['B', 'A'] })), recordHash(record({}, { signedBy: ['A', 'B'] })))
})

t.test('differences are data, with old and new value', async (t) => {
  const before = record({
    permissions: { network: [{ host: 'a.example.org', reason: 'A' }], library: ['ratings'], storage: { quotaKB: 1 } },
  })
  const after = record({
    permissions: {
      network: [
        { host: 'a.example.org', methods: ['GET', 'POST'], reason: 'A' },
        { host: 'b.example.org', reason: 'B' },
      ],
      library: ['series.titles'],
    },
    name: 'Other',
    http: { rateLimit: { 'b.example.org': { perMinute: 6 } } },
  })
  const expected: ConsentDifference[] = [
    { path: '/manifest/http/rateLimit/b.example.org', kind: 'added', after: { burst: 1, perMinute: 6 } },
    { path: '/manifest/name', kind: 'changed', before: 'Echo', after: 'Other' },
    { path: '/manifest/permissions/library/ratings', kind: 'removed', before: 'ratings' },
    { path: '/manifest/permissions/library/series.titles', kind: 'added', after: 'series.titles' },
    { path: '/manifest/permissions/network/a.example.org/methods/POST', kind: 'added', after: 'POST' },
    { path: '/manifest/permissions/network/b.example.org', kind: 'added', after: { host: 'b.example.org', methods: ['GET'], reason: 'B' } },
    { path: '/manifest/permissions/storage', kind: 'removed', before: { quotaKB: 1 } },
  ]
  t.same(differencesOf(before, after), expected)
  t.same(differencesOf({ a: ['x', 'y'] }, { a: ['y', 'x'] }), [{ path: '/a', kind: 'changed', before: ['x', 'y'], after: ['y', 'x'] }])
  t.same(differencesOf({ 'a/b~': 1 }, {}), [{ path: '/a~1b~0', kind: 'removed', before: 1 }])
  t.same(differencesOf({ a: [1] }, { a: { 0: 1 } }), [{ path: '/a', kind: 'changed', before: [1], after: { 0: 1 } }])
})

t.test('the record for users has everything except what only the administrator answers for', async (t) => {
  const change = { limits: { heapMB: 128 }, config: { type: 'object', properties: {} }, dataVersion: 2 }
  const ofUser = (of: ConsentRecord, site: string | null = null) => recordHash(userRecordOf(of, { site }))
  t.equal(ofUser(record(change)), ofUser(record()))
  t.not(ofUser(record({}, { repository: 'https://a.example/' })), ofUser(record()), 'where it comes from is a part')
  t.not(ofUser(record({ permissions: {} })), ofUser(record()))
  t.not(ofUser(record(), 'https://a.example'), ofUser(record()), 'the host that is entered is a part')
})

t.test('a record that nobody can review is refused', async (t) => {
  const many = (count: number) => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`m${index}`, { type: 'number', enum: Array.from({ length: 200 }, () => 1) }]),
    ),
  })
  checkRecordSize(record({ userConfig: many(20) }))
  t.throws(() => checkRecordSize(record({ userConfig: many(60) })), {
    code: 'invalid_value',
    message: /has \d+ entries; the limit is 5000/,
  })
  const long = { ...record(), repository: 'x'.repeat(1_000_000) }
  t.throws(() => checkRecordSize(long), { code: 'invalid_value', message: /characters; the limit is 262144/ })
})
