import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { describeManifest } from '#plugins/packages/manifest-schema.ts'
import { packPlugin, readPackage } from '#plugins/packages/plugin-package.ts'
import { openHostedPlugins } from '#test/support/hosted-plugins.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { runTool } from '#test/support/plugin-projects.ts'
import { manifestOf } from '#test/support/plugins.ts'
import { bundle, compile, filesOf, installSdk, run, SDK_FOLDER, TSC, writeFiles } from '#test/support/sdk-install.ts'
import type { Fixtures } from '../../plugin-sdk/fixtures.ts'
import type { Context } from '../../plugin-sdk/types.ts'

// On a busy machine, npm alone takes many seconds.
t.setTimeout(240_000)

let kit: Awaited<ReturnType<typeof installSdk>>
t.before(async () => {
  kit = await installSdk(t)
})

const README = 'plugin-sdk/README.md'
const tutorialFiles = () => filesOf(README)

/** Open Library in its documented shapes, with one book. */
const openLibrary = (): Fixtures => {
  const site = 'https://openlibrary.org'
  const search = (query: string) => `${site}/search.json?${query}&limit=5&fields=key,title,first_publish_year,cover_i`
  const dune = { json: { numFound: 1, docs: [{ key: '/works/OL893415W', title: 'Dune', first_publish_year: 1965, cover_i: 11481354 }] } }
  const work = { title: 'Dune', description: { type: '/type/text', value: 'Sand.' }, subjects: ['Deserts'] }
  return {
    formatVersion: 1,
    exchanges: [
      { request: { url: search('title=dune') }, response: dune },
      { request: { url: search('isbn=9780441172719') }, response: dune },
      { request: { url: search('title=Emma') }, response: { json: { numFound: 0, docs: [] } } },
      { request: { url: `${site}/works/OL893415W.json` }, response: { json: work } },
      { request: { url: `${site}/works/OL1W.json` }, response: { status: 404, json: { error: 'notfound' } } },
    ],
  }
}

t.test('the packed SDK installs into an empty folder, and the plugin of its README works there', onlyFull, async (t) => {
  const folder = await kit.openFolder(t)
  t.same(
    kit.packed,
    [
      'LICENSE',
      'README.md',
      'REFERENCE.md',
      'dist/THIRD-PARTY-LICENSES.txt',
      'dist/globals.d.ts',
      ...[
        'assertions',
        'call-trace',
        'errors',
        'external-ids',
        'fixtures',
        'html',
        'index',
        'normalize-text',
        'testing',
        'text',
        'types',
        'xml',
      ].flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]),
      'manifest.schema.json',
      'package.json',
    ].sort(),
    'the published files',
  )
  t.same((await readdir(path.join(folder, 'node_modules', '@carrel'))).sort(), ['plugin-sdk'])
  t.same(
    (await readdir(path.join(folder, 'node_modules'))).filter((name) => !name.startsWith('.')),
    ['@carrel'],
    'and no other packages',
  )
  const kitPackage = JSON.parse(await readFile(path.join(folder, 'node_modules/@carrel/plugin-sdk/package.json'), 'utf8'))
  t.same([kitPackage.dependencies, kitPackage.peerDependencies], [undefined, undefined])
  t.same(Object.keys(kitPackage.scripts), ['prepack'], 'npm runs no script when it installs the SDK')

  const files = await tutorialFiles()
  t.same(
    [...files.keys()].sort(),
    [
      'fixtures/dune.json',
      'manifest.json',
      'service.mjs',
      'src/careful.ts',
      'src/main.ts',
      'src/reading.ts',
      'test/books.test.ts',
      'tsconfig.json',
    ],
    'the files of the tutorial',
  )
  await writeFiles(folder, files)
  await compile(folder)
  t.match(await runTool(folder, ['pack']), { code: 0, stderr: '' })
  const bytes = await readFile(path.join(folder, 'org.example.library-books-1.0.0.plugin'))
  t.match(readPackage(bytes), { manifest: { id: 'org.example.library-books' }, signedBy: [] })

  const { host, way, install, unmatched } = await openHostedPlugins(t, openLibrary())
  const { id, call } = await install(bytes)
  const dune = {
    externalId: 'OL893415W',
    title: 'Dune',
    year: 1965,
    coverUrl: 'https://covers.openlibrary.org/b/id/11481354-L.jpg',
    relevance: 1,
  }
  t.same(await call('metadata.book.search', { query: 'dune', limit: 5 }), { results: [dune] })
  t.same(await call('metadata.book.match', { title: 'Sand', isbn: '0441172717' }), { match: dune, confidence: 1, alternatives: [] })
  t.same(await call('metadata.book.match', { title: 'Emma' }), { match: null, confidence: 0, alternatives: [] })
  const work = {
    externalId: 'OL893415W',
    externalUrl: 'https://openlibrary.org/works/OL893415W',
    title: 'Dune',
    summary: 'Sand.',
    subjects: ['Deserts'],
  }
  for (const time of ['first', 'second']) t.same(await call('metadata.book.get', { externalId: 'OL893415W' }), work, time)
  t.equal(way.asked.filter(({ url }) => url === '/works/OL893415W.json').length, 1, 'the second call uses the cache')
  await t.rejects(call('metadata.book.get', { externalId: 'dune' }), { code: 'not_found', message: /not a work of Open Library/ })
  await t.rejects(call('metadata.book.get', { externalId: 'OL1W' }), { code: 'not_found' })
  t.equal((await host.plugins.get(id)).state, 'enabled')
  t.same(unmatched, [])
})

t.test('globals missing in the sandbox, and values that the server refuses, do not compile', async (t) => {
  const folder = await kit.openFolder(t)
  const files = await tutorialFiles()
  const absent = ['process', 'Buffer', 'require', 'console', 'fetch', 'window', 'WebAssembly', 'setInterval', 'document']
  const wrong: [name: string, plugin: string, complaint: RegExp][] = [
    ['no-title', `{ metadata: { book: { search: () => ({ results: [{ externalId: '1' }] }) } } }`, /'title' is missing/],
    ['role', `{ metadata: { book: { get: () => ({ externalId: '1', authors: [{ name: 'x', role: 'boss' }] }) } } }`, /'"boss"'|"boss"/],
    ['status', `{ metadata: { series: { get: () => ({ externalId: '1', status: 'over' }) } } }`, /"over"/],
    ['stranger', `{ metadata: { film: {} } }`, /'film' does not exist/],
    ['context', `{ metadata: { book: { get: (_, ctx) => ctx.eval('1') } } }`, /'eval' does not exist/],
    [
      'number',
      `{ recommendations: { get: () => ({ recommendations: [{ externalId: '1', title: 'x', score: 'much', reason: '' }] }) } }`,
      /score|string/,
    ],
  ]
  await writeFiles(folder, [
    ['tsconfig.json', files.get('tsconfig.json') as string],
    ...absent.map((name): [string, string] => [`src/no-${name}.ts`, `export const found: unknown = ${name}\n`]),
    ...wrong.map(([name, plugin]): [string, string] => [
      `src/wrong-${name}.ts`,
      `import { definePlugin } from '@carrel/plugin-sdk'\nexport default definePlugin(${plugin})\n`,
    ]),
    ['src/right.ts', CONFIGURED],
  ])
  const { code, stdout: output } = await run(process.execPath, [TSC, '--pretty', 'false'], folder)
  t.not(code, 0)
  for (const name of absent) t.match(output, new RegExp(`src/no-${name}\\.ts\\(1,\\d+\\): error TS\\d+: Cannot find name '${name}'`), name)
  for (const [name, , complaint] of wrong) {
    // The explanation of an error is indented below it.
    const [own = ''] = new RegExp(`^src/wrong-${name}\\.ts.*(\\n .*)*`, 'm').exec(output) ?? []
    t.match(own, complaint, name)
  }
  t.notMatch(output, /right\.ts|node_modules/, 'and correct code compiles')
})

const CONFIGURED = `import { AuthError, ConfigError, definePlugin, hasCode, RateLimitError, UpstreamError } from '@carrel/plugin-sdk'

interface Config { shelf: string; depth: number }

export default definePlugin<Config>({
  setup({ config, log }) {
    if (config.shelf === 'broken') throw new ConfigError('There is no such shelf.')
    log.debug('ready', { depth: config.depth ?? 0 })
  },
  metadata: {
    series: {
      async search({ query }, ctx) {
        if (query === 'wait') throw new RateLimitError()
        if (query === 'locked') throw new AuthError()
        if (query === 'broken') throw new UpstreamError('Out of order.')
        const shelf: string = ctx.config.shelf ?? 'all'
        try {
          await ctx.fetch('https://elsewhere.example.org/')
        } catch (error) {
          if (!hasCode(error, 'permission')) throw error
          return { results: [{ externalId: '1', title: shelf + ' ' + query, preview: { bookCount: ctx.config.depth ?? null } }] }
        }
        return { results: [] }
      },
      get: ({ externalId }) => ({ externalId, status: 'ended', authors: [{ name: 'A', role: 'writer' }] }),
    },
  },
})
`

/** Members of the context at run time; the types must have the same. */
const MEMBERS = {
  callId: 'string',
  plugin: { id: 'string', version: 'string' },
  config: {},
  userConfig: {},
  fetch: 'function',
  http: { json: 'function' },
  storage: { get: 'function', set: 'function', delete: 'function', list: 'function' },
  log: { debug: 'function', info: 'function', warn: 'function', error: 'function' },
  progress: 'function',
  auth: { status: 'function' },
  library: { entries: 'function' },
  sleep: 'function',
  crypto: { digest: 'function', hmac: 'function', randomUUID: 'function' },
  // Its members are on a prototype.
  signal: {},
} as const satisfies {
  [Name in keyof Context]: Context[Name] extends string | ((...given: never[]) => unknown)
    ? 'string' | 'function'
    : Context[Name] extends AbortSignal
      ? object
      : { [Member in keyof Context[Name] as string extends Member ? never : Member]-?: 'string' | 'function' }
}

t.test('errors, configuration and context in the sandbox match the types', async (t) => {
  const folder = await kit.openFolder(t)
  const files = await tutorialFiles()
  await writeFiles(folder, [
    ['tsconfig.json', files.get('tsconfig.json') as string],
    ['src/main.ts', CONFIGURED],
  ])
  const main = await bundle(folder)
  const pack = (code: string, change: Record<string, unknown>) =>
    packPlugin(
      new Map([
        ['manifest.json', Buffer.from(JSON.stringify(manifestOf(change)))],
        ['main.js', Buffer.from(code)],
      ]),
    )
  const { host, install } = await openHostedPlugins(t, {
    formatVersion: 1,
    exchanges: [{ request: { url: 'https://api.example.org/' }, response: { json: {} } }],
  })
  const { id, call } = await install(
    pack(main, {
      id: 'org.example.configured',
      config: { type: 'object', properties: { shelf: { type: 'string' }, depth: { type: 'integer' } } },
    }),
  )
  const search = (query: string) => call('metadata.series.search', { query, limit: 1 })
  t.same(await search('x'), { results: [{ externalId: '1', title: 'all x', preview: { bookCount: null } }] })
  await host.plugins.edit(id, { config: { shelf: 'top', depth: 3 } })
  t.same(await search('x'), { results: [{ externalId: '1', title: 'top x', preview: { bookCount: 3 } }] })
  t.same(await call('metadata.series.get', { externalId: '7' }), {
    externalId: '7',
    status: 'ended',
    authors: [{ name: 'A', role: 'writer' }],
  })
  await t.rejects(search('wait'), { code: 'unavailable', details: { code: 'rate_limited' } })
  await t.rejects(search('locked'), { code: 'unavailable', details: { code: 'auth' } })
  await t.rejects(search('broken'), { code: 'unavailable', details: { code: 'upstream' }, message: /Out of order/ })
  await host.plugins.edit(id, { config: { shelf: 'broken' } })
  await t.rejects(search('x'), { code: 'unavailable', details: { code: 'config' }, message: /no such shelf/ })

  const looking = await install(
    pack(
      `const shapeOf = (value) => value === null ? 'null' : typeof value !== 'object' ? typeof value : Object.fromEntries(Object.keys(value).map((name) => [name, shapeOf(value[name])]))
      const membersOf = ({ ok, status, url, retryAfterSeconds, headers: { get, entries }, text, json }) =>
        ({ ok, status, url, retryAfterSeconds, headers: { get, entries }, text, json })
      export default { metadata: { series: {
        search: (_, ctx) => ({ results: [{ externalId: '1', title: JSON.stringify(shapeOf(ctx)) }] }),
        get: async (_, ctx) => ({ externalId: '1', title: JSON.stringify(shapeOf(membersOf(await ctx.fetch('https://api.example.org/')))) }) } } }`,
      { id: 'org.example.looking' },
    ),
  )
  const { results } = (await looking.call('metadata.series.search', { query: '', limit: 1 })) as { results: { title: string }[] }
  t.same(JSON.parse(results[0]?.title ?? ''), MEMBERS)
  const { title } = await looking.call('metadata.series.get', { externalId: '1' })
  t.same(JSON.parse(String(title)), {
    ok: 'boolean',
    status: 'number',
    url: 'string',
    retryAfterSeconds: 'null',
    headers: { get: 'function', entries: 'function' },
    text: 'function',
    json: 'function',
  })
})

t.test('the published manifest schema is the one that the server uses', async (t) => {
  const published = JSON.parse(await readFile(path.join(SDK_FOLDER, 'manifest.schema.json'), 'utf8'))
  t.same(published, describeManifest(), 'plugin-sdk/manifest.schema.json is stale: run plugins/packages/manifest-schema-write.ts')
  const check = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(published)
  t.ok(check(JSON.parse((await tutorialFiles()).get('manifest.json') as string)), JSON.stringify(check.errors))
  t.ok(check(manifestOf()))
  t.notOk(check(manifestOf({ id: 'nodot' })))
  t.notOk(check(manifestOf({ capabilities: { 'metadata.series': { methods: ['steal'] } } })))
  t.notOk(check({}))
})
