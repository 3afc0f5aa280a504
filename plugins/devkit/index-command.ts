import type { KeyObject } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { Compile } from 'typebox/compile'
import { briefText, escapedLines } from '#core/foundation/stranger-text.ts'
import { isLocalHost } from '#core/settings/local-hosts.ts'
import { consentRecordOf } from '#plugins/consent/record.ts'
import { describeRecord } from '#plugins/consent/record-lines.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { type PluginPackage, publicKeyText } from '#plugins/packages/plugin-package.ts'
import { newestFirst, pluginEntry, versionEntry } from '#plugins/repositories/index-entry.ts'
import { EXPIRES_DAYS_MAX, INDEX_NAME, indexProblem, RepositoryIndex, SIGNATURE_NAME, signIndex } from '#plugins/repositories/index-file.ts'
import { renderIndexPage, type ShownPlugin } from '#plugins/repositories/index-page.ts'
import { indexedEntry } from './changelog.ts'
import { checkStop, counted, fileReason, printMessage, readCount, type ToolCommand, type ToolInput, ToolProblem } from './command.ts'
import { writePackage } from './pack.ts'
import { readOptional } from './project.ts'
import { readKey, readPackageFile, unpack } from './signing.ts'
import { quotedWord, typedTool } from './typed.ts'

/** Several times the limit of an index. */
const PACKAGES_MAX = 10_000
const DAY_MS = 86_400_000

export const INDEX_FLAGS = [
  { name: 'url', value: 'https://…/', about: 'URL of the folder; required the first time.' },
  { name: 'name', value: 'text', about: 'Name of the repository; required the first time.' },
  { name: 'days', value: 'number', about: `Days until the index expires; default and maximum ${EXPIRES_DAYS_MAX}.` },
] as const

export const index: ToolCommand = {
  name: 'index',
  usage: '<folder>',
  summary: 'makes a repository from a folder of packages',
  about: `Lists all .plugin files of a folder in ${INDEX_NAME}, signs it with your key, and writes an HTML page. Serve the folder over https from anywhere. Your manual changes to ${INDEX_NAME} (yanked, advisory, categories, revoked) are kept when you run the command again, which you must do before the index expires.`,
  flags: [
    { name: 'key', value: 'file', about: 'The key of the repository; servers trust only the first one that they saw.' },
    ...INDEX_FLAGS,
  ],
  async run(input) {
    const { cwd, words, flag } = input
    const folder = path.resolve(cwd, words[0] as string)
    const keyFile = flag('key')
    if (keyFile === undefined)
      throw new ToolProblem(`Servers reject an unsigned index. Add --key FILE (make a key with ${typedTool('sign --new-key FILE')}).`)
    const key = await readKey(path.resolve(cwd, keyFile))
    const problem = (await findIndexKey(folder, [key])).problem
    if (problem !== null) throw new ToolProblem(problem)
    await makeIndex(input, folder, key)
    return 0
  },
}

/**
 * Which of the keys signs the index of a folder: servers trust only the first that they saw.
 * @returns the first key for a new index; with `problem`, why it must not sign
 */
export async function findIndexKey(folder: string, keys: readonly KeyObject[]): Promise<{ key: KeyObject; problem: string | null }> {
  const [first] = keys as [KeyObject]
  const known = (await findIndex(folder))?.keys ?? [publicKeyText(first)]
  const key = keys.find((one) => known.includes(publicKeyText(one)))
  if (key !== undefined) return { key, problem: null }
  const given = keys.map((one) => fingerprintOf(publicKeyText(one))).join(', ')
  const file = path.join(folder, INDEX_NAME)
  return {
    key: first,
    problem: `${file} is signed by ${known.map(fingerprintOf).join(', ')}, and servers that know the repository refuse any other key; given is ${given}. The index was not written. Write it with its key: ${typedTool(`index ${quotedWord(folder)} --key FILE`)}. If that key is lost, delete ${file} to begin a new repository, which administrators must add again.`,
  }
}

const isIndexUrl = (url: string): boolean =>
  Compile(RepositoryIndex.properties.url).Check(url) &&
  URL.canParse(url) &&
  (url.startsWith('https:') || isLocalHost(new URL(url).hostname))

/** Checks the flags of an index before anything else is done. @throws ToolProblem */
export function checkIndexFlags({ flag }: Pick<ToolInput, 'flag'>): void {
  readCount(flag('days'), { flag: 'days', unless: EXPIRES_DAYS_MAX, max: EXPIRES_DAYS_MAX })
  const url = flag('url')
  if (url === undefined || isIndexUrl(url)) return
  const slashed = `${url}/`
  throw new ToolProblem(
    `--url must be the address of the folder, with https and a slash at its end, such as https://example.org/plugins/; it is "${briefText(url)}".${isIndexUrl(slashed) ? ` Write ${slashed}` : ''}`,
  )
}

/** Lists the packages of a folder in a signed index, with a page for people. @throws ToolProblem */
export async function makeIndex(
  { flag, out, stop }: Pick<ToolInput, 'flag' | 'out' | 'stop'>,
  folder: string,
  key: KeyObject,
): Promise<void> {
  checkIndexFlags({ flag })
  const days = readCount(flag('days'), { flag: 'days', unless: EXPIRES_DAYS_MAX, max: EXPIRES_DAYS_MAX })
  const before = await findIndex(folder)
  const name = flag('name') ?? before?.name
  const url = flag('url') ?? before?.url
  if (name === undefined || url === undefined)
    throw new ToolProblem('A new repository needs a name and a URL: --name "My plugins" --url https://example.org/plugins/')
  const now = new Date()
  if (before !== null && now.getTime() < Date.parse(before.issuedAt))
    throw new ToolProblem(
      `The clock of this machine says ${now.toISOString()}, but the last index was issued at ${before.issuedAt}. Set the clock: servers go by these times.`,
    )
  const { plugins, shown, unnamed } = await listPlugins(folder, { before, now, url })
  checkStop({ stop }, 'The index was not written.')
  const { bytes, signature } = signIndex(
    {
      schema: 1,
      name,
      url,
      sequence: (before?.sequence ?? 0) + 1,
      issuedAt: now.toISOString(),
      expires: new Date(now.getTime() + days * DAY_MS).toISOString(),
      plugins,
      revoked: before?.revoked ?? [],
    },
    key,
  )
  const made = JSON.parse(bytes.toString('utf8')) as RepositoryIndex
  // The signature comes last: servers refuse a folder that is only half written.
  await writePackage(path.join(folder, 'index.html'), Buffer.from(renderIndexPage(made, shown)))
  await writePackage(path.join(folder, INDEX_NAME), bytes)
  await writePackage(path.join(folder, SIGNATURE_NAME), signature)
  const versions = made.plugins.reduce((sum, plugin) => sum + plugin.versions.length, 0)
  out.line(
    `${out.paint('green', '✔')} ${escapedLines(name)}, number ${made.sequence}: ${counted(made.plugins.length, 'plugin')}, ${counted(versions, 'version')}`,
  )
  out.line(`  files        ${INDEX_NAME}, ${SIGNATURE_NAME}, index.html`)
  out.line(`  address      ${escapedLines(url)}`)
  out.line(`  fingerprint  ${fingerprintOf(made.keys[0] as string)}`)
  out.line(`  expires      ${made.expires.slice(0, 10)}: run this again before then`)
  for (const name of unnamed)
    printMessage(
      out,
      ['yellow', '!'],
      `${name} was packed by an older tool: its signature does not name who may sign the next version. Pack the next version with this tool.`,
    )
}

/** The previous index, with the changes that people have made to it. @throws ToolProblem when it is no longer valid */
async function findIndex(folder: string): Promise<RepositoryIndex | null> {
  const bytes = await readOptional(folder, INDEX_NAME)
  if (bytes === null) return null
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw new ToolProblem(`${path.join(folder, INDEX_NAME)} is no longer valid JSON: ${(error as Error).message}`, { cause: error })
  }
  const problem = indexProblem(value)
  if (problem === null) return value as RepositoryIndex
  throw new ToolProblem(`${path.join(folder, INDEX_NAME)}${problem}.`)
}

/** A package of the folder. */
interface Listed {
  read: PluginPackage
  location: Parameters<typeof versionEntry>[1]
  file: string
}

/** The entries of all packages, and the names of those whose signature does not name who may follow. */
async function listPlugins(
  folder: string,
  { before, now, url }: { before: RepositoryIndex | null; now: Date; url: string },
): Promise<{ plugins: RepositoryIndex['plugins']; shown: Map<string, ShownPlugin>; unnamed: string[] }> {
  const entries = await readdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new ToolProblem(`${folder} cannot be read (${fileReason(error)}).`, { cause: error })
  })
  const files = entries.filter((name) => name.endsWith('.plugin')).sort()
  if (files.length === 0) throw new ToolProblem(`There is no .plugin file in ${folder}.`)
  if (files.length > PACKAGES_MAX) throw new ToolProblem(`${folder} contains ${files.length} packages; the limit is ${PACKAGES_MAX}.`)
  const found = new Map<string, Map<string, Listed>>()
  const unnamed: string[] = []
  for (const file of files) {
    const { bytes, read } = await readPackageFile(path.join(folder, file), file)
    const { manifest, sha256 } = read
    const versions = found.get(manifest.id) ?? new Map<string, Listed>()
    if (versions.has(manifest.version))
      throw new ToolProblem(`${manifest.id} ${manifest.version} is in the folder twice. Keep one of them.`)
    const known = before?.plugins.find(({ id }) => id === manifest.id)?.versions.find(({ version }) => version === manifest.version)
    if (known && known.sha256 !== sha256)
      throw new ToolProblem(`${file} differs from the published package of ${manifest.id} ${manifest.version}. Raise the version.`)
    const { yanked, advisory, server } = known ?? {}
    const changelog = known === undefined ? changelogOf(bytes, manifest.version) : known.changelog
    versions.set(manifest.version, {
      read,
      file,
      location: {
        url: file.split(path.sep).map(encodeURIComponent).join('/'),
        size: bytes.length,
        releasedAt: known?.releasedAt ?? now.toISOString(),
        ...(changelog !== undefined && { changelog }),
        ...(yanked !== undefined && { yanked }),
        ...(advisory !== undefined && { advisory }),
        ...(server !== undefined && { server }),
      },
    })
    found.set(manifest.id, versions)
    if (read.signedBy.length > 0 && read.nextSigners === null) unnamed.push(`${manifest.id} ${manifest.version}`)
  }
  const shown = new Map<string, ShownPlugin>()
  const plugins: RepositoryIndex['plugins'] = []
  for (const [id, listed] of found) {
    const sorted = newestFirst([...listed].map(([version, one]) => ({ ...one, version })))
    shown.set(id, await shownOf(folder, sorted[0] as Listed, url))
    const newest = pluginEntry(sorted[0]?.read.manifest as Manifest)
    const { categories } = before?.plugins.find((plugin) => plugin.id === id) ?? {}
    const versions = sorted.map(({ read, location }) => versionEntry(read, location, newest))
    plugins.push({ ...newest, ...(categories !== undefined && { categories }), versions })
  }
  return { plugins, shown, unnamed }
}

function changelogOf(bytes: Buffer, version: string): string | undefined {
  const file = unpack(bytes).get('CHANGELOG.md')
  return file === undefined ? undefined : indexedEntry(Buffer.from(file).toString('utf8'), version)
}

/** What the page shows of the newest version: its icon, and what it asks for in the words that administrators read. */
async function shownOf(folder: string, { read, file }: Listed, url: string): Promise<ShownPlugin> {
  const { manifest, signedBy } = read
  const { bytes } = await readPackageFile(path.join(folder, file), file)
  const files = unpack(bytes)
  const icons = [
    ['icon.png', 'image/png'],
    ['icon.svg', 'image/svg+xml'],
  ] as const
  const [name, type] = icons.find(([name]) => files.has(name)) ?? []
  const icon = name === undefined ? null : `data:${type};base64,${Buffer.from(files.get(name) as Uint8Array).toString('base64')}`
  return { icon, asks: describeRecord(consentRecordOf({ manifest, signedBy, repository: url }), { summary: manifest.summary }) }
}
