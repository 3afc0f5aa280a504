import { generateKeyPairSync } from 'node:crypto'
import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(300_000)

type Change = NonNullable<Parameters<typeof openPluginFolder>[1]>

const PERMISSIONS = { network: [{ host: 'api.example.org', methods: ['GET'], reason: 'The service' }], storage: { quotaKB: 16 } }
const REPLAY = 'replay calls/search.json'
const VALIDATE = 'validate --no-types'
const TEST = 'test --no-types --no-conformance'
const SEARCH = { method: 'metadata.series.search', input: { query: 'echo', limit: 5 }, fixtures: 'echo' }

const main = (code: string, manifest: object = {}): Change => ({
  manifest: { permissions: PERMISSIONS, ...manifest },
  files: { 'src/main.ts': null, 'src/main.js': code },
})
/** A plugin with these lines in its search. */
const search = (body: string, manifest: object = {}): Change =>
  main(
    `export default { metadata: { series: {\n  async search({ query, limit }, ctx) {\n    ${body}\n  },\n  get: ({ externalId }) => ({ externalId, title: 'a' }),\n} } }\n`,
    manifest,
  )
const answer = (text: string) => search(`return ${text}`)
const file = (name: string, text: string): Change => ({ manifest: { permissions: PERMISSIONS }, files: { [name]: text } })
const call = (change: object): Change => file('calls/search.json', JSON.stringify({ ...SEARCH, ...change }))
const tested = (body: string): Change =>
  file(
    'test/main.test.ts',
    `import { assertFails, openPlugin, test } from '@carrel/plugin-sdk/testing'\ntest('one', async () => { ${body} })\n`,
  )
const CONFIG = { config: { type: 'object', properties: { max: { type: 'integer', minimum: 1, maximum: 10 } } } }
const INVALID = "invalid_result: The plugin's metadata.series.search returned an invalid answer:"
const NO_EXPORT =
  'The default export has none of the functions that the manifest names: metadata.series.search, metadata.series.get. They are members of it, as in export default definePlugin({ metadata: { series: { search, get } } }).'
const NO_LINE = "Its line is not known: throw an Error, as in throw new Error('…')."

/** What an author has, what they type, and the message. */
const MISTAKES: [name: string, change: Change, typed: string, message: string][] = [
  // Answers.
  [
    'promises in a list',
    answer('{ results: [query].map(async (title) => ({ externalId: title, title })) }'),
    REPLAY,
    `${INVALID} /results/0: it has no externalId, which must be a text of 1 to 200 characters, without control characters; it has no title, which must be a text of at most 1000 characters; {} is also what remains of a promise without await, of a Map and of a Set.`,
  ],
  [
    'a map in place of a list',
    answer('{ results: new Map() }'),
    REPLAY,
    'relevance, preview; it is {}; {} is also what remains of a promise without await, of a Map and of a Set.',
  ],
  [
    'a relevance that is not a number',
    answer("{ results: [{ externalId: '1', title: 'a', relevance: NaN }] }"),
    REPLAY,
    `${INVALID} /results/0/relevance: must be a number from 0 to 1; it is null; JSON has null for NaN and Infinity too.`,
  ],
  [
    'a date as year',
    answer("{ results: [{ externalId: '1', title: 'a', year: new Date(0) }] }"),
    REPLAY,
    `${INVALID} /results/0/year: must be a whole number from -9999 to 9999, or null; it is "1970-01-01T00:00:00.000Z".`,
  ],
  [
    'a large number',
    answer("{ results: [{ externalId: 1n, title: 'a' }] }"),
    REPLAY,
    'invalid_result: The answer is not plain JSON: Do not know how to serialize a BigInt',
  ],
  [
    'an answer within itself',
    search('const all = { results: [] }; all.results.push(all); return all'),
    REPLAY,
    'invalid_result: The answer is not plain JSON: Converting circular structure to JSON',
  ],
  // Errors.
  ['a text that is thrown', search("throw 'no'"), REPLAY, `thrown: no. ${NO_LINE}`],
  ['nothing that is thrown', search('throw null'), REPLAY, `thrown: The code threw a value that is not an error. ${NO_LINE}`],
  // The context.
  [
    'a function of other clients',
    search("await ctx.http.get('https://api.example.org/')"),
    REPLAY,
    'thrown: ctx.http.get is not a function: ctx.http has json. at src/main.js:3:20',
  ],
  ['the log as a function', search("ctx.log('a')"), REPLAY, 'ctx.log is not a function: ctx.log has debug, info, warn, error.'],
  ['a function that no context has', search('await ctx.get()'), REPLAY, 'ctx.get is not a function: ctx has fetch, http, storage, log, '],
  ['seconds as a text', search("await ctx.sleep('1s')"), REPLAY, 'invalid_argument: ctx.sleep needs a number of milliseconds; it is "1s".'],
  [
    'progress in percent',
    search('ctx.progress(50); return { results: [] }'),
    REPLAY,
    '! ctx.progress takes a fraction from 0 to 1; it is 50.',
  ],
  [
    'progress as a text',
    search("ctx.progress('50%'); return { results: [] }"),
    REPLAY,
    '! ctx.progress takes a fraction from 0 to 1; it is "50%".',
  ],
  [
    'progress of nothing',
    search('ctx.progress(0 / 0); return { results: [] }'),
    REPLAY,
    '! ctx.progress takes a fraction from 0 to 1; it is NaN.',
  ],
  [
    'a promise that is stored',
    search("await ctx.storage.set('book', { authors: [Promise.resolve('a')] }); return { results: [] }"),
    REPLAY,
    '! ctx.storage.set("book") /authors/0: JSON does not keep values of this kind: Promise. Write await before it.',
  ],
  [
    'a map that is stored',
    search("await ctx.storage.set('book', new Map([['a', 1]])); return { results: [] }"),
    REPLAY,
    '! ctx.storage.set("book"): JSON does not keep values of this kind: Map. Give Object.fromEntries(map).',
  ],
  [
    'a number that is none, stored',
    search("await ctx.storage.set('book', { year: Number('x') }); return { results: [] }"),
    REPLAY,
    '! ctx.storage.set("book") /year: JSON does not keep values of this kind: NaN.',
  ],
  [
    'log data that is no JSON',
    search("ctx.log.info('found', { size: 1n }); return { results: [] }"),
    REPLAY,
    '! ctx.log.info("found"): its data is left out. It must be plain JSON: without BigInt, and without an object that contains itself.',
  ],
  [
    'an error as log data',
    search("ctx.log.warn('failed', { error: new TypeError('no') }); return { results: [] }"),
    REPLAY,
    '! ctx.log.warn("failed") /error: JSON does not keep values of this kind: Error. Give its message.',
  ],
  [
    'another hash',
    search("await ctx.crypto.digest('sha512', 'a')"),
    REPLAY,
    'ctx.crypto.digest must be sha1, sha256 or md5; it is "sha512".',
  ],
  [
    'a hash of a number',
    search("await ctx.crypto.digest('sha1', 5)"),
    REPLAY,
    'ctx.crypto.digest needs texts of at most 1048576 characters; one is no text but of type number.',
  ],
  [
    'a number as key',
    search('await ctx.storage.set(5, 1)'),
    REPLAY,
    'A key of ctx.storage must be a text of 1 to 200 characters without NUL; it is 5.',
  ],
  [
    'a time to live in the past',
    search("await ctx.storage.set('a', 1, { ttlSeconds: -1 })"),
    REPLAY,
    'ttlSeconds must be a number above 0 and at most 31622400; it is -1.',
  ],
  [
    'a value that is no JSON',
    search("await ctx.storage.set('a', 1n)"),
    REPLAY,
    'The arguments of ctx.storage.set must be plain JSON: without BigInt, and without an object that contains itself.',
  ],
  [
    'storage without the permission',
    search("await ctx.storage.get('a')", { permissions: { network: PERMISSIONS.network } }),
    REPLAY,
    'permission: This plugin has no storage: its manifest has no permissions.storage, which names the size, such as { "quotaKB": 256 }. at src/main.js:3:23',
  ],
  [
    'a method in place of options',
    search("await ctx.fetch('https://api.example.org/', { method: 'FETCH' })"),
    REPLAY,
    'The method must be one of GET, HEAD, POST, PUT, PATCH, DELETE; it is "FETCH".',
  ],
  [
    'a header of the server',
    search("await ctx.fetch('https://api.example.org/', { headers: { Host: 'a' } })"),
    REPLAY,
    'The header "Host" may not be set: only the server sets such headers.',
  ],
  [
    'a port',
    search("await ctx.fetch('https://api.example.org:8443/')"),
    REPLAY,
    'permission: https://api.example.org:8443 has a port, which hosts of permissions.network never have; administrators may enter an address with one (permissions.networkFromConfig).',
  ],
  [
    'a request without a fixture',
    search("await ctx.fetch('https://api.example.org/none')"),
    REPLAY,
    'No fixture matches GET https://api.example.org/none. If the call is in calls/, record it: ',
  ],
  [
    'a local service without a fixture',
    search('await ctx.fetch(ctx.config.site)', {
      permissions: { networkFromConfig: ['site'] },
      config: { type: 'object', properties: { site: { type: 'string', default: 'http://localhost:8600' } } },
    }),
    REPLAY,
    'test --record --allow-local localhost:8600',
  ],
  // Exports.
  ...(
    [
      ['a function that is not called', "import { definePlugin } from '@carrel/plugin-sdk'\nexport default definePlugin"],
      ['a misspelled capability', 'export default { metadata: { serie: { search: () => 1, get: () => 1 } } }'],
      ['a capability as one name', "export default { 'metadata.series': { search: () => 1, get: () => 1 } }"],
      ['a promise', 'export default Promise.resolve({})'],
      ['null', 'export default null'],
    ] as const
  ).map(([name, code]): [string, Change, string, string] => [name, main(code), VALIDATE, NO_EXPORT]),
  [
    'code that never ends loading',
    main('await new Promise(() => {})\nexport default {}'),
    VALIDATE,
    `${NO_EXPORT} The code awaits at its top level: if that never ends, nothing is exported.`,
  ],
  [
    'a text as function',
    main("export default { metadata: { series: { search: 'a', get: () => 1 } } }"),
    VALIDATE,
    'The manifest names metadata.series.search, which the code does not define as a function.',
  ],
  // Configuration and calls.
  [
    'a number as text',
    { ...call({ config: { max: '5' } }), manifest: { permissions: PERMISSIONS, ...CONFIG } },
    REPLAY,
    'config: config/max: must be a whole number from 1 to 10; it is "5".',
  ],
  [
    'a misspelled setting',
    { ...call({ config: { mxa: 5 } }), manifest: { permissions: PERMISSIONS, ...CONFIG } },
    REPLAY,
    'config: config/mxa: it is no setting; it must be max.',
  ],
  [
    'a misspelled member of an input',
    call({ input: { query: 'a', limit: 1, curser: 'b' } }),
    REPLAY,
    'calls/search.json: in "input", "curser" is unknown. Did you mean cursor? Known are: query, isbn, author, year, limit, cursor.',
  ],
  [
    'rates without a host',
    { manifest: { permissions: PERMISSIONS, http: { rateLimit: { perMinute: 5 } } } },
    VALIDATE,
    'at /http/rateLimit/perMinute: it is no host; each member of rateLimit is a host of /permissions/network with its rates, such as { "perMinute": 30 }.',
  ],
  // Tests.
  [
    'another tool for tests',
    file('test/main.test.ts', "describe('a', () => {})"),
    TEST,
    'describe is not defined. Import test, openPlugin and assertions from @carrel/plugin-sdk/testing; it has nothing else at test/main.test.ts:1:1',
  ],
  [
    'one test alone',
    file('test/main.test.ts', "import { test } from '@carrel/plugin-sdk/testing'\ntest.only('one', () => {})"),
    TEST,
    'test.only is not a function. test has no members; to run one file: ',
  ],
  [
    'a plugin without await',
    tested("const plugin = openPlugin(); await plugin.call('metadata.series.get', { externalId: '1' })"),
    TEST,
    'plugin.call is not a function. openPlugin returns a promise: write await before it',
  ],
  [
    'a promise without await',
    tested("void Promise.reject(new Error('lost'))"),
    TEST,
    'Nobody waited for a promise that failed, so write await before it: lost at test/main.test.ts:2:',
  ],
  [
    'another error than expected',
    tested("await assertFails((await openPlugin()).call('metadata.series.search', { query: 'a', limit: 1 }), 'auth')"),
    TEST,
    'The call should have failed with auth, but failed with unmatched: No fixture matches GET https://api.example.org/titles?q=a.',
  ],
  [
    'another state of credentials',
    tested("await openPlugin({ auth: 'yes' as never })"),
    TEST,
    '"auth" of openPlugin must be one of none, missing, connected, expired; it is "yes".',
  ],
  ['a list as storage', tested('await openPlugin({ storage: [] as never })'), TEST, '"storage" of openPlugin must be an object; it is [].'],
  [
    'a library without identifiers',
    tested("await openPlugin({ library: [{ title: 'a' }] as never })"),
    TEST,
    'openPlugin: "library" must be an array of series, and item 0 has no "seriesId".',
  ],
  // Folders.
  [
    'a folder as code',
    { files: { 'src/main.ts': null, 'src/main.ts/one.ts': '' } },
    VALIDATE,
    'neither src/main.ts nor src/main.js nor main.js.',
  ],
]

t.test('every mistake in code, calls and tests has a message that says what is wrong, with what, and what to do', async (t) => {
  t.ok(MISTAKES.length >= 40)
  for (const [name, change, typed, message] of MISTAKES) {
    const folder = await openPluginFolder(t, change)
    const { code, output } = await runTool(folder, typed.split(' '))
    t.equal(code, message.startsWith('!') ? 0 : 1, `${name}: ${output}`)
    t.ok(output.replaceAll(folder, 'DIR').replaceAll(/\s+/g, ' ').includes(message), `${name}: ${output}`)
  }
})

t.test('a file that cannot sign says what it is', async (t) => {
  const folder = await openPluginFolder(t, { manifest: { permissions: PERMISSIONS } })
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const pem = (passphrase?: string) =>
    privateKey.export({ format: 'pem', type: 'pkcs8', ...(passphrase !== undefined && { cipher: 'aes-256-cbc', passphrase }) }) as string
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'pem', type: 'pkcs8' })
  const advice = 'Name the private key that `sign --new-key` has made, or make one: '
  for (const [text, message] of [
    ['', `key.pem is empty. ${advice}`],
    ['hi', `key.pem contains no private Ed25519 key in PEM. ${advice}`],
    [rsa, `key.pem contains a key for rsa, but packages are signed with Ed25519. ${advice}`],
    [publicKey.export({ format: 'pem', type: 'spki' }), `key.pem contains a public key, which cannot sign. ${advice}`],
    [pem('word'), `key.pem contains a key that is protected by a passphrase, for which this tool does not ask. ${advice}`],
  ] as const) {
    await writeFile(path.join(folder, 'key.pem'), text, { mode: 0o600 })
    const { code, output } = await runTool(folder, ['pack', '--no-types', '--key', 'key.pem'])
    t.equal(code, 1)
    t.ok(output.replaceAll(/\s+/g, ' ').includes(message), output)
  }
  await writeFile(path.join(folder, 'key.pem'), pem())
  await chmod(path.join(folder, 'key.pem'), 0o600)
  const { code, output } = await runTool(folder, ['pack', '--no-types', '--key', 'key.pem', '--next', 'key.pem'])
  t.equal(code, 1)
  t.ok(
    output.replaceAll(/\s+/g, ' ').includes('--next is a public key, as sign --new-key prints it, and no file: "key.pem" is none.'),
    output,
  )
})
