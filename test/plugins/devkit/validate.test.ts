import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { summarize, validateProject, validateWith } from '#plugins/devkit/validate.ts'
import type { Finding } from '#plugins/devkit/validate-files.ts'
import { ECHO, openPluginFolder } from '#test/support/plugin-projects.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

t.setTimeout(60_000)

const look = (folder: string) => validateWith(findSupervisor(), folder)

const HOSTS = { permissions: { network: [{ host: 'api.example.org', methods: ['GET'], reason: 'The service' }], storage: { quotaKB: 16 } } }
/** A plugin with this `get`. */
const withGet = (body: string, head = '') => `${head}${ECHO.replace('return { externalId, title: externalId }', body)}`

t.test('a correct plugin has no findings', async (t) => {
  const { findings, bundle, project } = await validateProject(await openPluginFolder(t, { manifest: HOSTS }), silentLog)
  t.same(findings, [])
  t.match(bundle?.code, 'export {')
  t.match(project?.manifest, { id: 'org.example.echo' })
})

t.test('every static problem is found', async (t) => {
  type Case = [name: string, change: Parameters<typeof openPluginFolder>[1], expected: Partial<Record<keyof Finding, unknown>>[]]
  const error = (check: Finding['check'], message: RegExp) => ({ level: 'error', check, message })
  const warning = (check: Finding['check'], message: RegExp) => ({ level: 'warning', check, message })
  const code = (text: string) => ({ manifest: HOSTS, files: { 'src/main.ts': text } })
  const cases: Case[] = [
    ['schema', { manifest: { id: 'nodot' } }, [error('manifest', /^manifest\.json:1:\d+ at \/id: must be at least two words/)]],
    ['semver', { manifest: { version: '1.0' } }, [error('manifest', /semantic version/)]],
    ['range', { manifest: { engine: { pluginApi: '^1.9' } } }, [error('manifest', /needs a newer one/)]],
    [
      'unknown member',
      { manifest: { ...HOSTS, licence: 'MIT' } },
      [warning('manifest', /"licence", which servers ignore\. Did you mean license\?/)],
    ],
    [
      'unknown members inside',
      {
        manifest: {
          permissions: { ...HOSTS.permissions, network: HOSTS.permissions.network.map((one) => ({ ...one, method: ['GET'] })) },
          http: { rateLimits: {}, cacheTTL: {}, rateLimit: { 'api.example.org': { perMinute: 5, 'per\u0007second': 1, perMinutes: 2 } } },
          rateLimit: {},
          heapMB: 5,
        },
      },
      [
        warning(
          'manifest',
          /^manifest\.json:1:\d+ at \/permissions\/network\/0: unknown member "method", which servers ignore\. Did you mean methods\?$/,
        ),
        warning(
          'manifest',
          /^manifest\.json:1:\d+ at \/http: unknown member "rateLimits", which servers ignore\. Did you mean rateLimit\?$/,
        ),
        warning('manifest', /at \/http\/rateLimit\/api\.example\.org: .*"perMinutes", which servers ignore\. Did you mean perMinute\?$/),
        warning('manifest', /"per\\(x07|a)second"/),
        warning(
          'manifest',
          /^manifest\.json:1:\d+: unknown member "rateLimit", which servers ignore\..* There is one at \/http\/rateLimit\.$/,
        ),
        warning('manifest', /"heapMB", which servers ignore\..* There is one at \/limits\/heapMB\.$/),
      ],
    ],
    [
      'no default export',
      code(ECHO.replace('export default', 'export const plugin =')),
      [error('code', /^src\/main\.ts has no default export.*exports plugin\./)],
    ],
    ['no code', code('this is none'), [error('code', /src\/main\.ts:1:\d+: Expected/)]],
    [
      'missing import',
      code(`import 'left-pad'\n${ECHO}`),
      [error('code', /src\/main\.ts:1:8: left-pad is not installed: npm install left-pad$/)],
    ],
    ['a Node module', code(`import fs from 'node:fs'\n${withGet('return { externalId, title: String(fs) }')}`), [error('code', /node:fs/)]],
    [
      'global',
      code(withGet('return { externalId, title: String(process.pid) }')),
      [error('globals', /^src\/main\.ts:\d+: It uses process, which/)],
    ],
    ['global by another way', code(withGet('globalThis.localStorage.clear(); return { externalId }')), [error('globals', /ctx\.storage/)]],
    [
      'guarded global',
      code(withGet(`return { externalId, title: typeof Buffer === 'undefined' ? '' : String(Buffer) }`)),
      [warning('globals', /uses Buffer if/)],
    ],
    [
      'code from text',
      code(withGet(`return { externalId, title: String(new Function('return 1')()) }`)),
      [warning('globals', /code from text/)],
    ],
    [
      'strange host',
      code(withGet(`return { externalId, coverUrl: 'https://covers.example.com/1' }`)),
      [warning('hosts', /covers\.example\.com, which the manifest does not list/)],
    ],
    [
      'unused host',
      {
        manifest: {
          permissions: { ...HOSTS.permissions, network: [...HOSTS.permissions.network, { host: '*.example.net', reason: 'None' }] },
        },
      },
      [
        warning(
          'hosts',
          /^The manifest requests \*\.example\.net, but neither the code nor a saved response contains a URL of it\. Remove it, unless covers or redirects lead there\.$/,
        ),
      ],
    ],
    [
      'no storage',
      { manifest: { permissions: { network: HOSTS.permissions.network } } },
      [warning('permissions', /ctx\.storage, but the manifest does not/)],
    ],
    [
      'unused scope',
      { manifest: { permissions: { ...HOSTS.permissions, library: ['ratings'] } } },
      [warning('permissions', /permissions\.library, which the code/)],
    ],
    [
      'library of nobody',
      {
        manifest: { permissions: { ...HOSTS.permissions, library: ['ratings'] } },
        files: { 'src/main.ts': withGet('await ctx.library.entries(); return { externalId }') },
      },
      [warning('permissions', /permissions\.library, but none of its functions runs for a user.* Remove it\.$/)],
    ],
    [
      'settings of nobody',
      { manifest: { ...HOSTS, userConfig: { type: 'object', properties: { language: { type: 'string' } } } } },
      [warning('manifest', /^The manifest has userConfig, but none of its functions runs for a user: .* Remove it\.$/)],
    ],
    [
      'missing function',
      { manifest: { ...HOSTS, capabilities: { 'metadata.series': { methods: ['search', 'get', 'match'] } } } },
      [error('functions', /metadata\.series\.match, which the code/)],
    ],
    [
      'extra function',
      { manifest: { ...HOSTS, capabilities: { 'metadata.series': { methods: ['search'] } } } },
      [warning('functions', /metadata\.series\.get, which the manifest/)],
    ],
    ['does not start', code(`${ECHO}\nthrow new Error('not today')`), [error('functions', /does not start: .*not today/)]],
    ['secret', code(withGet(`return { externalId, title: 'ghp_${'a1B2'.repeat(9)}' }`)), [error('secrets', /a GitHub token: ghp_a1…/)]],
    [
      'random text',
      code(withGet(`return { externalId, title: 'q8Zr3TxVq8LmN5bYc7HdK2sJf9GpA4uE6iq8' }`)),
      [warning('secrets', /random text/)],
    ],
    [
      'large',
      code(`const big = '${'many words '.repeat(60_000)}'\n${withGet('return { externalId, title: big }')}`),
      [warning('size', /has 6\d\d KB/)],
    ],
    [
      'too large',
      code(`const big = '${'many words '.repeat(200_000)}'\n${withGet('return { externalId, title: big }')}`),
      [error('code', /the limit of a server is 2048 KB\. Its largest modules:\n +2149 KB {2}src\/main\.ts/)],
    ],
    [
      'files',
      { manifest: HOSTS, files: { 'README.md': null, LICENSE: null } },
      [warning('files', /README\.md/), warning('files', /LICENSE/)],
    ],
  ]
  for (const [name, change, expected] of cases) {
    const { findings } = await look(await openPluginFolder(t, { manifest: HOSTS, ...change }))
    for (const wanted of expected)
      t.ok(
        findings.some(
          (found) => found.level === wanted.level && found.check === wanted.check && (wanted.message as RegExp).test(found.message),
        ),
        `${name}: ${JSON.stringify(findings)}`,
      )
    const allowed = new Set(expected.map(({ level }) => level))
    if (!allowed.has('error'))
      t.notOk(
        findings.some(({ level }) => level === 'error'),
        `${name} is not an error`,
      )
  }
})

t.test('problems in packages are reported by file and line, and are errors only when the code does not start', async (t) => {
  const folder = await openPluginFolder(t, {
    manifest: HOSTS,
    files: {
      'src/main.ts': withGet(
        'return { externalId, title: String(words(externalId)) + dates() + (await client(ctx.fetch)) }',
        "import { words, dates, client } from 'pack'\n",
      ),
      'node_modules/pack/package.json': JSON.stringify({
        name: 'pack',
        version: '1.0.0',
        main: 'index.js',
        type: 'module',
        sideEffects: false,
      }),
      'node_modules/pack/index.js': "export * from './words.js'\nexport * from './dates.js'\nexport * from './client.js'\n",
      // As in lodash-es, to find the global object.
      'node_modules/pack/words.js': `var freeGlobal = typeof global == 'object' && global && global.Object === Object && global
var freeSelf = typeof self == 'object' && self && self.Object === Object && self
var root = freeGlobal || freeSelf || Function('return this')()
export const words = (text) => root.String(text)
`,
      // As in date-fns, to warn about tokens.
      'node_modules/pack/dates.js': `export const dates = (odd) => {
  if (odd) console.warn('https://docs.example.com/tokens')
  return ''
}
`,
      // As in HTTP clients, with a given fetch or the global one.
      'node_modules/pack/client.js': `/** Made for
 * many platforms. */
export const client = async (given) => {
  const ask = given ?? globalThis.fetch
  const { status } = await ask('https://api.example.org/titles')
  return status
}
`,
    },
  })
  const { findings } = await look(folder)
  t.same(findings.map(({ level, check, message }) => `${level} ${check} ${message.split(/: | which/, 2).join(': ')}`).sort(), [
    'warning globals node_modules/pack/client.js:4: pack uses fetch,',
    'warning globals node_modules/pack/dates.js:2: pack uses console,',
    'warning globals node_modules/pack/words.js:3: It creates code from text (Function),',
    'warning hosts node_modules/pack/dates.js:2: The code contains a URL of docs.example.com,',
  ])
})

t.test('a host to which only covers and redirects of saved responses lead is not reported', async (t) => {
  const hosts = ['img.example.net', '*.cdn.example.com', 'moved.example.org', 'never.example.org']
  const network = [...HOSTS.permissions.network, ...hosts.map((host) => ({ host, methods: ['GET'], reason: 'Covers' }))]
  const exchangeOf = (response: object) => ({ formatVersion: 1, exchanges: [{ request: { url: 'https://api.example.org/b' }, response }] })
  const folder = await openPluginFolder(t, {
    manifest: { permissions: { ...HOSTS.permissions, network } },
    files: {
      'fixtures/covers.json': JSON.stringify(
        exchangeOf({ json: { covers: ['https://img.example.net/1', 'https://a.cdn.example.com/2'] } }),
      ),
      'calls/get.json': JSON.stringify({
        method: 'metadata.series.get',
        input: { externalId: 'a' },
        fixtures: exchangeOf({ url: 'https://moved.example.org/b', body: '' }),
      }),
    },
  })
  const { findings } = await look(folder)
  t.match(
    findings.map(({ message }) => message),
    [/^The manifest requests never\.example\.org, but neither /],
  )
  t.equal(findings.length, 1)
})

t.test('a foreign bundle is validated as it is', async (t) => {
  const folder = await openPluginFolder(t, {
    manifest: { capabilities: { recommendations: { methods: ['get'] } }, permissions: {} },
    files: {
      'src/main.ts': null,
      'main.js': `import x from 'node:fs'\nexport default { recommendations: { get: () => ({ recommendations: [] }) } }`,
      'main.js.map': JSON.stringify({ version: 3, sources: ['/home/ada/plugin/src/main.ts'], mappings: '' }),
    },
  })
  const { findings } = await look(folder)
  t.match(findings.map(({ check, message }) => `${check} ${message}`).sort(), [
    /^functions The code does not start: .*cannot import/,
    /^imports The bundle imports "node:fs"/,
    /^source-map The source map contains a path of your machine, \/home\/ada/,
  ])
  await writeFile(path.join(folder, 'main.js'), `export default { recommendations: { get: () => ({ recommendations: ['${folder}/x'] }) } }`)
  await writeFile(path.join(folder, 'main.js.map'), 'no map')
  const leaks = (await look(folder)).findings
  t.match(
    leaks.map(({ message }) => message),
    [/contains the path of your folder/, /is not valid JSON/],
  )
  t.equal(summarize(leaks), '2 errors')
  t.equal(summarize([{ level: 'warning', check: 'files', message: '' }]), '1 warning')
})

t.test('a folder without a plugin differs from one with an invalid plugin', async (t) => {
  const folder = await openPluginFolder(t, { files: { 'manifest.json': null } })
  await t.rejects(validateProject(folder, silentLog), { name: 'ToolProblem', message: /There is no manifest\.json in/ })
  const bare = await openPluginFolder(t, { files: { 'src/main.ts': null } })
  await mkdir(path.join(bare, 'main.js'))
  await t.rejects(validateProject(bare, silentLog), { message: /neither src\/main\.ts nor src\/main\.js nor main\.js/ })
})
