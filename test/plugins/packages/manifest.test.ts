import fc from 'fast-check'
import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { MANIFEST_BYTES_MAX, methodsOf } from '#plugins/packages/manifest.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { manifestOf } from '#test/support/plugins.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.setTimeout(240_000)

/** A value in the name of a test; the test reporter parses some characters as the end of a line. */
const label = (value: unknown) => encodeURI(JSON.stringify(value)).slice(0, 60)
const read = (change: Record<string, unknown>) => readManifest(Buffer.from(JSON.stringify(manifestOf(change))))
/** A manifest with text that JSON.stringify would not produce. */
const readWith = (text: string) => readManifest(Buffer.from(JSON.stringify(manifestOf()).replace(/^\{/, `{${text},`)))
const network = (...hosts: string[]) => ({ permissions: { network: hosts.map((host) => ({ host, reason: 'The service' })) } })
const bound = (bind: Record<string, unknown>) => ({
  ...network('api.example.org'),
  auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization', format: 'Bearer {token}', ...bind } },
})
const refused = (path: string, message: RegExp) => ({ code: 'invalid_value', message, details: [{ path: `/manifest${path}` }] })

t.test('ordinary manifests are accepted', async (t) => {
  const manifest = read({
    description: 'Übersetzt, 日本語, العربية — “so”',
    author: { name: "Seán O'Hara", url: 'https://example.org:8443/a?b=c%20d#e' },
    homepage: 'https://example.org',
    version: '1.4.0-beta.1',
    unknown: { of: ['a newer server'] },
    ...bound({}),
  })
  t.equal(manifest.version, '1.4.0-beta.1')
  t.same(methodsOf(manifest), ['metadata.series.search', 'metadata.series.get'])
  for (const id of ['a.b', 'org.example.anilist', 'my-plugin', 'x1.y2-z3']) t.equal(read({ id }).id, id)
  for (const version of ['0.0.0', '10.20.30', '1.0.0-0', '1.0.0-rc.1', '1.0.0-x-y.7.z', '1.0.0--'])
    t.equal(read({ version }).version, version)
  for (const host of ['example.org', '*.example.org', 'xn--bcher-kva.example', 'a.b.c.d.museum']) t.ok(read(network(host)), host)
})

t.test('ids, versions and ranges', async (t) => {
  const ids = [
    ...[
      '',
      'anilist',
      'Org.example',
      'org..example',
      '.org',
      'org.',
      'org.-a',
      'a--b',
      'org/example',
      '../../etc',
      'org.example\n',
      '\norg.example',
    ],
    ...[
      'org.ex\u0430mple',
      'org\uff0eexample',
      'org.example\u200b',
      'org.e\u0301a',
      'org\u2024example',
      'org.\ud835\udc1a',
      'org.examp\u0131e',
    ],
    ...['org.example ', 'org%2eexample', `org.${'a'.repeat(61)}`, 'org_example.a', 5, null, ['org.example'], { toString: 'org.example' }],
  ]
  for (const id of ids) t.throws(() => read({ id }), refused('/id', /at \/id: must /), label(id))
  const versions = [
    ...[
      '1',
      '1.0',
      'v1.0.0',
      '1.0.0.0',
      '01.0.0',
      '1.0.00',
      '1.0.0\n',
      '1.0.0-',
      '1.0.0-01',
      '1.0.0-a..b',
      '1.0.0-.',
      '1.0.0-..',
      '1.0.0+build',
    ],
    ...['1.0.0-a/../../b', '1.0.0 ', '٣.0.0', '１.0.0', '1000000.0.0', '-1.0.0', `1.0.0-${'a'.repeat(60)}`, '*', 'latest', 1, 1.1],
  ]
  for (const version of versions) t.throws(() => read({ version }), refused('/version', /at \/version: must /), label(version))
  for (const pluginApi of ['*', '', '^1', '^2.0', '1.0', '>=1.0', '^1.0 || *', '^1.0\n', '^1.٣', '^1.00', 'x'])
    t.throws(() => read({ engine: { pluginApi } }), refused('/engine/pluginApi', /must be \^1\.0/), pluginApi)
  t.throws(() => read({ engine: { pluginApi: '^1.1' } }), refused('/engine/pluginApi', /has plugin API 1\.0; the plugin needs a newer/))
})

t.test('hosts in a manifest are names of the internet', async (t) => {
  const hosts = [
    ...[
      '',
      '*',
      '*.',
      '*.com',
      '*.*.example.org',
      'a*.example.org',
      'localhost',
      'example',
      'Example.org',
      'example.org.',
      '.example.org',
      'example..org',
    ],
    ...[
      '127.0.0.1',
      '2130706433',
      '0x7f.0.0.1',
      '127.1',
      '[::1]',
      '::1',
      '169.254.169.254',
      '*.0.0.1',
      '1.2.3.4.5',
      'example.0x7f',
      'example.1',
    ],
    ...[
      'example.org:443',
      'https://example.org',
      'example.org/a',
      'good@evil.org',
      'evil.org#good.org',
      'evil.org?good.org',
      'good.org%2f@evil.org',
      'a\\b.org',
    ],
    ...[
      'example.org\n',
      'exa\tmple.org',
      'example.org ',
      'example\u3002org',
      'example\uff0eorg',
      'ex\u0430mple.org',
      '-a.example.org',
      'a-.example.org',
      'ex_a.org',
    ],
    ...[`${'a'.repeat(64)}.org`, `${'a.'.repeat(130)}org`, 'exa\u00admple.org'],
  ]
  for (const host of hosts) t.throws(() => read(network(host)), refused('/permissions/network/0/host', /host: must /), label(host))
  t.throws(() => read(network('a.example.org', 'b.example.org', 'a.example.org')), refused('/permissions/network/2/host', /twice/))
  for (const methods of [['get'], ['CONNECT'], ['TRACE'], ['GET', 'GET'], ['GET\r\nX: y'], 'GET', [null]])
    t.throws(
      () => read({ permissions: { network: [{ host: 'a.example.org', reason: 'x', methods }] } }),
      { code: 'invalid_value' },
      label(methods),
    )
  t.throws(() => read(network(...Array.from({ length: 21 }, (_, index) => `h${index}.example.org`))), { code: 'invalid_value' })
})

t.test('texts that could deceive at a consent are refused', async (t) => {
  const texts = [
    ...[
      '',
      ' ',
      '\u200b',
      '...',
      'two\nlines',
      'a\rb',
      'a\tb',
      'a\x1b[31mb',
      'a\x07',
      'a\x7f',
      'a\u0085b',
      'a\u009bb',
      'a\u2028b',
      '\u202egnp.exe',
      'a\u2066b',
    ],
    ...['x'.repeat(61), `e${'\u0301'.repeat(1_000)}`, `x${'\u{1f468}\u200d'.repeat(60)}`, 7, null, { toString: null }],
  ]
  for (const name of texts) t.throws(() => read({ name }), refused('/name', /at \/name: must /), label(name))
  t.throws(
    () => read({ permissions: { network: [{ host: 'a.example.org', reason: '\u202e' }] } }),
    refused('/permissions/network/0/reason', /readable/),
  )
  const addresses = [
    ...[
      'http://example.org',
      'javascript:alert(1)',
      'https://',
      'https:example.org',
      'HTTPS://example.org',
      '//example.org',
      ' https://example.org',
    ],
    ...[
      'https://a@example.org',
      'https://a:b@example.org',
      'https://example.org/\n',
      'https://example.org/"onclick="',
      'https://example.org/<script>',
    ],
    ...[
      "https://example.org/'x'",
      'https://example.org\\@evil.org',
      'https://example.org/ a',
      'https://ex\u0430mple.org',
      `https://example.org/${'a'.repeat(2_000)}`,
    ],
  ]
  for (const homepage of addresses) t.throws(() => read({ homepage }), refused('/homepage', /homepage: must /), label(homepage))
  t.throws(() => read({ author: { name: 'A', url: 'javascript:alert(1)' } }), refused('/author/url', /https URL/))
})

t.test('ambiguous and invalid JSON', async (t) => {
  const whole = JSON.stringify(manifestOf())
  const cases: [string, Buffer | string, RegExp][] = [
    ['nothing', '', /it is not valid JSON/],
    ['a list', '[]', /manifest\.json/],
    ['null', 'null', /manifest\.json/],
    ['a text', '"manifest"', /manifest\.json/],
    ['a number', '1e400', /manifest\.json/],
    ['a mark in front', `\ufeff${whole}`, /byte order mark/],
    ['UTF-16', Buffer.from(`\ufeff${whole}`, 'utf16le'), /UTF-8/],
    ['UTF-16 without mark', Buffer.from(whole, 'utf16le'), /not valid JSON/],
    ['half a sequence', Buffer.concat([Buffer.from(whole), Buffer.from([0xc3])]), /UTF-8/],
    ['an overlong slash', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]), /UTF-8/],
    ['two texts', `${whole}${whole}`, /not valid JSON/],
    ['a comment', whole.replace('{', '{/**/'), /not valid JSON/],
    ['a trailing comma', whole.replace(/}$/, ',}'), /not valid JSON/],
    ['10 MB', Buffer.alloc(10 * 1024 * 1024, 32), new RegExp(`the limit is ${MANIFEST_BYTES_MAX}`)],
    ['the deepest possible lists', `${'['.repeat(32_000)}${']'.repeat(32_000)}`, /deeper than/],
    ['the deepest possible objects', `${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`, /deeper than/],
    ['open brackets', '['.repeat(60_000), /not valid JSON/],
    ['terminal escape codes', '\x1b]0;title\x07{', /^[ -~]+$/],
  ]
  for (const [name, bytes, message] of cases)
    t.throws(() => readManifest(Buffer.from(bytes as string)), { code: 'invalid_value', message }, name)
  t.throws(() => readWith('"id":"org.example.other"'), refused('', /"id" twice/))
  t.throws(() => readWith('"\\u0069d":"org.example.other"'), refused('', /"id" twice/), 'with an escape')
  t.throws(() => readWith('"x":[{"a":[{}],"b":"}","a":1}]'), refused('', /"a" twice/), 'at depth')
  t.throws(() => readWith('"__proto__":{"capabilities":{}}'), refused('', /__proto__/))
  t.throws(() => readWith('"config":{"\\u005f_proto__":1}'), refused('', /__proto__/))
  t.throws(() => readWith('"x":"\\u0000"'), refused('', /NUL/), 'the database cannot store it')
  t.throws(() => readWith('"x":["\\ud800"]'), refused('', /half a character/))
  t.throws(() => readWith('"\\udc00":1'), refused('', /half a character/))
  t.ok(
    readWith('"x":[{"a":1},{"a":1}],"y":"{\\"a\\":1,\\"a\\":2","z":"\\ud83d\\ude00","id2":"id"'),
    'the same name in two objects, and in texts',
  )
})

t.test('any manifest is accepted or refused fast, without exceptions', async (t) => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc.constantFrom('toString', '__proto__', 1e308, -0, null, [], {}, '\0', 'a'.repeat(60_000)),
  )
  const whole: Record<string, unknown> = manifestOf({
    ...bound({}),
    limits: { heapMB: 64 },
    author: { name: 'A' },
    homepage: 'https://example.org',
    license: 'MIT',
    capabilities: { 'metadata.series': { methods: ['search'], idSource: 'echo', languages: ['en'] } },
  })
  const places: string[][] = []
  const walk = (value: unknown, path: string[]): void => {
    places.push(path)
    if (value !== null && typeof value === 'object') for (const [name, member] of Object.entries(value)) walk(member, [...path, name])
  }
  walk(whole, [])
  const replaced = (value: unknown, [name, ...rest]: string[], by: unknown): unknown => {
    if (name === undefined) return by
    if (Array.isArray(value)) return value.map((member, index) => (String(index) === name ? replaced(member, rest, by) : member))
    const members = Object.entries(value as object)
    return Object.fromEntries(members.map(([key, member]) => [key, key === name ? replaced(member, rest, by) : member]))
  }
  const accepts = (bytes: Buffer) => {
    try {
      requestedPermissions(readManifest(bytes))
      return true
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid_value') return false
      const errors = error.details as { message: string }[]
      return errors.length <= 20 && errors.every(({ message }) => message.length < 1_000)
    }
  }
  assertInTime(
    fc.property(fc.constantFrom(...places), value, (path, by) => accepts(Buffer.from(JSON.stringify(replaced(whole, path, by))))),
    { numRuns: sizeOf('manifests with a changed member', { main: 300, full: 1_500 }) },
  )
  assertInTime(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => accepts(Buffer.from(bytes))),
    { numRuns: sizeOf('manifests of random bytes', { main: 200, full: 1_000 }) },
  )
  for (const unit of ['a', 'a.', 'a-', '1', '-', '1.0.0-', '*.', '{token}', 'https://a/', 'e\u0301', '\u0301', ' ', '"']) {
    const long = `${unit.repeat(Math.floor(60_000 / Buffer.byteLength(unit)))}!\n`
    for (const path of places.filter((path) => path.length > 0)) {
      const bytes = Buffer.from(JSON.stringify(replaced(whole, path, long)))
      let ms = Number.POSITIVE_INFINITY
      // On a busy machine this process may stand still in the middle of one.
      for (let tries = 0; tries < 3 && ms > 500; tries++) {
        const start = performance.now()
        if (!accepts(bytes)) t.fail(`${path.join('/')}: ${unit}`)
        ms = performance.now() - start
      }
      if (ms > 500) t.fail(`${path.join('/')} of ${unit} took ${ms} ms`)
    }
  }
})

t.test('errors name the allowed values and the closest name', async (t) => {
  const cases: [change: Record<string, unknown>, message: RegExp][] = [
    [{ manifestVersion: 2 }, /at \/manifestVersion: 2 is not allowed; it must be 1\./],
    [
      { capabilities: { 'metadata.series': { methods: ['serach'] } } },
      /"serach" is not allowed; it must be one of search, get, match \(did you mean search\?\)/,
    ],
    [{ permissions: { library: ['rating'] } }, /one of series\.titles, .*, ratings \(did you mean ratings\?\)/],
    [{ auth: { type: 'apikey', scope: 'server' } }, /one of none, apiKey, basic, oauth2 \(did you mean apiKey\?\)/],
    [{ permissions: { networks: [] } }, /does not know that permission .*one of network, .* \(did you mean network\?\)/],
    [{ capabilities: { 'metadata.serie': {} } }, /does not know that capability .*\(did you mean metadata\.series\?\)/],
    [{ engine: undefined, engines: {} }, /it has no engine; "engines" may be a misspelling/],
    [{ permissions: { rateLimit: {} } }, /does not know that permission .*; there is one at \/http\/rateLimit\.$/],
    [{ capabilities: { idSource: 'x' } }, /; there is one at \/capabilities\/metadata\.series\/idSource, \/capab/],
    [{ capabilities: { sync: {} } }, /at \/capabilities\/sync: this name is reserved for .*; it must be one of metadata\.series, /],
    [
      { permissions: { networkFromConfig: 'server' } },
      /at \/permissions\/networkFromConfig: must be a list of at most 5, none twice, each of them the name of a member of config: .*; it is "server"\./,
    ],
    [
      { permissions: { networkFromConfig: ['serve'] }, config: { type: 'object', properties: { server: { type: 'string' } } } },
      /at \/permissions\/networkFromConfig\/0: serve is not a member of \/config\/properties; add it there as a text, in which administrators enter the URL, or use server\./,
    ],
    [
      { permissions: { networkFromConfig: ['server'] } },
      /server is not a member of .*; add it there as a text, in which administrators enter the URL\./,
    ],
    [
      { permissions: { network: ['a.example.org'] } },
      /at \/permissions\/network\/0: must be an object with host, reason, and perhaps methods; it is "a\.ex/,
    ],
    [
      { permissions: { network: [{ host: 'a.example.org' }] } },
      /network\/0: it has no reason, which must be one line of 1 to 200 readable characters\./,
    ],
    [{ permissions: { storage: { quotaKB: 0 } } }, /storage\/quotaKB: must be a whole number from 1 to 20480; it is 0\./],
    [
      { http: { rateLimit: 30 } },
      /at \/http\/rateLimit: must be an object; each name in it must be a lower-case host name .*, and has an object with perMinute, and perhaps burst, maxParallel; it is 30\./,
    ],
    [
      { http: { rateLimit: { 'api.example.com': { perMinute: 5 } } } },
      /api\.example\.com: it is not a host of \/permissions\/network; add it there, or use api\.example\.org\./,
    ],
    [{ permissions: {}, http: { rateLimit: { 'api.example.com': { perMinute: 5 } } } }, /network; add it there\./],
    [{ http: { rateLimit: { 'api.example.org': { perMinute: '5' } } } }, /perMinute: must be a whole number from 1 to 300; it is "5"\./],
    [{ http: { cacheTtl: 60 } }, /cacheTtl: must be an object, which may have search, get, match, refresh; it is 60\./],
    [{ author: 'Ada' }, /at \/author: must be an object with name, and perhaps url; it is "Ada"\./],
    [{ dataVersion: '1' }, /at \/dataVersion: must be a whole number from 1 to 10000; it is "1"\./],
    [
      { capabilities: { 'metadata.series': { methods: [] } } },
      /methods: must be a list of 1 to 3, none twice, each of them one of search, get, match; it is \[\]\./,
    ],
    [{ capabilities: { 'metadata.series': { methods: ['get'], idSource: 'carrel' } } }, /idSource: carrel means this library/],
    [{ capabilities: { recommendations: { methods: ['get'], idSource: 'comicinfo' } } }, /idSource: comicinfo is the key for identifiers/],
    [
      { auth: { type: 'apiKey', scope: 'server', bind: { host: 'x.example.org', header: 'X-A', format: '{token}' } } },
      /x\.example\.org is none; add it there, or use api\.example\.org/,
    ],
    [{ config: { type: 'object', properties: [] } }, /at \/config\/properties: must be an object; each name in it must be letters, /],
    [{ config: { type: 'object', properties: { a: { type: 'string' } }, required: ['b'] } }, /names b, .*; it must be a/],
    [
      { config: { type: 'object', properties: { a: { type: 'integer', default: 'x' } } } },
      /default: "x" is not a valid value of the member; it must be a whole number/,
    ],
    [
      { config: { type: 'object', properties: { a: { type: 'strin' } } } },
      /one of string, number, integer, boolean, array \(did you mean string\?\)/,
    ],
    [
      { config: { type: 'object', properties: { a: { type: 'string', titel: 'x' } } } },
      /titel is not allowed here; .*\(did you mean title\?\)/,
    ],
  ]
  for (const [change, message] of cases)
    t.throws(() => readManifest(Buffer.from(JSON.stringify({ ...manifestOf({}), ...change }))), { message }, JSON.stringify(change))
})
