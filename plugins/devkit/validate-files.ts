import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { escapePointer } from '#core/foundation/json-pointer.ts'
import { briefText } from '#core/foundation/stranger-text.ts'
import { localeOf, localeProblems } from '#plugins/packages/locales.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { readSourceMap } from '#plugins/packages/source-map.ts'
import type { Bundle } from './bundling/bundle.ts'
import { newsOf } from './changelog.ts'
import { FIXTURES_FOLDER } from './fixture-files.ts'
import { EXTRAS, type Project } from './project.ts'
import { CALLS_FOLDER } from './saved-call.ts'
import { positionInJson } from './source-lines.ts'
import { typedTool } from './typed.ts'

/** A problem of a plugin, or a hint for its author. Errors are problems that would affect a server or its users. */
export interface Finding {
  level: 'error' | 'warning'
  /** The check, for filtering. */
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
    | 'changelog'
    | 'locales'
    | 'types'
    | 'package'
  message: string
}

export const flaw = (check: Finding['check'], message: string): Finding => ({ level: 'error', check, message })
export const warning = (check: Finding['check'], message: string): Finding => ({ level: 'warning', check, message })

/** The files that a package has besides its code. */
export async function checkFiles({ folder, extras, manifest }: Project): Promise<Finding[]> {
  const findings: Finding[] = []
  const warn = (message: string) => findings.push(warning('files', message))
  if (!extras.has('README.md')) warn('There is no README.md. Administrators read it before they grant permissions.')
  if (!extras.has('LICENSE'))
    warn(`There is no LICENSE${manifest.license === undefined ? '' : `, though the manifest says ${manifest.license}`}.`)
  findings.push(...checkChangelog(extras.get('CHANGELOG.md')?.toString('utf8'), manifest))
  for (const [name, bytes] of extras) if (name.startsWith('locales/')) findings.push(...checkLocale(name, bytes, manifest))
  for (const name of await listMisnamed(folder))
    warn(`${name} is not put into the package; of such files it has ${EXTRAS.join(', ')}. Rename it.`)
  for (const name of ['icon.png', 'icon.svg']) {
    const bytes = extras.get(name)
    if (bytes !== undefined && !isPicture(name, bytes))
      findings.push(flaw('files', `${name} is not ${name === 'icon.png' ? 'a PNG picture' : 'an SVG picture'}.`))
    else if (name === 'icon.svg' && SCRIPT.test(String(bytes)))
      findings.push(flaw('files', `${name} contains a script, which no page runs. Remove it.`))
  }
  return findings
}

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
/** What may precede the root of an SVG picture: declarations, comments and spaces. */
const BEFORE_ROOT = /^\uFEFF?(?:\s|<\?[^>]*>|<!--[\s\S]*?-->|<!DOCTYPE[^>]*>)*/i

/** Code in an SVG picture: an element, an attribute for an event, or an address. */
const SCRIPT = /<(?:\w+:)?script[\s/>]|\son\w+\s*=\s*["']|javascript:/i

const isPicture = (name: string, bytes: Buffer): boolean =>
  name === 'icon.png'
    ? bytes.subarray(0, PNG.length).equals(PNG)
    : /^<(?:\w+:)?svg[\s>]/.test(bytes.toString('utf8').replace(BEFORE_ROOT, ''))

/** Such as LICENSE.md and icon.jpg; a file with the right name beside it makes the other one the author's own. */
async function listMisnamed(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  const stemOf = (name: string) => path.parse(name).name.toLowerCase().replace('licence', 'license')
  const found = new Set(names.filter((name) => EXTRAS.includes(name)).map(stemOf))
  const wanted = new Set(EXTRAS.map(stemOf))
  return names.filter((name) => !EXTRAS.includes(name) && wanted.has(stemOf(name)) && !found.has(stemOf(name))).sort()
}

function checkChangelog(text: string | undefined, { version }: Manifest): Finding[] {
  if (text === undefined)
    return version === '0.1.0' || version === '1.0.0'
      ? []
      : [warning('changelog', 'There is no CHANGELOG.md. Administrators update more readily when they see what is new.')]
  const news = newsOf(text, version)
  const now = `version ${version}, which manifest.json has`
  const advice = `Write what is new for administrators below "## ${version}"; ${typedTool('release')} asks for it.`
  if (news === null) return [warning('changelog', `CHANGELOG.md has no heading of ${now}. ${advice}`)]
  return news === '' ? [warning('changelog', `CHANGELOG.md says nothing of ${now}. ${advice}`)] : []
}

/** A language that this tool does not know may come with a newer one. */
function languageHint(name: string): Finding[] {
  const language = localeOf(name)
  if (language === null) return []
  const isKnown = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' }).of(language) !== undefined
  const hint = isKnown
    ? `the usual name of this language is ${language}.`
    : `no language "${language}" is known; languages are such as en or pt-BR.`
  return isKnown && name === `locales/${language}.json` ? [] : [warning('locales', `${name}: ${hint}`)]
}

function checkLocale(name: string, bytes: Buffer, manifest: Manifest): Finding[] {
  const found = localeProblems(name, bytes, manifest).map(({ isError, member, message }) => {
    const place = member === '' ? name : positionInJson(bytes.toString('utf8'), `/${escapePointer(member)}`, name)
    const at = member === '' ? '' : ` at ${briefText(member)}`
    return (isError ? flaw : warning)('locales', `${place}${at}: ${message}.`)
  })
  return [...found, ...languageHint(name)]
}

/** The hosts that no saved response names: covers and redirects lead to hosts of which code has no URL. */
export async function listUnsaved(folder: string, hosts: readonly string[]): Promise<readonly string[]> {
  let left = hosts
  for (const place of [FIXTURES_FOLDER, CALLS_FOLDER].map((name) => path.join(folder, name)))
    for (const name of await readdir(place).catch(() => [])) {
      if (left.length === 0) return left
      const text = name.endsWith('.json') ? await readFile(path.join(place, name), 'utf8').catch(() => '') : ''
      left = left.filter((host) => !text.includes(host.replace(/^\*\./, '')))
    }
  return left
}

/** An absolute path, on Unix, on Windows or as a file URL. */
const ABSOLUTE = /^(\/|[A-Za-z]:[\\/]|\\\\|file:)/

const useless = (wrong: string) => `main.js.map cannot be used: ${wrong}. Errors will refer to lines of main.js.`

export function checkMap({ folder }: Project, { code, map }: Bundle): Finding[] {
  const findings: Finding[] = []
  if (code.includes(folder) && folder.length > 3) findings.push(flaw('source-map', `The code contains the path of your folder, ${folder}.`))
  if (map === null) return findings
  let sources: unknown
  let root: unknown
  try {
    ;({ sources, sourceRoot: root } = JSON.parse(map) as { sources?: unknown; sourceRoot?: unknown })
  } catch {
    return [...findings, flaw('source-map', 'main.js.map is not valid JSON.')]
  }
  const read = readSourceMap(map)
  if ('wrong' in read) findings.push(warning('source-map', useless(read.wrong)))
  const paths = [root, ...(Array.isArray(sources) ? sources : [])].filter((one): one is string => typeof one === 'string')
  const [absolute] = paths.filter((one) => ABSOLUTE.test(one))
  if (absolute !== undefined)
    findings.push(flaw('source-map', `The source map contains a path of your machine, ${absolute}. Build it with relative paths.`))
  return findings
}
