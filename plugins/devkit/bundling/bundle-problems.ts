import { existsSync, readFileSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import type { Message, Metafile } from 'esbuild'
import { nearestName } from '#core/foundation/nearest-name.ts'
import { packageOf } from '#plugins/devkit/source-lines.ts'

/** What plugins have in place of modules of Node. */
const INSTEAD_OF_NODE: Readonly<Record<string, string>> = {
  fs: 'ctx.storage',
  http: 'ctx.http',
  https: 'ctx.http',
  http2: 'ctx.http',
  net: 'ctx.http',
  tls: 'ctx.http',
  dns: 'ctx.http',
  undici: 'ctx.http',
  crypto: 'ctx.crypto',
  buffer: 'Uint8Array, TextEncoder and TextDecoder',
  timers: 'ctx.sleep',
  url: 'URL and URLSearchParams, which need no import',
  process: 'ctx.config, for settings of the administrator',
  sqlite: 'ctx.storage',
  querystring: 'URLSearchParams, which needs no import',
}

/** The same for the modules that a package needs: only what says what the package is for. */
const PURPOSES = ['ctx.http', 'ctx.storage', 'ctx.crypto']

const OWN_PACKAGES = ['@carrel/plugin-sdk']
const UNRESOLVED = /^Could not resolve "(.+)"/

const nodeName = (specifier: string): string => specifier.replace(/^node:/, '').split('/')[0] as string

/** `name`, or `@scope/name`, of an import that names a package; null for files and aliases. */
const packageNameOf = (specifier: string): string | null => /^(@[\w.-]+\/)?[\w][\w.-]*(?=\/|$)/.exec(specifier)?.[0] ?? null

/** The errors of the bundler for the author: each with the line that the author can change. @param graph of a build in which imports that are not found stay */
export function describeErrors(folder: string, errors: readonly Message[], graph: Metafile | null): string[] {
  const byPackage = Map.groupBy(errors, ({ location }) => location && packageOf(location.file))
  const own = byPackage.get(null) ?? []
  byPackage.delete(null)
  return [
    ...own.map((error) => `${placeOf(error)}${describeOwn(folder, error)}`),
    ...[...byPackage].map(([name, group]) => describePackage(folder, { name: name as string, errors: group, graph })),
  ]
}

const placeOf = ({ location }: Message): string => (location === null ? '' : `${location.file}:${location.line}:${location.column + 1}: `)

function describeOwn(folder: string, { text, location }: Message): string {
  const [, specifier] = UNRESOLVED.exec(text) ?? []
  if (specifier === undefined) return describeExport(text)
  if (/^\.{0,2}\//.test(specifier)) {
    const file = path.posix.join(path.posix.dirname(location?.file ?? ''), specifier)
    return `There is no file ${specifier.startsWith('/') ? specifier : file}.`
  }
  const name = packageNameOf(specifier)
  // A package may have the name of a module of Node, such as "punycode".
  const isInstalled = name !== null && existsSync(path.join(folder, 'node_modules', name))
  if (isBuiltin(specifier) && !isInstalled) {
    const instead = INSTEAD_OF_NODE[nodeName(specifier)]
    return `${specifier} is a module of Node, in which plugins do not run.${instead === undefined ? '' : ` Use ${instead}.`}`
  }
  if (name === null) return text
  if (!isInstalled) {
    // Another name in the scope of the SDK is a misspelling, or somebody else's package.
    const near = nearestName(name, OWN_PACKAGES)
    return near === null ? `${name} is not installed: npm install ${name}` : `${name} does not exist. Did you mean ${near}?`
  }
  return specifier === name
    ? `${name} is installed, but its package.json names no file that a plugin can import.`
    : `${name} is installed, but has no "${specifier.slice(name.length + 1)}" that a plugin can import.`
}

/** Of a name that a module does not export; the bundler knows the SDK by another name. */
export function describeExport(text: string): string {
  const [, module, name] = /^No matching export in "plugin-sdk:([\w-]+)" for import "(.+)"$/.exec(text) ?? []
  if (module === undefined) return text
  return `@carrel/plugin-sdk${module === 'index' ? '' : `/${module}`} has no export "${name}". docs/plugin-api.md lists all.`
}

function describePackage(
  folder: string,
  { name, errors, graph }: { name: string; errors: readonly Message[]; graph: Metafile | null },
): string {
  const missing = [...new Set(errors.flatMap(({ text }) => UNRESOLVED.exec(text)?.[1] ?? []))]
  const [first] = errors
  const file = first?.location?.file ?? ''
  const line = graph === null ? null : importLine(folder, graph, file)
  const at = line === null ? '' : `${line.at}: `
  const through = line?.specifier === undefined ? null : packageNameOf(line.specifier)
  const who = through === null || through === name ? name : `${name}, which ${through} uses,`
  const of = line === null ? '' : ` (${placeOf(first as Message).slice(0, -2)})`
  const modules = missing.filter((one) => isBuiltin(one))
  if (modules.length > 0) {
    const used = new Set(modules.map((one) => INSTEAD_OF_NODE[nodeName(one)]))
    const instead = PURPOSES.filter((one) => used.has(one))
    const advice = instead.length === 0 ? 'Use another package, without modules of Node.' : `Use ${instead.join(' and ')} instead.`
    return `${at}${who} needs modules of Node, in which plugins do not run: ${modules.join(', ')}${of}. ${advice}`
  }
  const [other] = missing
  if (other !== undefined) return `${at}${who} needs ${other}, which is not installed${of}. Install ${name} again: npm install ${name}`
  return `${at}${who} cannot be bundled: ${placeOf(first as Message)}${first?.text ?? ''}`
}

/** `src/main.ts:3`, and its specifier: the first import of the author that leads to this file; null when none is known. */
function importLine(folder: string, { inputs }: Metafile, file: string): { at: string; specifier: string | undefined } | null {
  const seen = new Set([file])
  let level = [file]
  while (level.length > 0) {
    const importers = Object.entries(inputs).filter(([, { imports }]) => imports.some((one) => level.includes(one.path)))
    const own = importers.find(([name]) => packageOf(name) === null)
    if (own) {
      const specifier = own[1].imports.find((one) => level.includes(one.path))?.original
      return { at: `${own[0]}${lineOf(path.join(folder, own[0]), specifier)}`, specifier }
    }
    level = importers.map(([name]) => name).filter((name) => !seen.has(name))
    for (const name of level) seen.add(name)
  }
  return null
}

/** `:3`, the line of a file that names the import. */
function lineOf(file: string, specifier: string | undefined): string {
  if (specifier === undefined || !existsSync(file)) return ''
  const lines = readFileSync(file, 'utf8').split('\n')
  const at = lines.findIndex((line) => line.includes(`'${specifier}'`) || line.includes(`"${specifier}"`))
  return at === -1 ? '' : `:${at + 1}`
}

/** What is wrong with a package that leads to a file outside of it; null when it does not, and for names that are no package. */
export async function outsidePackage(specifier: string, resolveDir: string, file: string): Promise<string | null> {
  const name = packageNameOf(specifier)
  if (name === null || !path.isAbsolute(file)) return null
  for (let folder = resolveDir; ; folder = path.dirname(folder)) {
    const installed = await realpath(path.join(folder, 'node_modules', name)).catch(() => null)
    if (installed !== null) {
      const within = path.relative(installed, await realpath(file).catch(() => file))
      if (within !== '..' && !within.startsWith(`..${path.sep}`) && !path.isAbsolute(within)) return null
      // An alias of a project has precedence over a package.
      if (!file.includes(`${path.sep}node_modules${path.sep}`) && !existsSync(path.join(installed, 'package.json'))) return null
      return `The package.json of ${name} leads out of the package, to ${within}. Plugins are bundled without such packages; report it to the author of ${name}.`
    }
    if (folder === path.dirname(folder)) return null
  }
}
