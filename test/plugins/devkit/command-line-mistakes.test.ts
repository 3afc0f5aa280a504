import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { ECHO, openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(300_000)

type Change = NonNullable<Parameters<typeof openPluginFolder>[1]>

const PERMISSIONS = { network: [{ host: 'api.example.org', methods: ['GET'], reason: 'The service' }], storage: { quotaKB: 16 } }
const SEARCH = { method: 'metadata.series.search', input: { query: 'echo', limit: 5 }, fixtures: 'echo' }
const REPLAY = 'replay calls/search.json'
const TEST = 'test --no-types --no-conformance'

const file = (name: string, content: object | string): Change => ({
  files: { [name]: typeof content === 'string' ? content : JSON.stringify(content) },
})
const call = (content: object) => file('calls/search.json', content)
const fixtures = (content: object | string) => file('fixtures/echo.json', content)
const exchange = (one: object) => fixtures({ formatVersion: 1, exchanges: [one] })
const REQUEST = { request: { url: 'https://api.example.org/titles?q=echo' } }
/** A plugin with these lines in its search. */
const search = (body: string): Change => ({
  manifest: { permissions: PERMISSIONS },
  ...file('src/main.ts', ECHO.replace(/const \{ titles \}[\s\S]*?\}\)\) \}/, body)),
})
const FORGETFUL = search("ctx.storage.set('big', 'x'.repeat(20000)); return { results: [] }")
const main = (code: string) => file('src/main.ts', code)
const tested = (code: string) => file('test/main.test.ts', `import { openPlugin, test } from '@carrel/plugin-sdk/testing'\n${code}`)
const released: Change = { manifest: { permissions: PERMISSIONS }, ...file('CHANGELOG.md', '## 1.0.0\n\nNew.\n') }

const NO_FUNCTION =
  'not_implemented: The program has no function "metadata.series.search". Its default export has none of the functions of plugins, which are members such as { metadata: { series: { search, get } } }.'
const URL_WANTED = '--url must be the address of the folder, with https and a slash at its end, such as https://example.org/plugins/; it is'

/** What an author has, what they type, and the message. DIR is the folder of the plugin, and `key.pem` a key. */
const MISTAKES: [name: string, change: Change, typed: string, message: string][] = [
  // Saved calls.
  ['a list as configuration', call({ ...SEARCH, config: [] }), REPLAY, 'calls/search.json: "config" must be an object; it is [].'],
  [
    'a text as configuration of the user',
    call({ ...SEARCH, userConfig: 'a' }),
    REPLAY,
    'calls/search.json: "userConfig" must be an object; it is "a".',
  ],
  [
    'fixtures of another folder',
    call({ ...SEARCH, fixtures: '../secret' }),
    REPLAY,
    '"../secret" is not a valid name for a file of fixtures. Use letters, digits, dots and hyphens, without a folder.',
  ],
  ['a folder as call', {}, 'replay calls', 'calls: it cannot be read (EISDIR: it is a folder).'],
  [
    'fixtures as call',
    {},
    'replay fixtures/echo.json',
    'fixtures/echo.json: it is a file of fixtures. Give a call that names it, in calls/: { "method", "input", "fixtures": "echo" }.',
  ],
  [
    'a method that the code does not have',
    call({ method: 'metadata.series.match', input: { title: 'x' } }),
    REPLAY,
    'not_implemented: The program has no function "metadata.series.match". It has metadata.series.search, metadata.series.get.',
  ],
  // Fixtures.
  [
    'fixtures with a comma too much',
    fixtures('{ "formatVersion": 1, }'),
    REPLAY,
    'fixtures/echo.json: it is not valid JSON (Expected double-quoted property name in JSON at position 22',
  ],
  ['fixtures as a list', fixtures([]), REPLAY, 'fixtures/echo.json: must be an object with "formatVersion": 1 and "exchanges"; it is [].'],
  [
    'a misspelled response',
    exchange({ ...REQUEST, respones: { json: {} } }),
    REPLAY,
    'fixtures/echo.json: exchange 0 has the unknown member "respones"; known are request, response, failure, times, required.',
  ],
  [
    'a member of a response that does not exist',
    exchange({ ...REQUEST, response: { text: 'a' } }),
    REPLAY,
    'fixtures/echo.json: exchange 0 has the unknown member "text" in its response; known are status, url, headers, body, json.',
  ],
  [
    'a misspelled member of a request',
    exchange({ request: { ...REQUEST.request, header: {} }, response: {} }),
    REPLAY,
    'fixtures/echo.json: exchange 0 has the unknown member "header" in its request; known are method, url, headers, body, json.',
  ],
  [
    'a status as text',
    exchange({ ...REQUEST, response: { status: '200' } }),
    REPLAY,
    'fixtures/echo.json: exchange 0 has a status that is not a number from 200 to 599; it is "200".',
  ],
  [
    'a request without a host',
    exchange({ request: { url: '/titles' }, response: {} }),
    REPLAY,
    'fixtures/echo.json: exchange 0 needs a request with an absolute "url"; it is {"url":"/titles"}.',
  ],
  [
    'a body that is an object',
    exchange({ ...REQUEST, response: { body: {} } }),
    REPLAY,
    'fixtures/echo.json: exchange 0 has a "body" that is not a string; use "json" for other values.',
  ],
  // Code.
  ['an export of a function', main('export default function () { return {} }'), REPLAY, NO_FUNCTION],
  ['an export of a class', main('export default class Plugin { metadata = {} }'), REPLAY, NO_FUNCTION],
  ['functions at the root', main('export default { search: () => ({ results: [] }) }'), REPLAY, NO_FUNCTION],
  ['an export of Node', main('module.exports = { metadata: {} }'), REPLAY, NO_FUNCTION],
  [
    'an import at run time',
    search("await import('https://esm.sh/left-pad'); return { results: [] }"),
    REPLAY,
    'thrown: import() is not available: a plugin is a single file. Import the module at the beginning of the file. at src/main.ts:7:9',
  ],
  [
    'a host that is not granted',
    search("await ctx.http.json('https://other.example.net/x'); return { results: [] }"),
    REPLAY,
    'permission: https://other.example.net is not a host that this plugin may contact: permissions.network in its manifest.json does not name it. at src/main.ts:7:24',
  ],
  [
    'a method that is not granted',
    search("await ctx.fetch('https://api.example.org/titles', { method: 'POST' }); return { results: [] }"),
    REPLAY,
    'permission: https://api.example.org may not be requested with POST: permissions.network in the manifest of this plugin allows GET. at src/main.ts:7:19',
  ],
  [
    'a library that is not granted',
    search('await ctx.library.entries(); return { results: [] }'),
    REPLAY,
    'permission: This plugin has no permission to read the library: its manifest has no permissions.library. at src/main.ts:7:27',
  ],
  [
    'a library for a call that is for nobody',
    {
      ...search('await ctx.library.entries(); return { results: [] }'),
      manifest: { permissions: { ...PERMISSIONS, library: ['series.titles'] } },
    },
    REPLAY,
    'permission: This call is not for a user, so there is no library to read. at src/main.ts:7:27',
  ],
  [
    'credentials without a password',
    {
      manifest: {
        permissions: PERMISSIONS,
        auth: { type: 'basic', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization' } },
      },
      ...file('mine.json', { username: 'u' }),
    },
    `${REPLAY} --credentials mine.json`,
    '--credentials: mine.json lacks password. Write { "username": "…", "password": "…" } into that file.',
  ],
  [
    'an object as body of a request',
    search("await ctx.fetch('https://api.example.org/', { body: { a: 1 } as never }); return { results: [] }"),
    REPLAY,
    'invalid_argument: A body must be a text; for JSON: JSON.stringify(value). at src/main.ts:7:19',
  ],
  [
    'a value that is too large, stored without await',
    FORGETFUL,
    REPLAY,
    'unhandled: Unhandled promise rejection: The storage would have 20005 bytes; the limit is 16384. at src/main.ts:7:21',
  ],
  [
    'the same in a test',
    {
      ...FORGETFUL,
      files: {
        ...FORGETFUL.files,
        ...tested("test('one', async () => void (await (await openPlugin()).call('metadata.series.search', { query: 'a', limit: 1 })))")
          .files,
      },
    },
    TEST,
    'unhandled: Unhandled promise rejection: The storage would have 20005 bytes; the limit is 16384. at src/main.ts:7:21 ',
  ],
  [
    'a request to a host that is not granted, without await',
    search("void ctx.http.json('https://other.example.net/x'); return { results: [] }"),
    REPLAY,
    'unhandled: Unhandled promise rejection: https://other.example.net is not a host that this plugin may contact: permissions.network in its manifest.json does not name it. at src/main.ts:7:23',
  ],
  [
    'what comes after the answer',
    search("void (async () => { await ctx.storage.set('a', 1); await ctx.storage.set('b', 2) })(); return { results: [] }"),
    REPLAY,
    'unhandled: Unhandled promise rejection: The call has ended. at src/main.ts:7:',
  ],
  // Tests.
  [
    'another ending of a test',
    file('test/main.spec.ts', ''),
    'test main',
    'Test files: none; they are in test/, and their names end with .test.ts',
  ],
  [
    'a test beside the code',
    file('src/main.test.ts', ''),
    TEST,
    'src/main.test.ts ✖ the file runs It does not run: tests are in test/, and their names end with .test.ts, .test.js or .test.mjs. Move or rename it, such as to test/main.test.ts; if another tool runs it, give it another name.',
  ],
  [
    'tests in another folder',
    file('tests/a.test.ts', ''),
    TEST,
    'tests/a.test.ts ✖ the file runs It does not run: tests are in test/, and their names end with .test.ts, .test.js or .test.mjs. Move or rename it, such as to test/a.test.ts;',
  ],
  [
    'a test within a test',
    tested("test('outer', () => { test('inner', () => {}) })"),
    TEST,
    '✖ inner test() is called within a test, or later than its file has loaded, so it does not run. Call it outside of tests, while the file loads. at test/main.test.ts:2:',
  ],
  [
    'an assertion that does not exist',
    file('test/main.test.ts', "import { equal, test } from '@carrel/plugin-sdk/testing'\ntest('one', () => equal(1, 2))"),
    TEST,
    'test/main.test.ts:1:10: @carrel/plugin-sdk/testing has no export "equal". docs/plugin-api.md lists all.',
  ],
  [
    'a misspelled option',
    tested("test('one', async () => void (await openPlugin({ fixture: 'echo' } as never)))"),
    TEST,
    'openPlugin has no option "fixture". Did you mean fixtures? It has: config, userConfig, fixtures, storage, library, auth.',
  ],
  [
    'a test without code',
    tested("test('one')"),
    TEST,
    'The test "one" has no function: test("one", async () => { … }) at test/main.test.ts:2:1',
  ],
  [
    'a call without input',
    tested("test('one', async () => void (await (await openPlugin()).call('metadata.series.search')))"),
    TEST,
    '"input" must be an object, for metadata.series.search such as { "query": "…", "limit": 5 }; it is null.',
  ],
  [
    'a word in tsconfig.json',
    file('tsconfig.json', '{ "compilerOptions": { "strict": tru } }'),
    'test',
    'The bundler reports errors: tsconfig.json:1:34: Unexpected "tru" in JSON ',
  ],
  // Folders and files.
  ['a folder that does not exist', {}, 'validate --folder nowhere', 'DIR/nowhere is not a folder. --folder names the folder of a plugin.'],
  ['a file as folder', {}, 'validate --folder README.md', 'DIR/README.md is not a folder. --folder names the folder of a plugin.'],
  [
    'a folder that nobody has made',
    {},
    'pack --out dist/a.plugin',
    'DIR/dist/a.plugin cannot be written (ENOENT: its folder does not exist).',
  ],
  ['a folder as package', {}, 'pack --out src', 'DIR/src cannot be written (EISDIR: it is a folder).'],
  [
    'a folder of keys that nobody has made',
    {},
    'sign --new-key keys/a.pem',
    'DIR/keys/a.pem cannot be written (ENOENT: its folder does not exist).',
  ],
  ['a folder as credentials', {}, 'sign src --key key.pem', 'DIR/src cannot be read (EISDIR: it is a folder).'],
  [
    'another file as package',
    {},
    'sign manifest.json --key key.pem',
    'DIR/manifest.json: This is not a ZIP file, or there is data after its end.',
  ],
  [
    'a changelog of a megabyte',
    { manifest: { permissions: PERMISSIONS }, ...file('CHANGELOG.md', `## 1.0.0\n\n${'x'.repeat(1_000_000)}`) },
    'pack',
    '"CHANGELOG.md" has 1000010 bytes; the limit is 262144.',
  ],
  // Releases and indexes.
  [
    'a version as kind of release',
    released,
    'release 1.2.3 --key key.pem',
    '"1.2.3" is not a kind of release: patch, minor, major. For a version of your choice, write it into manifest.json, and leave the word out.',
  ],
  [
    'an index without https',
    released,
    'release --key key.pem --name Own --url http://example.org/',
    `${URL_WANTED} "http://example.org/".`,
  ],
  [
    'an index without a slash at its end',
    released,
    'release --key key.pem --name Own --url https://example.org/p',
    `${URL_WANTED} "https://example.org/p". Write https://example.org/p/`,
  ],
  ['an index without a scheme', {}, 'index . --key key.pem --name Own --url example.org', `${URL_WANTED} "example.org".`],
  // Commands of other tools.
  ...(
    [
      ['build', 'pack'],
      ['publish', 'release'],
      ['serve', 'dev'],
      ['lint', 'validate'],
      ['record', 'test'],
    ] as const
  ).map(([typed, own]): [string, Change, string, string] => [typed, {}, typed, `There is no command "${typed}". That is ${own} here: `]),
  ['init', {}, 'init', 'A plugin is not created by this tool. Create one: '],
]

t.test('every mistake at the command line has a message that says what is wrong, with what, and what to do', async (t) => {
  t.ok(MISTAKES.length >= 40)
  for (const [name, change, typed, message] of MISTAKES) {
    const folder = await openPluginFolder(t, change)
    if (typed.includes('key.pem')) await runTool(folder, ['sign', '--new-key', 'key.pem'])
    const { code, output } = await runTool(folder, typed.split(' '))
    t.equal(code, 1, `${name}: ${output}`)
    t.ok(output.replaceAll(folder, 'DIR').replaceAll(/\s+/g, ' ').includes(message), `${name}: ${output}`)
    t.notMatch(output, /\n\s+at (?!src\/main\.ts|test\/main\.test\.ts)/, `${name}: without a stack`)
  }
})

t.test('what cannot be released or packed leaves no file', async (t) => {
  const folder = await openPluginFolder(t, released)
  await mkdir(path.join(folder, 'keys'))
  await runTool(folder, ['sign', '--new-key', 'keys/key.pem'])
  const given = ['release', '--key', 'keys/key.pem', '--name', 'Own', '--url', 'https://example.org']
  t.match(await runTool(folder, given), { code: 1, stdout: '' }, 'before the tests run')
  await writeFile(path.join(folder, 'dist'), '')
  t.match(await runTool(folder, ['pack', '--out', 'dist/a.plugin']), { code: 1, stderr: /cannot be written \(ENOTDIR\)/ })
})
