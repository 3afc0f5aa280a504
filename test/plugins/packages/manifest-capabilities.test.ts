import t from 'tap'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { manifestOf } from '#test/support/plugins.ts'

/** A value in the name of a test; the test reporter parses some characters as the end of a line. */
const label = (value: unknown) => encodeURI(JSON.stringify(value)).slice(0, 60)
const read = (change: Record<string, unknown>) => readManifest(Buffer.from(JSON.stringify(manifestOf(change))))
const network = (...hosts: string[]) => ({ permissions: { network: hosts.map((host) => ({ host, reason: 'The service' })) } })
const bound = (bind: Record<string, unknown>) => ({
  ...network('api.example.org'),
  auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}', ...bind } },
})
const refused = (path: string, message: RegExp) => ({ code: 'invalid_value', message, details: [{ path: `/manifest${path}` }] })

t.test('unknown capabilities and permissions, and names of Object.prototype', async (t) => {
  const given = { methods: ['search'] }
  for (const name of [
    'toString',
    'constructor',
    'valueOf',
    'hasOwnProperty',
    '',
    'metadata.series ',
    'Metadata.series',
    'x'.repeat(5_000),
    'a\x1b[2J/~',
  ])
    t.throws(
      () => read({ capabilities: { [name]: given, 'metadata.series': given } }),
      { code: 'invalid_value', message: /^[ -~…]{1,300}does not know that capability[ -~]*$/ },
      label(name.slice(0, 20)),
    )
  for (const name of ['sync', 'releases', 'notifications'])
    t.throws(() => read({ capabilities: { [name]: given } }), refused(`/capabilities/${name}`, /reserved for a later version/))
  t.throws(() => read({ capabilities: { valueOf: { methods: 5 } } }), { code: 'invalid_value' })
  t.throws(() => read({ capabilities: {} }), refused('/capabilities', /at least one/))
  for (const methods of [[], ['search', 'search'], ['toString'], ['__proto__'], ['refresh'], 'search', { length: 1 }, [['search']]])
    t.throws(() => read({ capabilities: { 'metadata.series': { methods } } }), { code: 'invalid_value' }, label(methods))
  for (const name of ['filesystem', 'constructor', 'Network', 'network '])
    t.throws(() => read({ permissions: { [name]: [] } }), refused(`/permissions/${name}`, /does not know that permission/))
  for (const library of [['*'], ['users'], ['ratings', 'ratings'], 'ratings'])
    t.throws(() => read({ permissions: { library } }), { code: 'invalid_value' }, label(library))
  for (const quotaKB of [0, -1, 20_481, 1.5, '5', null])
    t.throws(() => read({ permissions: { storage: { quotaKB } } }), { code: 'invalid_value' }, String(quotaKB))
  for (const limits of [{ heapMB: 257 }, { heapMB: 0 }, { cpuMs: 5_001 }, { wallMs: 60_001 }, { wallMs: -1 }, { heapMB: '64' }, []])
    t.throws(() => read({ limits }), { code: 'invalid_value' }, label(limits))
  for (const main of ['../main.js', '/etc/passwd', 'Main.js', 'main.js\n', 'other.js'])
    t.throws(() => read({ main }), refused('/main', /main/), main)
  for (const idSource of ['plugin:org.example.other', 'AniList', 'a b', 'a\n', '', '-a', '__proto__'])
    t.throws(() => read({ capabilities: { 'metadata.series': { ...given, idSource } } }), { code: 'invalid_value' }, idSource)
})

t.test('credentials need a destination and a safe header', async (t) => {
  t.ok(read(bound({ header: 'X-Api-Key', format: '{token}' })))
  for (const host of ['evil.example.org', 'API.example.org', '*.example.org'])
    t.throws(() => read(bound({ host })), { code: 'invalid_value', message: /\/auth\/bind\/host/ }, host)
  for (const header of [
    'Host',
    'transfer-encoding',
    'Content-Length',
    'Connection',
    'Proxy-Authorization',
    'Upgrade',
    'X-Forwarded-For',
    'a b',
    'A\r\nB',
    'Authorization\n',
    '',
  ])
    t.throws(() => read(bound({ header })), { code: 'invalid_value', message: /\/auth\/bind\/header/ }, label(header))
  for (const format of ['Bearer', '', '{token}\r\nHost: evil.org', '{token}\n', '{tok\u0435n}', `{token}${'x'.repeat(200)}`])
    t.throws(() => read(bound({ format })), { code: 'invalid_value', message: /\/auth\/bind\/format/ }, label(format))
})

t.test('links, limits, sign-ins and configured hosts refer to existing members', async (t) => {
  const series = { 'metadata.series': { methods: ['search'] } }
  for (const search of ['https://a.example.org/s?q={title}', 'https://a.example.org/{id}/x'])
    t.ok(read({ capabilities: { ...series, webLinks: { search } } }), search)
  for (const search of [
    'http://a.example.org/{title}',
    'https://a.example.org/',
    'https://{title}.example.org/',
    'https://a.example.org/{title}"><b>',
  ])
    t.throws(() => read({ capabilities: { webLinks: { search } } }), { code: 'invalid_value' }, search)
  t.throws(() => read({ permissions: { networkFromConfig: ['baseUrl'] } }), refused('/permissions/networkFromConfig/0', /not a member of/))
  t.ok(read({ permissions: { networkFromConfig: ['baseUrl'] }, config: { type: 'object', properties: { baseUrl: { type: 'string' } } } }))
  t.throws(
    () => read({ http: { rateLimit: { 'other.example.org': { perMinute: 5 } } } }),
    refused('/http/rateLimit/other.example.org', /not a host of/),
  )
  const bind = { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}' }
  const oauth2 = { authorizeUrl: 'https://login.example.org/a', tokenUrl: 'https://login.example.org/t' }
  const recommendations = { recommendations: { methods: ['get'] } }
  t.ok(read({ auth: { type: 'oauth2', scope: 'user', bind, oauth2 }, capabilities: recommendations }))
  t.throws(
    () => read({ auth: { type: 'oauth2', scope: 'user', bind }, capabilities: recommendations }),
    refused('/auth/oauth2', /type oauth2 needs it/),
  )
  t.throws(
    () => read({ auth: { type: 'apiKey', scope: 'server', bind, oauth2 } }),
    refused('/auth/oauth2', /only for type oauth2; the type is apiKey/),
  )
  t.throws(() => read({ auth: { type: 'apiKey', scope: 'user', bind } }), refused('/auth/scope', /only recommendations/))
  t.throws(() => read({ auth: { type: 'apiKey', scope: 'server' } }), refused('/auth', /bind must say/))
  for (const authorizeUrl of [
    'https://127.0.0.1/a',
    'https://2130706433/a',
    'javascript:alert(1)',
    'http://login.example.org/a',
    'https://localhost/a',
  ])
    t.throws(
      () => read({ auth: { type: 'oauth2', scope: 'user', bind, oauth2: { ...oauth2, authorizeUrl } }, capabilities: recommendations }),
      { code: 'invalid_value' },
      authorizeUrl,
    )
})
