import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, posix, relative } from 'node:path'

/** One import as it is written in the code. */
export interface Import {
  /** Repository path of the importing file. */
  from: string
  specifier: string
}

export interface SourceFile {
  path: string
  text: string
}

/** The folders that each folder may import. */
const FOLDERS: Record<string, readonly string[]> = {
  'plugin-sdk': [],
  core: [],
  workers: ['core'],
  plugins: ['core', 'plugin-sdk'],
  api: ['core', 'plugins'],
  migrations: [],
  test: ['api', 'bench', 'core', 'migrations', 'plugins', 'plugin-sdk', 'web', 'workers'],
  bench: ['api', 'core', 'migrations', 'plugins', 'plugin-sdk', 'test', 'workers'],
}

/** The subfolders of a folder, in order: each may import only itself and those before it, types included, so there is no cycle between folders. */
export const ORDER: Record<string, readonly string[]> = {
  core: [
    ...['foundation', 'database', 'embedded', 'paging', 'settings', 'cluster', 'events', 'account', 'tasks', 'fields', 'metadata'],
    ...['covers', 'conditions', 'catalog', 'analysis', 'scan', 'reading', 'shelves', 'templates', 'matching', 'recommendations'],
    ...['exports', 'maintenance'],
  ],
  // Shared definitions are in the folder itself: limits, problems and drawing requests.
  workers: ['', 'images', 'metadata', 'formats', 'pool'],
  plugins: ['logs', 'packages', 'consent', 'runtime', 'network', 'credentials', 'repositories', 'templates', 'host', 'devkit', 'bundled'],
  // The folder itself has the list of routes, the server and the composition root. The command line starts the server, and `main.ts` the command line.
  api: ['areas', 'http', 'views', 'docs', 'web', 'rest', 'events', 'opds', 'komga', 'koreader', '', 'cli', 'main'],
}
/** Programs that a person or a script starts. */
const PROGRAMS = /^api\/(main|openapi-write|readme-write)\.ts$/

/** The place in the order of its folder; null without an order, -1 for a folder that is missing from the order. */
function placeOf(path: string): number | null {
  const [top = '', inner = ''] = path.split('/')
  const order = ORDER[top]
  if (order === undefined) return null
  if (PROGRAMS.test(path)) return order.indexOf('main')
  return order.indexOf(path.split('/').length > 2 ? inner : '')
}

/** Packages that only some files may import. Any other package is free for every folder outside test and bench. */
const SOLE_IMPORTERS: Record<string, RegExp> = {
  'lru-cache': /^core\/foundation\/bounded\.ts$/,
  knex: /^core\/(database|embedded)\/|^(core|plugins)\/.*(database|-store|-query)\.ts$|^migrations\//,
  pg: /^core\/(database|embedded)\/|^core\/.*(database|-store|-query)\.ts$/,
  'graphile-worker': /^core\/tasks\/graphile-worker\.ts$|^migrations\//,
  piscina: /^workers\/pool\/thread(-pool)?\.ts$/,
  commander: /^core\/settings\/command-line\.ts$/,
  'node-unrar-js': /^workers\/formats\/rar\//,
  'pdfjs-dist': /^workers\/formats\/pdf\//,
  '@napi-rs/canvas': /^workers\/formats\/pdf\//,
  unzipper: /^workers\/formats\/epub\/epub-entries\.ts$/,
  'fast-xml-parser': /^(workers\/metadata|plugin-sdk)\/xml\.ts$/,
  htmlparser2: /^(workers\/formats\/epub\/clean-chapter|plugin-sdk\/html)\.ts$/,
  'css-select': /^plugin-sdk\/html\.ts$/,
  busboy: /^api\/http\/upload\.ts$/,
  yazl: /^api\/http\/send-archive\.ts$/,
  'http-cache-semantics': /^plugins\/network\/cache\.ts$/,
  oauth4webapi: /^plugins\/credentials\/sign-in(-tokens)?\.ts$/,
  semver: /^plugins\/(packages\/|repositories\/|host\/|devkit\/release-command)/,
  // Servers do not install it.
  esbuild: /^(plugin-sdk\/(build\.mjs|create\/.*)|plugins\/((bundled|runtime\/guest|templates\/guest\/rules)\/build\.mjs|devkit\/.*))$/,
  'whatwg-url': /^plugins\/runtime\/guest\/web\/url\.ts$/,
  sharp: /^workers\/images\//,
  'image-size': /^workers\/images\/image\.ts$/,
  restify: /^api\//,
  passport: /^api\//,
  'passport-custom': /^api\//,
  'passport-http': /^api\//,
  'passport-headerapikey': /^api\//,
  // Servers do not install this either.
  ws: /^plugins\/devkit\/inspector\.ts$/,
  'isolated-vm': /^plugins\/runtime\/runner\//,
  re2js: /^core\/conditions\/(title-rewriting|condition)\.ts$/,
}

/** Files that evaluate untrusted input: only the program of an isolate may import them, never the server process. */
const ISOLATED = new Set(['core/conditions/title-rewriting.ts', 'core/conditions/condition.ts'])
const ISOLATE_PROGRAMS = /^plugins\/templates\/guest\/|^(test|bench)\//

/** In api, only the composition root (in its several files) may import the worker pool. */
const COMPOSITION = /^api\/(main|compose)\.ts$/

/** A launcher starts another launcher as a program, on the Node version of the checkout, and imports nothing from it. */
const LAUNCHERS: Record<string, string> = { 'plugins/devkit/carrel-plugin.mjs': 'api/launch.mjs' }

/** Code that the SDK and the server share is in the SDK, which imports nothing; one module of core imports each of these files. */
const SHARED_WITH_SDK: Record<string, string> = {
  'core/foundation/text.ts': 'plugin-sdk/normalize-text.ts',
  'core/matching/title-likeness.ts': 'plugin-sdk/text.ts',
}

const FORBIDDEN_WORDS = /(^|[-_./])(utils?|helpers?|common|misc|base|services?|manager|processor|dto|impl)([-_./]|$)/
/** The object that routes receive; the only name with that word. */
const NAMED_ON_PURPOSE = new Set(['api/http/services.ts'])

/** Words that the glossary replaces, also inside names. The table of covers that wait for removal keeps its name. */
const REPLACED = [
  ...['tenancy', 'tenancies', 'inhabitant', 'landlord', 'bury', 'condemn', 'accuse', 'stillborn', 'moveIn', 'tellNews', 'bookVoice'],
  ...['takePlace', 'rehearse', 'rehearsal', 'tryOut', 'errand', 'callerSlots', 'leftovers', 'holdings', 'editHolding', 'readHolding'],
  ...['sessionGround', 'pluginGround', 'placeAsk', 'bookAsk', 'exportWish', 'bookFault', 'pageFaults', 'schemaFault', 'templateFault'],
  ...['faultOf', 'faultBelow', 'toldFailure', 'pluginReader', 'pluginFacts', 'shownReader', 'shownFilePath', 'shownMessage', 'shownItem'],
  ...['greetApp', 'dismissApp', 'openCallers', 'openGate', 'carrelError', 'listTaskNews', 'takeBackLost'],
]
const REPLACED_WORDS = new RegExp(REPLACED.map((word) => `(?<![A-Za-z_])${word}|${word[0]?.toUpperCase()}${word.slice(1)}`).join('|'))

/** A statement by knex, whatever the name of its connection; the rule on imports does not see `import type`. */
const SQL = /\.raw\(|\b(database|trx|knex)\('/
const SQL_FILES = /^(core|plugins)\/.*(database|-store|-query)\.ts$/

const LINES_MAX = 400

export function importsOf(file: SourceFile): Import[] {
  // A regular expression is enough: imports stand at line starts in this code base, which the formatter guarantees.
  const pattern = /^(?:import|export)\s(?:[^'";]*?\sfrom\s)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm
  return [...file.text.matchAll(pattern)].map((match) => ({ from: file.path, specifier: (match[1] ?? match[2]) as string }))
}

const packageOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

function violation({ from, specifier }: Import, typeOnly: boolean): string | null {
  const folder = from.split('/')[0] as string
  const allowed = FOLDERS[folder]
  if (allowed === undefined) return `${from}: the folder "${folder}" has no import rule`
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) return null

  const target = targetOf({ from, specifier })
  if (target !== null) {
    if (ISOLATED.has(target) && !ISOLATE_PROGRAMS.test(from)) return `${from} imports ${specifier}: only the program of an isolate may`
    const targetFolder = target.split('/')[0] as string
    if (targetFolder === folder) return outOfOrder(from, target)
    if (allowed.includes(targetFolder) && !(from.startsWith('plugins/bundled/') && targetFolder !== 'plugin-sdk')) return null
    if (!targetFolder.includes('.') && targetFolder === 'workers' && COMPOSITION.test(from)) return null
    if (target === 'package.json' || target === LAUNCHERS[from] || target === SHARED_WITH_SDK[from]) return null
    return `${from} imports ${specifier}: ${folder}/ may import ${allowed.join(', ') || 'nothing of ours'}`
  }
  if (folder === 'test' || folder === 'bench') return null
  const owner = SOLE_IMPORTERS[packageOf(specifier)]
  if (owner && !owner.test(from) && !typeOnly) return `${from} imports ${specifier}: only ${owner.source} may`
  return null
}

function outOfOrder(from: string, target: string): string | null {
  const [place, targetPlace] = [placeOf(from), placeOf(target)]
  if (place === null || targetPlace === null || place >= targetPlace) return null
  return `${from} imports ${target}: it may import only what comes before it in the order of folders (${ORDER[from.split('/')[0] as string]?.join(', ')})`
}

/** The path of an imported file of ours; null for a package. */
function targetOf({ from, specifier }: Import): string | null {
  if (specifier.startsWith('#')) return specifier.slice(1)
  return specifier.startsWith('.') ? posix.normalize(posix.join(dirname(from), specifier)) : null
}

/** More than a reader can look over. */
const FOLDER_FILES_MAX = 45

/** Folders with too many files, and files of the foundation that belong to the one folder that uses them. */
export function findMisplaced(files: readonly SourceFile[]): string[] {
  const sources = files.filter(({ path }) => !/^(test|bench)\//.test(path))
  const counts = new Map<string, number>()
  for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  const users = new Map<string, Set<string>>()
  for (const imported of sources.flatMap(importsOf)) {
    const target = targetOf(imported)
    if (target?.startsWith('core/foundation/')) users.set(target, (users.get(target) ?? new Set()).add(dirname(imported.from)))
  }
  return [
    ...[...counts]
      .filter(([, count]) => count > FOLDER_FILES_MAX)
      .map(([folder, count]) => `${folder}: ${count} files; the limit is ${FOLDER_FILES_MAX}`),
    ...[...users]
      .filter(([, folders]) => folders.size === 1 && !folders.has('core/foundation'))
      .map(([path, folders]) => `${path}: only ${[...folders]} uses it, so it belongs there`),
  ]
}

/** Files that import one another in a cycle, types included. */
export function findCycles(files: readonly SourceFile[]): string[][] {
  const targets = new Map(files.map((file) => [file.path, importsOf(file).map((imported) => targetOf(imported) ?? '')]))
  const done = new Set<string>()
  const cycles: string[][] = []
  const visit = (path: string, way: string[]): void => {
    const at = way.indexOf(path)
    if (at >= 0) {
      cycles.push([...way.slice(at), path])
      return
    }
    if (done.has(path)) return
    for (const target of targets.get(path) ?? []) if (targets.has(target)) visit(target, [...way, path])
    done.add(path)
  }
  for (const path of targets.keys()) visit(path, [])
  return cycles
}

/** A file and all that it imports, directly or not, types included. */
export function reachable(files: readonly SourceFile[], from: string): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const reached = new Set([from])
  for (const path of reached) {
    for (const imported of importsOf(byPath.get(path) as SourceFile)) {
      const target = targetOf(imported)
      if (target !== null && byPath.has(target)) reached.add(target)
    }
  }
  return [...reached]
}

/** Every violation of the rules on layout, names and the direction of imports, as a sentence. */
export function findViolations(files: readonly SourceFile[]): string[] {
  const found: string[] = []
  for (const file of files) {
    for (const imported of importsOf(file)) {
      const typeOnly = new RegExp(`^import type [^;]*?['"]${imported.specifier.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}['"]`, 'm').test(
        file.text,
      )
      const broken = violation(imported, typeOnly)
      if (broken) found.push(broken)
    }
    if (FORBIDDEN_WORDS.test(file.path.replace(/\.ts$/, '')) && !NAMED_ON_PURPOSE.has(file.path)) {
      found.push(`${file.path}: the name says nothing; name the thing it is about`)
    }
    if (/^(core|api|workers)\//.test(file.path) && !SQL_FILES.test(file.path) && SQL.test(file.text)) {
      found.push(`${file.path}: SQL belongs into a *-store.ts or *-query.ts`)
    }
    const replaced = /^(core|plugins|workers|api)\//.test(file.path) ? REPLACED_WORDS.exec(`${file.path}\n${file.text}`) : null
    if (replaced) found.push(`${file.path}: "${replaced[0]}" is replaced by another word in the glossary`)
    if (/^(core|plugins|workers|api)\/(.*\/)?shown-[^/]*$/.test(file.path)) found.push(`${file.path}: the glossary calls this a view`)
    if (placeOf(file.path) === -1) found.push(`${file.path}: its folder is missing from the order of folders`)
    // What runs in pages of a browser has other globals than the program.
    if (/^(?!test\/|bench\/web\/).*\.m?js$/.test(file.path) && !/^(#!.*\n)?\/\/ @ts-check\n/.test(file.text))
      found.push(`${file.path}: begins without // @ts-check`)
    const lines = file.text.split('\n').length
    // A table of cases is read row by row.
    if (lines > LINES_MAX && !/^test\/.*\.table\.ts$/.test(file.path)) found.push(`${file.path}: ${lines} lines; the limit is ${LINES_MAX}`)
    if (
      /(?<!')\bprocess\.env\b/.test(file.text) &&
      !/^(api\/(main|launch|cli\/.*)|plugins\/devkit\/(typed|dev-target)|test\/.*|bench\/.*)\.(ts|mjs)$/.test(file.path)
    ) {
      found.push(`${file.path}: reads process.env; settings are read once in api/main.ts and handed down`)
    }
  }
  return found
}

export function readSources(root: string, paths: readonly string[]): SourceFile[] {
  return paths.map((path) => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }))
}

export const SOURCE_FOLDERS = ['core', 'plugins', 'workers', 'api', 'migrations', 'test', 'bench', 'plugin-sdk']

/** Built from sources, see .gitattributes. */
const GENERATED = /^plugins\/([^.]*\/bundled\/[^/]+|bundled\/[^/]+|templates\/guest\/rules)\/main\.js$|^plugin-sdk\/dist\//

/** Every source file in these folders, as sorted paths in the repository. */
export function sourcePaths(root: string): string[] {
  const paths: string[] = []
  for (const folder of SOURCE_FOLDERS.filter((name) => existsSync(join(root, name)))) {
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      const path = relative(root, join(entry.parentPath, entry.name))
      if (entry.isFile() && /\.(ts|mjs|js)$/.test(path) && !/(^|\/)node_modules\//.test(path) && !GENERATED.test(path)) paths.push(path)
    }
  }
  return paths.sort()
}
