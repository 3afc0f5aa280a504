import * as esbuild from 'esbuild'
import { AppError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { parseObject } from '#core/foundation/plain-object.ts'
import { LIFECYCLE } from '#plugins/host/plugin-program.ts'
import { linkUrlsOf, type Manifest, methodsOf } from '#plugins/packages/manifest.ts'
import { covers } from '#plugins/packages/permissions.ts'
import { isReservedId } from '#plugins/packages/similar-ids.ts'
import { GuestError, withLines } from '#plugins/runtime/guest-error.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { type Bundle, bundleProject } from './bundling/bundle.ts'
import { type BundleScan, scanBundle } from './bundling/bundle-scan.ts'
import { describeNoPlugin } from './bundling/bundle-sizes.ts'
import { counted, kilobytes, ToolProblem } from './command.ts'
import { INSTEAD, withInstead } from './instead.ts'
import { packProject } from './pack.ts'
import { type Built, programOf, runsForUser, sourceIn } from './plugin-session.ts'
import { ManifestRefused, type Project, readValidProject } from './project.ts'
import { listMissingGlobals } from './sandbox-globals.ts'
import { findSecrets } from './secrets.ts'
import { describeUnknownMembers, packageOf, positionInJson, type SourceLine, spelled } from './source-lines.ts'
import { checkTypes, type TypeCheck } from './type-check.ts'
import { typedTool } from './typed.ts'
import { compareTypes, TYPES_FILE } from './types-command.ts'
import { checkFiles, checkMap, type Finding, flaw, listUnsaved, warning } from './validate-files.ts'

export interface Validation {
  findings: Finding[]
  /** Null when it could not be read. */
  project: Project | null
  bundle: Bundle | null
  /** Why types were not checked; null when they were. */
  typesLeftOut: string | null
}

/** Half of the limit of a server: from here on the author should check what was bundled. */
const BUNDLE_BYTES_LARGE = 512 * 1024

/**
 * Checks everything that can be checked without a server; runs the code once, in the sandbox.
 * @param check of types, which may leave them out
 */
export async function validateProject(folder: string, log: Log, check = checkTypes): Promise<Validation> {
  const supervisor = new Supervisor({ log, spare: false })
  try {
    return await validateWith(supervisor, folder, check)
  } finally {
    supervisor.close()
  }
}

/** The same with an existing supervisor. */
export async function validateWith(
  supervisor: Supervisor,
  folder: string,
  check: (project: Project) => Promise<TypeCheck> = checkTypes,
): Promise<Validation> {
  const findings: Finding[] = []
  let project: Project
  try {
    project = await readValidProject(folder)
  } catch (error) {
    if (!(error instanceof ManifestRefused)) throw error
    return { findings: error.problems.map((message) => flaw('manifest', message)), project: null, bundle: null, typesLeftOut: null }
  }
  findings.push(...checkManifest(project))
  // Beside everything else.
  const typed = check(project)
  let bundle: Bundle
  try {
    bundle = await bundleProject(project)
  } catch (error) {
    if (!(error instanceof ToolProblem)) throw error
    const { leftOut } = await typed
    return { findings: [...findings, flaw('code', error.message)], project, bundle: null, typesLeftOut: leftOut }
  }
  findings.push(...bundle.warnings.map((message) => warning('code', message)))
  const { findings: ofCode, hasPlugin } = await checkCode(project, bundle, supervisor)
  findings.push(...ofCode, ...(await checkFunctions({ manifest: project.manifest, ...bundle }, supervisor, hasPlugin)))
  findings.push(...(await checkFiles(project)), ...checkMap(project, bundle), ...checkSize(bundle), ...(await checkTypesFile(project)))
  const { errors, leftOut: typesLeftOut } = await typed
  findings.push(...errors.map((message) => flaw('types', message)))
  // Any other error that a server would report for the package.
  if (findings.every(({ level }) => level !== 'error')) {
    try {
      packProject(project, bundle)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      findings.push(flaw('package', error.message))
    }
  }
  return { findings: findings.sort((a, b) => Number(a.level === 'warning') - Number(b.level === 'warning')), project, bundle, typesLeftOut }
}

function checkManifest({ manifest, manifestBytes }: Project): Finding[] {
  const { id, license, userConfig } = manifest
  const text = manifestBytes.toString('utf8')
  const findings = describeUnknownMembers(text).map((message) => warning('manifest', message))
  if (isReservedId(id)) {
    const message = `${positionInJson(text, '/id')} at /id: ${id} is, or looks like, an id below carrel., which only plugins have that come with the server. Servers refuse it. Choose another, such as org.example.${id.split('.').at(-1)}.`
    findings.push(flaw('manifest', message))
  }
  if (license === undefined)
    findings.push(warning('manifest', 'manifest.json names no license, so users do not know what they may do with the plugin.'))
  if (userConfig !== undefined && !hasFunctionsForUsers(manifest))
    findings.push(warning('manifest', `The manifest has userConfig, but ${NO_USERS}`))
  return findings
}

const NO_USERS = 'none of its functions runs for a user: a server gives that only to recommendations. Remove it.'
const hasFunctionsForUsers = (manifest: Manifest): boolean => methodsOf(manifest).some(runsForUser)

/** `hasPlugin` is false when the code exports no plugin; then missing functions are not reported. */
async function checkCode(
  project: Project,
  { code, map }: Bundle,
  supervisor: Supervisor,
): Promise<{ findings: Finding[]; hasPlugin: boolean }> {
  const { manifest, entry } = project
  const missing = await listMissingGlobals(supervisor)
  let scan: BundleScan
  try {
    scan = await scanBundle(code, [...missing, 'eval', 'Function'], isMap(map) ? map : null)
  } catch (error) {
    return { findings: [flaw('code', `The bundle is not valid JavaScript: ${(error as Error).message}`)], hasPlugin: true }
  }
  const hasPlugin = scan.exports.includes('default')
  const findings = [
    ...(hasPlugin ? [] : [flaw('code', describeNoPlugin(entry.file, scan.exports))]),
    ...checkGlobals(scan),
    ...checkImports(scan),
    ...(await checkHosts(project, scan)),
    ...checkPermissions(manifest, scan),
    ...checkSecrets(scan),
  ]
  return { findings, hasPlugin }
}

function isMap(map: string | null): boolean {
  const read = parseObject(map ?? '')
  return read?.['version'] === 3 && typeof read['mappings'] === 'string' && read['mappings'] !== ''
}

/**
 * The author's own code must not use globals that the sandbox lacks. Code of packages may never run, and code that runs at load time is executed
 * below: there it is a warning. Code that tests for a global first, as packages for several platforms do, is fine.
 */
function checkGlobals({ globals }: BundleScan): Finding[] {
  const groups = Map.groupBy(globals, ({ name, line }) => `${name} ${line === null ? '' : (packageOf(line.file) ?? '')}`)
  return [...groups.values()].flatMap((group): Finding[] => {
    const uses = group.filter(({ isTested }) => !isTested)
    const [first] = uses
    if (first === undefined) return []
    const { name } = first
    const guarded = uses.length < group.length
    const from = first.line === null ? null : packageOf(first.line.file)
    const at = first.line === null ? '' : `${spelled(first.line)}: `
    const lines = new Set(uses.map(({ line }) => (line === null ? '' : spelled(line)))).size
    const more = lines > 1 ? ` (and ${counted(lines - 1, 'more line')})` : ''
    const finding = (of: typeof flaw, message: string): Finding[] => [of('globals', `${at}${message}${more}`)]
    if (name === 'eval' || name === 'Function') return finding(warning, `It creates code from text (${name}), which reviewers cannot read.`)
    const instead = INSTEAD[name]
    const advice = instead === undefined ? '' : ` Use ${instead}.`
    if (from !== null)
      return guarded ? [] : finding(warning, `${from} uses ${name}, which the sandbox does not have. It may fail at that line.`)
    return guarded
      ? finding(warning, `It uses ${name} if it exists; the sandbox does not have it.${advice}`)
      : finding(flaw, `It uses ${name}, which the sandbox does not have.${advice}`)
  })
}

const checkImports = ({ imports }: BundleScan): Finding[] =>
  imports.map((name) => {
    const message = `The bundle imports "${name}" at run time, but a plugin is a single file. Bundle the import, or remove it.`
    return flaw('imports', message)
  })

/** URLs of these hosts are namespaces of XML and SVG, which are never requested. */
const NAMESPACES = new Set(['www.w3.org'])
const ADDRESS = /https?:\/\/([a-z0-9-]+(?:\.[a-z0-9-]+)+)/gi

async function checkHosts({ folder, manifest }: Project, { literals, lineOf }: BundleScan): Promise<Finding[]> {
  const { capabilities, permissions = {} } = manifest
  const granted = (permissions.network ?? []).map(({ host }) => host)
  const linked = [...linkUrlsOf(capabilities).map(({ hostname }) => hostname), ...(capabilities.webLinks?.hosts ?? [])]
  const found = new Map<string, SourceLine | null>()
  for (const [index, text] of literals.entries())
    for (const [, host = ''] of text.matchAll(ADDRESS)) if (!found.has(host.toLowerCase())) found.set(host.toLowerCase(), lineOf(index))
  const ungranted = [...found].filter(([host]) => !NAMESPACES.has(host) && ![...granted, ...linked].some((rule) => covers(rule, host)))
  const unused = granted.filter(
    (rule) => ![...found.keys()].some((host) => covers(rule, host)) && !literals.some((text) => text.includes(rule.replace(/^\*\./, ''))),
  )
  return [
    ...ungranted.map(([host, line]) => {
      const message = `${before(line)}The code contains a URL of ${host}, which the manifest does not list. Requests to it are refused, and answers lose links and covers there. List it in permissions.network for requests and covers, or in capabilities.webLinks.hosts if it is only for links.`
      return warning('hosts', message)
    }),
    ...(await listUnsaved(folder, unused)).map((host) => {
      const message = `The manifest requests ${host}, but neither the code nor a saved response contains a URL of it. Remove it, unless covers or redirects lead there.`
      return warning('hosts', message)
    }),
  ]
}

/** The member of `ctx` that uses a permission. */
function checkPermissions(manifest: Manifest, { bare }: BundleScan): Finding[] {
  const { network = [], networkFromConfig = [], storage, library = [] } = manifest.permissions ?? {}
  const uses = (member: string) => new RegExp(`[.{,]\\s*(?:${member})\\b`).test(bare)
  const pairs = [
    { name: 'network', requested: network.length + networkFromConfig.length > 0, members: 'fetch|http', call: 'ctx.fetch' },
    { name: 'storage', requested: storage !== undefined, members: 'storage', call: 'ctx.storage' },
    { name: 'library', requested: library.length > 0, members: 'library', call: 'ctx.library' },
  ]
  return pairs.flatMap(({ name, requested, members, call }): Finding[] => {
    if (requested === uses(members))
      return name === 'library' && requested && !hasFunctionsForUsers(manifest)
        ? [warning('permissions', `The manifest requests permissions.library, but ${NO_USERS}`)]
        : []
    const message = requested
      ? `The manifest requests permissions.${name}, which the code does not use. Administrators trust plugins with fewer permissions more.`
      : `The code seems to use ${call}, but the manifest does not request permissions.${name}. The server will refuse it.`
    return [warning('permissions', message)]
  })
}

const before = (line: SourceLine | null): string => (line === null ? '' : `${spelled(line)}: `)

function checkSecrets({ literals, lineOf }: BundleScan): Finding[] {
  const seen = new Set<string>()
  return literals.flatMap((text, index) =>
    findSecrets([text]).flatMap(({ kind, hint, certain }): Finding[] => {
      if (seen.has(hint)) return []
      seen.add(hint)
      const advice = certain
        ? 'Everybody can read a package. Revoke the credential, and let administrators enter their own (auth in the manifest).'
        : 'If it is a credential, remove it.'
      return [(certain ? flaw : warning)('secrets', `${before(lineOf(index))}The code contains ${kind}: ${hint}. ${advice}`)]
    }),
  )
}

/** Starts the code once, as a server does at installation. */
async function checkFunctions(built: Built, supervisor: Supervisor, hasPlugin: boolean): Promise<Finding[]> {
  const { manifest } = built
  const guest = supervisor.open(programOf(built))
  try {
    const defined = await guest.load()
    if (!hasPlugin) return []
    const promised = methodsOf(manifest)
    if (defined.length === 0 && promised.length > 0) return [flaw('functions', await noFunctions(built, promised))]
    return [
      ...promised
        .filter((method) => !defined.includes(method))
        .map((method) => flaw('functions', `The manifest names ${method}, which the code does not define as a function.`)),
      ...defined
        .filter((method) => !LIFECYCLE.includes(method) && !promised.includes(method))
        .map((method) =>
          warning('functions', `The code defines ${method}, which the manifest does not name. The server will not call it.`),
        ),
    ]
  } catch (error) {
    if (!(error instanceof GuestError)) throw error
    const { source, lines } = sourceIn(built, error)
    const at = source === null ? '' : `\nat ${source}`
    return [flaw('functions', `The code does not start: ${withInstead(withLines(error, lines))}${at}`)]
  } finally {
    guest.close()
  }
}

/** The default export is something else than a plugin, or code at the top level never ends, so that nothing is exported yet. */
async function noFunctions({ code }: Built, promised: readonly string[]): Promise<string> {
  const isAwaiting = await esbuild.transform(code, { format: 'iife', logLevel: 'silent' }).then(
    () => false,
    // The format has no such await.
    () => true,
  )
  const awaited = isAwaiting ? ' The code awaits at its top level: if that never ends, nothing is exported.' : ''
  return `The default export has none of the functions that the manifest names: ${promised.join(', ')}. They are members of it, as in export default definePlugin({ metadata: { series: { search, get } } }).${awaited}`
}

/** A project that has the types file needs it up to date. */
async function checkTypesFile(project: Project): Promise<Finding[]> {
  if ((await compareTypes(project)) !== 'stale') return []
  const message = `${TYPES_FILE} does not match manifest.json. Generate it again: ${typedTool('types')}`
  return [warning('types', message)]
}

function checkSize({ code }: Bundle): Finding[] {
  const bytes = Buffer.byteLength(code)
  if (bytes <= BUNDLE_BYTES_LARGE) return []
  const message = `The bundle has ${kilobytes(bytes)}; the limit of a server is 2 MB, and small bundles load faster. Check what was bundled.`
  return [warning('size', message)]
}

/** "2 errors and 1 warning", for the last line. */
export function summarize(findings: readonly Finding[]): string {
  const errors = findings.filter(({ level }) => level === 'error').length
  const warnings = findings.length - errors
  return [errors > 0 ? counted(errors, 'error') : '', warnings > 0 ? counted(warnings, 'warning') : ''].filter(Boolean).join(' and ')
}
