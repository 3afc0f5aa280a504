import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { silentLog } from '#core/log.ts'
import { openEgress } from '#plugins/egress.ts'
import { describeManifest } from '#plugins/manifest-schema.ts'
import { packPlugin, readPackage } from '#plugins/package/plugin-package.ts'
import { openPluginHost } from '#plugins/plugin-host.ts'
import { openSupervisor } from '#plugins/supervisor.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { manifestOf, openLoopback } from '#test/support/plugins.ts'
import type { Context } from '../../plugin-sdk/types.ts'

t.setTimeout(180_000)

const root = fileURLToPath(new URL('../..', import.meta.url))
const kit = path.join(root, 'plugin-sdk')
// Not bin/tsc: what tap loads into every process cannot load files without an ending.
const tsc = path.join(root, 'node_modules', 'typescript', 'lib', 'tsc.js')
const PATIENCE_MS = 60_000

/** Runs a program to its end. */
function run(command: string, given: readonly string[], cwd: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    // npm must not reach the network, nor what this machine's user has set and cached.
    const env = {
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`,
      HOME: cwd,
      npm_config_offline: 'true',
    }
    const child = spawn(command, given, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: PATIENCE_MS, killSignal: 'SIGKILL' })
    const said = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        said[name] += text
      })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...said }))
  })
}

async function succeeds(command: string, given: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(command, given, cwd)
  if (code !== 0) throw new Error(`${command} ${given.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
  return stdout
}

const compile = (cwd: string, ...given: string[]) => succeeds(process.execPath, [tsc, ...given], cwd)

/** The kit as a registry would give it away: built in a copy, packed, and installed into an empty folder. */
async function installKit(): Promise<{ folder: string; packed: string[] }> {
  const home = await mkdtemp(path.join(tmpdir(), 'carrel-sdk-'))
  t.teardown(() => rm(home, { recursive: true, force: true }))
  const copy = path.join(home, 'plugin-sdk')
  await cp(kit, copy, { recursive: true, filter: (from) => path.basename(from) !== 'dist' })
  await compile(copy, '-p', 'tsconfig.json')
  const report = JSON.parse(await succeeds('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', home], copy)) as {
    filename: string
    files: { path: string }[]
  }[]
  const [tarball] = Array.isArray(report) ? report : Object.values<{ filename: string; files: { path: string }[] }>(report)
  if (tarball === undefined) throw new Error('npm has packed nothing')
  const folder = path.join(home, 'plugin')
  await mkdir(folder)
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ name: 'plugin', private: true, type: 'module' }))
  const quiet = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await succeeds('npm', ['install', ...quiet, path.join(home, path.basename(tarball.filename))], folder)
  return { folder, packed: tarball.files.map((file) => file.path).sort() }
}

let kitInstalled: Awaited<ReturnType<typeof installKit>>
t.before(async () => {
  kitInstalled = await installKit()
})

/** A folder of its own with the kit in it. */
async function openFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'carrel-sdk-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await cp(kitInstalled.folder, folder, { recursive: true })
  return folder
}

/** The files that the README has its readers write: blocks with a name. */
async function tutorialFiles(): Promise<Map<string, string>> {
  const readme = await readFile(path.join(kit, 'README.md'), 'utf8')
  return new Map([...readme.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', text = '']) => [name, text]))
}

async function write(folder: string, files: Iterable<[string, string]>): Promise<void> {
  for (const [name, text] of files) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), text)
  }
}

/**
 * One file of a module and what it imports, as a bundler makes it. It knows as much as the compiler's own output of the kit and of a plugin
 * needs: named imports and exports without other names. Anything else it refuses.
 */
async function bundle(entry: string, packages: string): Promise<string> {
  const written: string[] = []
  const seen = new Set<string>()
  const find = async (specifier: string, from: string): Promise<string> => {
    if (specifier.startsWith('.')) return path.resolve(path.dirname(from), specifier)
    const folder = path.join(packages, '@carrel', 'plugin-sdk')
    const { exports } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'))
    return path.join(folder, exports[`.${specifier.slice('@carrel/plugin-sdk'.length)}`].default)
  }
  const add = async (file: string): Promise<void> => {
    if (seen.has(file)) return
    seen.add(file)
    let text = await readFile(file, 'utf8')
    for (const [statement, names = '', specifier = ''] of text.matchAll(/^(?:import|export) \{([^}]*)\} from ["']([^"']+)["'];?$/gm)) {
      if (/\bas\b/.test(names)) throw new Error(`${file}: ${statement} gives something another name`)
      await add(await find(specifier, file))
      text = text.replace(statement, '')
    }
    text = text.replace(/^export \{\};?$/gm, '')
    if (file !== entry) text = text.replace(/^export (?=const|function|async|class)/gm, '')
    if (/^import\b/m.test(text) || (file !== entry && /^export\b/m.test(text))) throw new Error(`${file} needs a real bundler`)
    written.push(text)
  }
  await add(entry)
  return written.join('\n')
}

async function openHost(t: Test, answer: (url: URL) => { status?: number; body: unknown }) {
  const { database } = await openTestDatabase(t)
  const way = await openLoopback(t, (request, response) => {
    const { status = 200, body } = answer(new URL(request.url ?? '/', `https://${request.headers.host}`))
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const supervisor = openSupervisor({ log: silentLog })
  const host = openPluginHost({ database, supervisor, egress: openEgress(way), log: silentLog })
  t.teardown(() => {
    host.close()
    supervisor.close()
  })
  const install = async (bytes: Buffer) => {
    const { plugin } = await host.install(bytes, null)
    await host.consent(plugin.id, { sha256: plugin.sha256 })
    const call = async (method: string, input: unknown) =>
      (await host.call({ pluginId: plugin.id, method, input, userId: null })).result as Record<string, unknown>
    return { id: plugin.id, call }
  }
  return { host, way, install }
}

/** Open Library in the shapes that it documents, with one book. */
function openLibrary({ pathname, searchParams }: URL): { status?: number; body: unknown } {
  if (pathname === '/search.json') {
    const isDune = searchParams.get('isbn') === '9780441172719' || /dune/i.test(searchParams.get('title') ?? '')
    return {
      body: { numFound: 1, docs: isDune ? [{ key: '/works/OL893415W', title: 'Dune', first_publish_year: 1965, cover_i: 11481354 }] : [] },
    }
  }
  if (pathname === '/works/OL893415W.json')
    return { body: { title: 'Dune', description: { type: '/type/text', value: 'Sand.' }, subjects: ['Deserts'] } }
  return { status: 404, body: { error: 'notfound' } }
}

t.test('the kit is packed, installed into an empty folder, and the tutorial of its README works from there', async (t) => {
  const folder = await openFolder(t)
  t.same(
    kitInstalled.packed,
    [
      'LICENSE',
      'README.md',
      ...['errors', 'index', 'text', 'types'].flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]),
      'manifest.schema.json',
      'package.json',
    ],
    'what is given away',
  )
  t.same((await readdir(path.join(folder, 'node_modules', '@carrel'))).sort(), ['plugin-sdk'])
  t.same(
    (await readdir(path.join(folder, 'node_modules'))).filter((name) => !name.startsWith('.')),
    ['@carrel'],
    'and nothing comes along',
  )
  const kitPackage = JSON.parse(await readFile(path.join(folder, 'node_modules/@carrel/plugin-sdk/package.json'), 'utf8'))
  t.same([kitPackage.dependencies, kitPackage.peerDependencies, kitPackage.scripts], [undefined, undefined, undefined])

  const files = await tutorialFiles()
  t.same([...files.keys()].sort(), ['manifest.json', 'pack.mjs', 'src/careful.ts', 'src/main.ts', 'tsconfig.json'])
  await write(folder, files)
  await compile(folder)
  await compile(folder, '--noEmit', 'false', '--outDir', 'build', '--rootDir', 'src')
  await writeFile(path.join(folder, 'main.js'), await bundle(path.join(folder, 'build', 'main.js'), path.join(folder, 'node_modules')))
  await succeeds(process.execPath, ['pack.mjs', root], folder)
  const bytes = await readFile(path.join(folder, 'org.example.library-books-1.0.0.plugin'))
  t.match(readPackage(bytes), { manifest: { id: 'org.example.library-books' }, signedBy: [] })

  const { host, way, install } = await openHost(t, openLibrary)
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
  t.equal(way.asked.filter(({ url }) => url === '/works/OL893415W.json').length, 1, 'kept from the first time to the second')
  await t.rejects(call('metadata.book.get', { externalId: 'dune' }), { code: 'not_found', message: /no work of Open Library/ })
  await t.rejects(call('metadata.book.get', { externalId: 'OL1W' }), { code: 'not_found' })
  t.equal((await host.get(id)).state, 'enabled')
})

t.test('what is not in the sandbox, and what the server would refuse, does not compile', async (t) => {
  const folder = await openFolder(t)
  const files = await tutorialFiles()
  const absent = ['process', 'Buffer', 'require', 'console', 'fetch', 'URL', 'setTimeout', 'window', 'WebAssembly', 'TextEncoder']
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
  await write(folder, [
    ['tsconfig.json', files.get('tsconfig.json') as string],
    ...absent.map((name): [string, string] => [`src/no-${name}.ts`, `export const found: unknown = ${name}\n`]),
    ...wrong.map(([name, plugin]): [string, string] => [
      `src/wrong-${name}.ts`,
      `import { definePlugin } from '@carrel/plugin-sdk'\nexport default definePlugin(${plugin})\n`,
    ]),
    ['src/right.ts', CONFIGURED],
  ])
  const { code, stdout: output } = await run(process.execPath, [tsc, '--pretty', 'false'], folder)
  t.not(code, 0)
  for (const name of absent) t.match(output, new RegExp(`src/no-${name}\\.ts\\(1,\\d+\\): error TS\\d+: Cannot find name '${name}'`), name)
  for (const [name, , complaint] of wrong) {
    // What explains an error is indented below it.
    const [own = ''] = new RegExp(`^src/wrong-${name}\\.ts.*(\\n .*)*`, 'm').exec(output) ?? []
    t.match(own, complaint, name)
  }
  t.notMatch(output, /right\.ts|node_modules/, 'and what is right does')
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
  library: { entries: 'function' },
  sleep: 'function',
  crypto: { digest: 'function', hmac: 'function', randomUUID: 'function' },
} as const satisfies {
  [Name in keyof Context]: Context[Name] extends string | ((...given: never[]) => unknown)
    ? 'string' | 'function'
    : { [Member in keyof Context[Name] as string extends Member ? never : Member]-?: 'string' | 'function' }
}

t.test('errors, configuration and the context are in the sandbox what they are in the types', async (t) => {
  const folder = await openFolder(t)
  const files = await tutorialFiles()
  await write(folder, [
    ['tsconfig.json', files.get('tsconfig.json') as string],
    ['src/main.ts', CONFIGURED],
  ])
  await compile(folder, '--noEmit', 'false', '--outDir', 'build', '--rootDir', 'src')
  const main = await bundle(path.join(folder, 'build', 'main.js'), path.join(folder, 'node_modules'))
  const pack = (code: string, change: Record<string, unknown>) =>
    packPlugin(
      new Map([
        ['manifest.json', Buffer.from(JSON.stringify(manifestOf(change)))],
        ['main.js', Buffer.from(code)],
      ]),
    )
  const { host, install } = await openHost(t, () => ({ body: {} }))
  const { id, call } = await install(pack(main, { id: 'org.example.configured' }))
  const search = (query: string) => call('metadata.series.search', { query, limit: 1 })
  t.same(await search('x'), { results: [{ externalId: '1', title: 'all x', preview: { bookCount: null } }] })
  await host.configure(id, { shelf: 'top', depth: 3 })
  t.same(await search('x'), { results: [{ externalId: '1', title: 'top x', preview: { bookCount: 3 } }] })
  t.same(await call('metadata.series.get', { externalId: '7' }), {
    externalId: '7',
    status: 'ended',
    authors: [{ name: 'A', role: 'writer' }],
  })
  await t.rejects(search('wait'), { code: 'unavailable', details: { code: 'rate_limited' } })
  await t.rejects(search('locked'), { code: 'unavailable', details: { code: 'auth' } })
  await t.rejects(search('broken'), { code: 'unavailable', details: { code: 'upstream' }, message: /Out of order/ })
  await host.configure(id, { shelf: 'broken' })
  await t.rejects(search('x'), { code: 'unavailable', details: { code: 'config' }, message: /no such shelf/ })

  const looking = await install(
    pack(
      `const shapeOf = (value) => typeof value !== 'object' ? typeof value : Object.fromEntries(Object.keys(value).map((name) => [name, shapeOf(value[name])]))
      export default { metadata: { series: {
        search: (_, ctx) => ({ results: [{ externalId: '1', title: JSON.stringify(shapeOf(ctx)) }] }),
        get: async (_, ctx) => ({ externalId: '1', title: JSON.stringify(shapeOf(await ctx.fetch('https://api.example.org/'))) }) } } }`,
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
    headers: { get: 'function', entries: 'function' },
    text: 'function',
    json: 'function',
  })
})

t.test('the schema of manifests that is given away is the one that the server checks', async (t) => {
  const published = JSON.parse(await readFile(path.join(kit, 'manifest.schema.json'), 'utf8'))
  t.same(published, describeManifest(), 'plugin-sdk/manifest.schema.json is stale: run plugins/manifest-schema-write.ts')
  const check = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(published)
  t.ok(check(JSON.parse((await tutorialFiles()).get('manifest.json') as string)), JSON.stringify(check.errors))
  t.ok(check(manifestOf()))
  t.notOk(check(manifestOf({ id: 'nodot' })))
  t.notOk(check(manifestOf({ capabilities: { 'metadata.series': { methods: ['steal'] } } })))
  t.notOk(check({}))
})
