import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import * as esbuild from 'esbuild'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { ToolProblem } from '#plugins/devkit/command.ts'
import { type Project, readOptional } from '#plugins/devkit/project.ts'
import { isCheckout } from '#plugins/devkit/typed.ts'
import { describeErrors, describeExport, outsidePackage } from './bundle-problems.ts'
import { checkBundle, type Module, modulesOf } from './bundle-sizes.ts'

/** The single file that runs as the plugin. */
export interface Bundle {
  code: string
  /** Source map; null when another tool made the bundle without one. */
  map: string | null
  /** Warnings of the bundler, for the author. */
  warnings: string[]
  /** What it was made of, the largest first; null when another tool made it. */
  modules: Module[] | null
}

const SDK = '@carrel/plugin-sdk'
/** Its sources in a checkout. An installed tool has none: a folder of that name beside it would be a package that anybody may have published. */
const sources = isCheckout ? fileURLToPath(new URL('../../../plugin-sdk', import.meta.url)) : null

/** The options of the bundler, the same for all commands: the tested bundle is the packed one. */
export const bundleOptions = ({ folder, entry }: Pick<Project, 'folder' | 'entry'>) =>
  ({
    absWorkingDir: folder,
    entryPoints: [entry.file],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    // The sandbox is neither a browser nor Node; what packages have for workers and browsers needs no modules of Node.
    platform: 'browser',
    mainFields: ['browser', 'module', 'main'],
    conditions: ['worker', 'browser', 'module'],
    define: { 'process.env.NODE_ENV': '"production"' },
    metafile: true,
    charset: 'utf8',
    outfile: path.join(folder, 'main.js'),
    write: false,
    sourcemap: 'linked',
    // The map does not contain the author's sources or the paths of their folders.
    sourceRoot: '',
    logLevel: 'silent',
    plugins: [sdkPlugin, withinPackages],
  }) satisfies esbuild.BuildOptions

/**
 * Resolves the SDK: the one installed by the author, or in a checkout its sources where it is not installed or not built. In its own namespace,
 * because its path must not appear in the bundle, which would differ on every machine.
 */
export const sdkPlugin: esbuild.Plugin = {
  name: 'sdk',
  setup(build) {
    const files = new Map<string, string>()
    const within = (file: string, sideEffects = false) => {
      const name = nameOf(file)
      files.set(name, file)
      return { path: name, namespace: 'plugin-sdk', sideEffects }
    }
    build.onResolve({ filter: /^@carrel\/plugin-sdk(\/|$)/ }, async ({ path: specifier, resolveDir, kind, pluginData }) => {
      if (pluginData === SDK) return undefined
      const resolveOwn = (name: string) => build.resolve(name, { resolveDir, kind, pluginData: SDK })
      const installed = await resolveOwn(specifier)
      if (installed.errors.length === 0 && existsSync(installed.path)) return within(installed.path)
      const refuse = (text: string) => ({ errors: [{ text }] })
      const about = await resolveOwn(`${SDK}/package.json`)
      const home = about.errors.length === 0 ? path.dirname(about.path) : sources
      const install = `npm install --save-dev ${SDK}`
      if (home === null) return refuse(`The SDK is not installed. Install it: ${install}`)
      const name = specifier === SDK ? 'index' : specifier.slice(SDK.length + 1)
      const names = await listModules(home)
      if (specifier !== SDK && !names.includes(name))
        return refuse(`${SDK} has no module "${name}".${didYouMean(name, names)} It has ${names.join(', ')}.`)
      const source = sources === null ? null : path.join(sources, `${name}.ts`)
      if (source !== null && existsSync(source)) return within(source)
      return refuse(`${SDK} is installed, but its file for ${specifier} is missing. Install it again: ${install}`)
    })
    // Its own files, and the parsers that it bundles.
    build.onResolve({ filter: /./, namespace: 'plugin-sdk' }, async ({ path: specifier, importer, kind }) => {
      const resolveDir = path.dirname(files.get(importer) as string)
      const { path: file, errors, external, sideEffects } = await build.resolve(specifier, { resolveDir, kind, pluginData: SDK })
      return errors.length > 0 || external ? { errors, external } : within(file, sideEffects)
    })
    build.onLoad({ filter: /.*/, namespace: 'plugin-sdk' }, async ({ path: name }) => {
      const file = files.get(name) as string
      return { contents: await readFile(file, 'utf8'), loader: file.endsWith('.ts') ? 'ts' : 'js', resolveDir: path.dirname(file) }
    })
  },
}

/** Packages that tests import, except the SDK, which {@link sdkPlugin} resolves: Node loads them from where they are installed. */
export const otherPackages: esbuild.Plugin = {
  name: 'other packages',
  setup(build) {
    build.onResolve({ filter: /^[^./#]/ }, async ({ path: specifier, resolveDir, kind, namespace, pluginData }) => {
      if (kind === 'entry-point' || namespace !== 'file' || pluginData === SDK) return undefined
      // An alias of a project file, as tsconfig.json may define, is bundled.
      const found = await build.resolve(specifier, { resolveDir, kind, pluginData: SDK })
      const isOwn = found.errors.length === 0 && !found.external && !/[\\/]node_modules[\\/]/.test(found.path)
      return isOwn ? found : { path: specifier, external: true }
    })
  },
}

/** The modules of the SDK in this folder beside its main one, such as `text`. */
async function listModules(home: string): Promise<string[]> {
  const { exports } = JSON.parse(await readFile(path.join(home, 'package.json'), 'utf8')) as { exports: Record<string, unknown> }
  return Object.keys(exports).flatMap((name) => /^\.\/([\w-]+)$/.exec(name)?.[1] ?? [])
}

/** A stable name for a file of the SDK: relative to the SDK, or to its package. */
function nameOf(file: string): string {
  const [, inPackage] = /.*[\\/]node_modules[\\/](.*)/.exec(file) ?? []
  const isOwn = inPackage === undefined || (sources !== null && file.startsWith(sources)) || inPackage.startsWith('@carrel')
  return isOwn ? path.parse(file).name : inPackage
}

/** @throws ToolProblem with the errors of the bundler, by file and line */
export async function bundleProject(project: Project): Promise<Bundle> {
  if (project.entry.isBuilt) {
    const [code, map] = await Promise.all([readOptional(project.folder, 'main.js'), readOptional(project.folder, 'main.js.map')])
    return { code: code?.toString('utf8') ?? '', map: map?.toString('utf8') ?? null, warnings: [], modules: null }
  }
  let result: esbuild.BuildResult
  try {
    result = await esbuild.build(bundleOptions(project))
  } catch (error) {
    const { errors } = (error ?? {}) as { errors?: esbuild.Message[] }
    throw Array.isArray(errors) ? await bundleProblem(project, errors) : error
  }
  return bundleOf(result)
}

/** The result of the bundler, also after each rebuild in watch mode. @throws ToolProblem for a bundle that no server runs */
export function bundleOf({ outputFiles = [], warnings, metafile }: esbuild.BuildResult): Bundle {
  const textOf = (ending: string) => outputFiles.find(({ path: file }) => file.endsWith(ending))?.text ?? null
  const map = textOf('main.js.map')
  const code = textOf('main.js') ?? ''
  if (metafile) checkBundle(code, metafile)
  const modules = metafile ? modulesOf(metafile) : null
  return { code, map: map === null ? null : withoutPaths(map), warnings: warnings.map(describe), modules }
}

/** Names files outside the folder by their package, or by their own name: the bundle must not reveal paths of this machine. */
function withoutPaths(text: string): string {
  const map = JSON.parse(text) as { sources: string[] }
  const sources = map.sources.map((source) =>
    source.startsWith('../') ? (/.*\/(node_modules\/.*)/.exec(source)?.[1] ?? path.posix.basename(source)) : source,
  )
  return JSON.stringify({ ...map, sources })
}

/** As {@link bundleProblem}, for other builds than that of the plugin. */
export function asProblem(error: unknown): unknown {
  const { errors } = (error ?? {}) as { errors?: esbuild.Message[] }
  return Array.isArray(errors) ? new ToolProblem(describeFailure(errors.map(describe)), { cause: error }) : error
}

/** Each line once: an error in tsconfig.json concerns every file. */
const describeFailure = (lines: readonly string[]): string =>
  ['The bundler reports errors:', ...[...new Set(lines)].map((one) => `  ${one}`)].join('\n')

/** The errors of a build, with the lines of the author that lead to packages. */
export async function bundleProblem(project: Pick<Project, 'folder' | 'entry'>, errors: readonly esbuild.Message[]): Promise<ToolProblem> {
  return new ToolProblem(describeFailure(describeErrors(project.folder, errors, await graphOf(project))))
}

/** What imports what, including imports that are not found; null for code that cannot be read. */
async function graphOf(project: Pick<Project, 'folder' | 'entry'>): Promise<esbuild.Metafile | null> {
  const { plugins, ...options } = bundleOptions(project)
  const build = esbuild.build({ ...options, plugins: [...plugins, leaveUnresolved] })
  return await build.then(
    ({ metafile }) => metafile,
    () => null,
  )
}

const leaveUnresolved: esbuild.Plugin = {
  name: 'leave unresolved',
  setup(build) {
    build.onResolve({ filter: /./ }, async ({ path: specifier, resolveDir, kind, namespace, pluginData }) => {
      if (kind === 'entry-point' || namespace !== 'file' || pluginData === SDK) return undefined
      const found = await build.resolve(specifier, { resolveDir, kind, pluginData: SDK })
      return found.errors.length > 0 ? { path: specifier, external: true } : undefined
    })
  },
}

/** Refuses packages whose package.json leads out of them: what is bundled must be what was installed. */
const withinPackages: esbuild.Plugin = {
  name: 'within packages',
  setup(build) {
    build.onResolve({ filter: /^[\w@]/ }, async ({ path: specifier, resolveDir, kind, namespace, pluginData }) => {
      if (kind === 'entry-point' || namespace !== 'file' || pluginData === SDK) return undefined
      const { errors, path: file } = await build.resolve(specifier, { resolveDir, kind, pluginData: SDK })
      const text = errors.length > 0 ? null : await outsidePackage(specifier, resolveDir, file)
      return text === null ? undefined : { errors: [{ text }] }
    })
  },
}

const describe = ({ location, text }: esbuild.Message): string =>
  location === null ? describeExport(text) : `${location.file}:${location.line}:${location.column + 1}: ${describeExport(text)}`
