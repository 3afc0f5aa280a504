import { CarrelError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { LIFECYCLE } from '#plugins/host/plugin-program.ts'
import { MANIFEST_SHAPE, type Manifest, methodsOf } from '#plugins/packages/manifest.ts'
import { listUnknownMembers } from '#plugins/packages/manifest-members.ts'
import { readSourceMap } from '#plugins/packages/source-map.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import { openSupervisor, type Supervisor } from '#plugins/runtime/supervisor.ts'
import { type Bundle, bundleProject } from './bundle.ts'
import { type BundleScan, scanBundle } from './bundle-scan.ts'
import { counted, kilobytes, ToolProblem } from './command.ts'
import { packProject } from './pack.ts'
import { type Built, programOf, sourceIn } from './plugin-session.ts'
import { type Project, readProject } from './project.ts'
import { INSTEAD, listMissingGlobals } from './sandbox-globals.ts'
import { findSecrets } from './secrets.ts'
import { type Place, packageOf, spelled } from './source-places.ts'
import { typed } from './typed.ts'
import { compareTypes, TYPES_FILE } from './types-command.ts'

/** Something that is wrong with a plugin, or that its author should know. Errors are what a server or its readers would be hurt by. */
export interface Finding {
  level: 'error' | 'warning'
  /** What was looked at: to be filtered by. */
  check:
    | 'manifest'
    | 'code'
    | 'globals'
    | 'imports'
    | 'hosts'
    | 'permissions'
    | 'functions'
    | 'size'
    | 'secrets'
    | 'source-map'
    | 'files'
    | 'types'
    | 'package'
  message: string
}

export interface Validation {
  findings: Finding[]
  /** Null where it did not get that far. */
  project: Project | null
  bundle: Bundle | null
}

/** Half of what a server takes: from here on it is worth a look at what was bundled. */
const BUNDLE_BYTES_LARGE = 512 * 1024

/** Looks at everything that can be known before a server sees it; runs the code once, in the sandbox. */
export async function validateProject(folder: string, log: Log): Promise<Validation> {
  const supervisor = openSupervisor({ log, spare: false })
  try {
    return await validateWith(supervisor, folder)
  } finally {
    supervisor.close()
  }
}

/** The same with a sandbox that may be open already. */
export async function validateWith(supervisor: Supervisor, folder: string): Promise<Validation> {
  const findings: Finding[] = []
  let project: Project
  try {
    project = await readProject(folder)
  } catch (error) {
    if (!(error instanceof CarrelError)) throw error
    return { findings: manifestFindings(error), project: null, bundle: null }
  }
  findings.push(...checkManifest(project))
  let bundle: Bundle
  try {
    bundle = await bundleProject(project)
  } catch (error) {
    if (!(error instanceof ToolProblem)) throw error
    return { findings: [...findings, { level: 'error', check: 'code', message: error.message }], project, bundle: null }
  }
  findings.push(...bundle.warnings.map((message): Finding => ({ level: 'warning', check: 'code', message })))
  const { findings: ofCode, hasPlugin } = await checkCode(project, bundle, supervisor)
  findings.push(...ofCode, ...(await checkFunctions({ manifest: project.manifest, ...bundle }, supervisor, hasPlugin)))
  findings.push(...checkFiles(project), ...checkMap(project, bundle), ...checkSize(bundle), ...(await checkTypes(project)))
  // Whatever else a server would say of the package.
  if (findings.every(({ level }) => level !== 'error')) {
    try {
      packProject(project, bundle)
    } catch (error) {
      if (!(error instanceof CarrelError)) throw error
      findings.push({ level: 'error', check: 'package', message: error.message })
    }
  }
  return { findings: findings.sort((a, b) => Number(a.level === 'warning') - Number(b.level === 'warning')), project, bundle }
}

/** A finding for each fault of a manifest that a server would refuse. */
function manifestFindings({ message, details }: CarrelError): Finding[] {
  const faults = Array.isArray(details) ? (details as { path: string; message: string }[]) : []
  if (faults.length < 2) return [{ level: 'error', check: 'manifest', message }]
  return faults.map((fault) => {
    const place = fault.path.replace(/^\/manifest/, '')
    return { level: 'error', check: 'manifest', message: `manifest.json${place === '' ? '' : ` at ${place}`}: ${fault.message}.` }
  })
}

/** Members that servers of today pass over; those of a newer interface, or slips of the pen. */
function checkManifest({ manifestBytes }: Project): Finding[] {
  const given = JSON.parse(manifestBytes.toString('utf8')) as Record<string, unknown>
  const findings = listUnknownMembers(MANIFEST_SHAPE, given)
    .filter(({ place, name }) => place !== '' || name !== '$schema')
    .map(
      ({ place, name, advice }): Finding => ({
        level: 'warning',
        check: 'manifest',
        message: `manifest.json${place === '' ? '' : ` at ${place}`}: nobody reads the member "${name}".${advice}`,
      }),
    )
  if (given['license'] === undefined)
    findings.push({
      level: 'warning',
      check: 'manifest',
      message: 'manifest.json names no license: nobody knows what they may do with it.',
    })
  return findings
}

/** `hasPlugin` is false where the code exports none, so that nobody has to read which functions are missing then. */
async function checkCode(
  { manifest, entry }: Project,
  { code, map }: Bundle,
  supervisor: Supervisor,
): Promise<{ findings: Finding[]; hasPlugin: boolean }> {
  const missing = await listMissingGlobals(supervisor)
  let scan: BundleScan
  try {
    scan = await scanBundle(code, [...missing, 'eval', 'Function'], isMap(map) ? map : null)
  } catch (error) {
    const message = `The bundle is no JavaScript: ${(error as Error).message}`
    return { findings: [{ level: 'error', check: 'code', message }], hasPlugin: true }
  }
  const hasPlugin = scan.exports.includes('default')
  const findings = [
    ...(hasPlugin ? [] : [noPlugin(entry.file, scan.exports)]),
    ...checkGlobals(scan),
    ...checkImports(scan),
    ...checkHosts(manifest, scan),
    ...checkPermissions(manifest, scan),
    ...checkSecrets(scan),
  ]
  return { findings, hasPlugin }
}

function noPlugin(file: string, exports: readonly string[]): Finding {
  const instead = exports.length === 0 ? 'It exports nothing' : `It exports ${exports.join(', ')}`
  const message = `${file} has no default export, which is what a server runs. ${instead}; write: export default definePlugin({ … })`
  return { level: 'error', check: 'code', message }
}

function isMap(map: string | null): boolean {
  try {
    const { version, mappings } = JSON.parse(map ?? 'null') as { version?: unknown; mappings?: unknown }
    return version === 3 && typeof mappings === 'string' && mappings !== ''
  } catch {
    return false
  }
}

/**
 * What the author has written must not use what the sandbox lacks. What packages hold may never be reached, and what runs when they are loaded is run
 * below: there it is a warning. Packages for several platforms ask first what there is, which is as it should be.
 */
function checkGlobals({ globals }: BundleScan): Finding[] {
  const groups = Map.groupBy(globals, ({ name, place }) => `${name} ${place === null ? '' : (packageOf(place.file) ?? '')}`)
  return [...groups.values()].flatMap((group): Finding[] => {
    const uses = group.filter(({ asked }) => !asked)
    const [first] = uses
    if (first === undefined) return []
    const { name } = first
    const guarded = uses.length < group.length
    const from = first.place === null ? null : packageOf(first.place.file)
    const at = first.place === null ? '' : `${spelled(first.place)}: `
    const lines = new Set(uses.map(({ place }) => (place === null ? '' : spelled(place)))).size
    const more = lines > 1 ? ` (and ${counted(lines - 1, 'more line')})` : ''
    const finding = (level: Finding['level'], message: string): Finding[] => [
      { level, check: 'globals', message: `${at}${message}${more}` },
    ]
    if (name === 'eval' || name === 'Function')
      return finding('warning', `It makes code out of text (${name}): people who review it cannot see what it does.`)
    const instead = INSTEAD[name]
    const advice = instead === undefined ? '' : ` Use ${instead}.`
    if (from !== null)
      return guarded ? [] : finding('warning', `${from} uses ${name}, which the sandbox does not have: it may fail at that line.`)
    return guarded
      ? finding('warning', `It uses ${name} where there is one; in the sandbox there is none.${advice}`)
      : finding('error', `It uses ${name}, which the sandbox does not have.${advice}`)
  })
}

const checkImports = ({ imports }: BundleScan): Finding[] =>
  imports.map((name) => ({
    level: 'error',
    check: 'imports',
    message: `The bundle imports "${name}" when it runs; a plugin is one file: bundle it in, or do without.`,
  }))

/** Addresses there are names, which nobody asks: of XML and of SVG, which parsers know. */
const NAMESPACES = new Set(['www.w3.org'])
const ADDRESS = /https?:\/\/([a-z0-9-]+(?:\.[a-z0-9-]+)+)/gi

function checkHosts({ permissions = {} }: Manifest, { literals, placeOf }: BundleScan): Finding[] {
  const granted = (permissions.network ?? []).map(({ host }) => host)
  const found = new Map<string, Place | null>()
  for (const [index, text] of literals.entries())
    for (const [, host = ''] of text.matchAll(ADDRESS)) if (!found.has(host.toLowerCase())) found.set(host.toLowerCase(), placeOf(index))
  const covers = (rule: string, host: string) => (rule.startsWith('*.') ? host.endsWith(rule.slice(1)) : host === rule)
  const strangers = [...found].filter(([host]) => !NAMESPACES.has(host) && !granted.some((rule) => covers(rule, host)))
  const unused = granted.filter(
    (rule) => ![...found.keys()].some((host) => covers(rule, host)) && !literals.some((text) => text.includes(rule.replace(/^\*\./, ''))),
  )
  return [
    ...strangers.map(
      ([host, place]): Finding => ({
        level: 'warning',
        check: 'hosts',
        message: `${before(place)}The code holds an address at ${host}, which is not among the hosts of the manifest: good for a link or a cover, refused for ctx.fetch.`,
      }),
    ),
    ...unused.map(
      (host): Finding => ({
        level: 'warning',
        check: 'hosts',
        message: `The manifest asks for ${host}, and no address in the code is there: ask for what you use.`,
      }),
    ),
  ]
}

/** What a permission is used by, as a member of `ctx`. */
function checkPermissions({ permissions = {} }: Manifest, { bare }: BundleScan): Finding[] {
  const uses = (member: string) => new RegExp(`[.{,]\\s*(?:${member})\\b`).test(bare)
  const pairs = [
    {
      name: 'network',
      asked: (permissions.network ?? []).length > 0 || hasMembers(permissions, 'networkFromConfig'),
      members: 'fetch|http',
      call: 'ctx.fetch',
    },
    { name: 'storage', asked: permissions.storage !== undefined, members: 'storage', call: 'ctx.storage' },
    { name: 'library', asked: (permissions.library ?? []).length > 0, members: 'library', call: 'ctx.library' },
  ]
  return pairs.flatMap(({ name, asked, members, call }): Finding[] => {
    if (asked === uses(members)) return []
    const message = asked
      ? `The manifest asks for permissions.${name}, which the code does not use: administrators trust those more that ask for less.`
      : `The code seems to use ${call}, and the manifest does not ask for permissions.${name}: it will be refused.`
    return [{ level: 'warning', check: 'permissions', message }]
  })
}

const hasMembers = (permissions: object, name: string): boolean => {
  const list = (permissions as Record<string, unknown>)[name]
  return Array.isArray(list) && list.length > 0
}

const before = (place: Place | null): string => (place === null ? '' : `${spelled(place)}: `)

function checkSecrets({ literals, placeOf }: BundleScan): Finding[] {
  const seen = new Set<string>()
  return literals.flatMap((text, index) =>
    findSecrets([text]).flatMap(({ kind, hint, certain }): Finding[] => {
      if (seen.has(hint)) return []
      seen.add(hint)
      const what = `${before(placeOf(index))}The code holds ${kind}: ${hint}.`
      return certain
        ? [
            {
              level: 'error',
              check: 'secrets',
              message: `${what} Everybody can read a package: withdraw it, and let administrators enter theirs (auth in the manifest).`,
            },
          ]
        : [{ level: 'warning', check: 'secrets', message: `${what} If it is a credential, take it out.` }]
    }),
  )
}

/** Starts it once, as a server does when it is installed. */
async function checkFunctions(built: Built, supervisor: Supervisor, hasPlugin: boolean): Promise<Finding[]> {
  const { manifest } = built
  const guest = supervisor.open(programOf(built))
  try {
    const defined = await guest.load()
    if (!hasPlugin) return []
    const promised = methodsOf(manifest)
    return [
      ...promised
        .filter((method) => !defined.includes(method))
        .map(
          (method): Finding => ({
            level: 'error',
            check: 'functions',
            message: `The manifest promises ${method}, which the code does not define.`,
          }),
        ),
      ...defined
        .filter((method) => !LIFECYCLE.includes(method) && !promised.includes(method))
        .map(
          (method): Finding => ({
            level: 'warning',
            check: 'functions',
            message: `The code defines ${method}, which the manifest does not name: nobody will call it.`,
          }),
        ),
    ]
  } catch (error) {
    if (!(error instanceof GuestError)) throw error
    const source = sourceIn(built, error.places)
    const at = source === null ? '' : `\nat ${source}`
    return [{ level: 'error', check: 'functions', message: `The code does not start: ${error.message}${at}` }]
  } finally {
    guest.close()
  }
}

function checkFiles({ extras, manifest }: Project): Finding[] {
  const findings: Finding[] = []
  const warn = (message: string) => findings.push({ level: 'warning', check: 'files', message })
  if (!extras.has('README.md')) warn('There is no README.md: administrators see it before they agree.')
  if (!extras.has('LICENSE'))
    warn(`There is no LICENSE${manifest.license === undefined ? '' : `, though the manifest says ${manifest.license}`}.`)
  if (!extras.has('CHANGELOG.md') && manifest.version !== '0.1.0' && manifest.version !== '1.0.0')
    warn('There is no CHANGELOG.md: people update with more confidence when they see what is new.')
  for (const [name, bytes] of extras) {
    if (name.startsWith('locales/') && !isJson(bytes)) findings.push({ level: 'error', check: 'files', message: `${name} is no JSON.` })
  }
  return findings
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString('utf8'))
    return true
  } catch {
    return false
  }
}

/** A path from the root of a machine, as Unix, Windows and addresses of files spell it. */
const ABSOLUTE = /^(\/|[A-Za-z]:[\\/]|\\\\|file:)/

const useless = (wrong: string) => `main.js.map cannot be used, for ${wrong}: errors will name lines of main.js.`

function checkMap({ folder }: Project, { code, map }: Bundle): Finding[] {
  const leak = (message: string): Finding => ({ level: 'error', check: 'source-map', message })
  const findings: Finding[] = []
  if (code.includes(folder) && folder.length > 3) findings.push(leak(`The code holds the path of your folder, ${folder}.`))
  if (map === null) return findings
  let sources: unknown
  let root: unknown
  try {
    ;({ sources, sourceRoot: root } = JSON.parse(map) as { sources?: unknown; sourceRoot?: unknown })
  } catch {
    return [...findings, leak('main.js.map is no JSON.')]
  }
  const read = readSourceMap(map)
  if ('wrong' in read) findings.push({ level: 'warning', check: 'source-map', message: useless(read.wrong) })
  const paths = [root, ...(Array.isArray(sources) ? sources : [])].filter((one): one is string => typeof one === 'string')
  const [absolute] = paths.filter((one) => ABSOLUTE.test(one))
  if (absolute !== undefined) findings.push(leak(`The source map names a path of your machine, ${absolute}; build it with relative ones.`))
  return findings
}

/** Whoever has made types wants them to be right. */
async function checkTypes(project: Project): Promise<Finding[]> {
  if ((await compareTypes(project)) !== 'stale') return []
  const message = `${TYPES_FILE} is not as manifest.json has it. Make it again: ${typed('types')}`
  return [{ level: 'warning', check: 'types', message }]
}

function checkSize({ code }: Bundle): Finding[] {
  const bytes = Buffer.byteLength(code)
  if (bytes <= BUNDLE_BYTES_LARGE) return []
  const message = `The bundle has ${kilobytes(bytes)}; a server takes 2 MB, and loads small ones faster. Look at what was bundled in.`
  return [{ level: 'warning', check: 'size', message }]
}

/** "2 errors and 1 warning", for the last line. */
export function summarize(findings: readonly Finding[]): string {
  const errors = findings.filter(({ level }) => level === 'error').length
  const warnings = findings.length - errors
  return [errors > 0 ? counted(errors, 'error') : '', warnings > 0 ? counted(warnings, 'warning') : ''].filter(Boolean).join(' and ')
}
