import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import compare from 'semver/functions/compare.js'
import inc from 'semver/functions/inc.js'
import { escapedLines, messageLines } from '#core/foundation/stranger-text.ts'
import { isCovered } from '#plugins/consent/coverage.ts'
import { differencesOf } from '#plugins/consent/differences.ts'
import { consentRecordOf } from '#plugins/consent/record.ts'
import { describeDifference, describeRecord, phrasesOf } from '#plugins/consent/record-lines.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { type PluginPackage, publicKeyText } from '#plugins/packages/plugin-package.ts'
import { INDEX_NAME } from '#plugins/repositories/index-file.ts'
import { checkNews, newsOf, withEntry } from './changelog.ts'
import { agrees, checkStop, fileReason, printMessage, type ToolCommand, type ToolInput, ToolProblem } from './command.ts'
import { checkIndexFlags, findIndexKey, INDEX_FLAGS, makeIndex } from './index-command.ts'
import { packProject, writePackage } from './pack.ts'
import { hasErrors, NEXT_FLAG, printFindings, printPackage, readNext } from './package-commands.ts'
import { type Project, readOptional, readValidProject } from './project.ts'
import { readKey, readPackageFile } from './signing.ts'
import { test } from './test-command.ts'
import { typedTool } from './typed.ts'
import { summarize, validateProject } from './validate.ts'

const LEVELS = ['patch', 'minor', 'major'] as const
type Level = (typeof LEVELS)[number]
const FOLDER = 'releases'
const NOT_RELEASED = 'Nothing was released.'
/** Names the version of a release that has not ended: it goes on with this version, and with no other. Several plugins may share the folder. */
const begunFile = (place: string, id: string): string => path.join(place, `.release-${id}.json`)
/** What is written of one version is far shorter. */
const CHANGELOG_BYTES_MAX = 64 * 1024
/** The tests check types. */
const OF_TESTS = { errors: [], leftOut: null }
type Step = 'begun' | 'version' | 'changelog' | 'signed' | 'index'
type Keys = Awaited<ReturnType<typeof readKey>>[]

export const release: ToolCommand = {
  name: 'release',
  usage: '[patch|minor|major]',
  summary: 'tests, raises the version, signs, and lists the release',
  about: `Checks and tests the plugin, raises the version of the manifest above the last release, writes the changelog, and packs and signs into ${FOLDER}/, with an index beside it that any static host serves. Before it signs, it shows what administrators will read and whether they are asked. Without a word it releases the version of the manifest as it is. A release that was interrupted goes on when you run the command again. Keep ${FOLDER}/: it says what was released.`,
  flags: [
    { name: 'key', value: 'file', repeatable: true, about: 'Signs it with this key. You can repeat the flag.' },
    NEXT_FLAG,
    {
      name: 'changelog',
      value: 'file',
      about: 'What is new, for CHANGELOG.md; otherwise you are asked, unless CHANGELOG.md has the version already.',
    },
    { name: 'out', value: 'folder', about: `The folder of all releases; by default ${FOLDER}/ in the plugin.` },
    { name: 'yes', isSwitch: true, about: 'Signs a release that asks administrators for more, without asking you.' },
    ...INDEX_FLAGS,
  ],
  run: (input) => runRelease(input),
}

/** @param reached is called after each step that has changed something */
export async function runRelease(input: ToolInput, reached: (step: Step) => void = () => {}): Promise<number> {
  const { cwd, folder, log, out, flag, all } = input
  const level = readLevel(input.words[0])
  if (all('key').length === 0)
    throw new ToolProblem(`A release is signed: add --key FILE. If you have no key, make one first: ${typedTool('sign --new-key key.pem')}`)
  checkIndexFlags(input)
  const keys = await Promise.all(all('key').map((file) => readKey(path.resolve(cwd, file))))
  const place = path.resolve(flag('out') === undefined ? folder : cwd, flag('out') ?? FOLDER)
  const project = await readValidProject(folder)
  const { id, version: own } = project.manifest
  const begun = await readBegun(place, id)
  const last = await findLast(place, id, begun)
  const version = chooseVersion({ level, begun, last: last?.manifest.version ?? null, own, id, place })
  const changelog = await openChangelog(input, project, version)

  const validation = await validateProject(folder, log, async () => OF_TESTS)
  // The release writes the changelog itself.
  printFindings(
    input,
    validation.findings.filter(({ message }) => !message.startsWith('There is no CHANGELOG.md')),
  )
  if (hasErrors(validation) || validation.bundle === null) {
    out.line(`${out.paint('red', '✖')} Nothing was released: ${summarize(validation.findings)}.`)
    return 1
  }
  const tested = await test
    .run({ ...input, words: [], flag: () => undefined, all: () => [], isOn: () => false })
    .finally(() => checkStop(input, NOT_RELEASED))
  if (tested !== 0) return tested
  const summary = await showAdministrators(input, { last, project, keys, version })
  const text = await changelog()

  checkStop(input, NOT_RELEASED)
  await writePackage(begunFile(await made(place), id), `${JSON.stringify({ id, version })}\n`)
  reached('begun')
  await writePackage(path.join(folder, 'manifest.json'), withVersion(project, version))
  reached('version')
  if (text !== null) await writePackage(path.join(folder, 'CHANGELOG.md'), text)
  reached('changelog')
  const bytes = packProject(await readValidProject(folder), validation.bundle, keys, readNext(all, keys))
  const file = path.join(place, `${id}-${version}.plugin`)
  checkStop(input, `Nothing was signed. The release of ${version} goes on when you run the command again.`)
  await writeOnce(file, bytes, { id, version })
  reached('signed')
  printPackage(input, file, bytes)
  await listRelease(input, place, keys)
  reached('index')
  await rm(begunFile(place, id), { force: true })
  for (const line of messageLines(summary)) out.line(line)
  return 0
}

function readLevel(word: string | undefined): Level | null {
  if (word === undefined) return null
  const level = LEVELS.find((one) => one === word)
  if (level === undefined)
    throw new ToolProblem(
      `"${escapedLines(word)}" is not a kind of release: ${LEVELS.join(', ')}. For a version of your choice, write it into manifest.json, and leave the word out.`,
    )
  return level
}

async function made(place: string): Promise<string> {
  await mkdir(place, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new ToolProblem(`${place} cannot be made (${error.code}).`, { cause: error })
  })
  return place
}

/** The version of a release of this plugin that was interrupted. */
async function readBegun(place: string, id: string): Promise<string | null> {
  const file = begunFile(place, id)
  const bytes = await readOptional(place, path.basename(file))
  if (bytes === null) return null
  const [, whose, version] = /^\{"id":"([^"]+)","version":"([^"]+)"\}\s*$/.exec(bytes.toString('utf8')) ?? []
  if (whose !== id || version === undefined) throw new ToolProblem(`${file} is damaged. Delete it, and run the command again.`)
  return version
}

/** The newest released package of the plugin. @throws ToolProblem for a package that cannot be read */
async function findLast(place: string, id: string, begun: string | null): Promise<PluginPackage | null> {
  const names = await readdir(place, { recursive: true }).catch(() => [])
  let last: PluginPackage | null = null
  for (const name of names.filter((one) => one.endsWith('.plugin'))) {
    const { read } = await readPackageFile(path.join(place, name))
    const { manifest } = read
    if (manifest.id !== id || manifest.version === begun) continue
    if (last === null || compare(manifest.version, last.manifest.version) > 0) last = read
  }
  return last
}

interface Choice {
  level: Level | null
  begun: string | null
  /** The last released version. */
  last: string | null
  /** That of the manifest. */
  own: string
  id: string
  place: string
}

/** From the last release and not from the manifest, so that a second run does not raise it again. @throws ToolProblem */
function chooseVersion({ level, begun, last, own, id, place }: Choice): string {
  const asIs = typedTool('release --key …')
  if (level !== null && last === null && begun === null)
    throw new ToolProblem(
      `No release is in ${place} yet. Release ${own} as manifest.json has it: ${asIs}. If there are earlier releases, put their packages into that folder first, or name theirs with --out.`,
    )
  const raised = level === null || last === null ? null : (inc(last, level) as string)
  if (begun !== null) {
    if ((raised ?? begun) !== begun || compare(own, begun) > 0)
      throw new ToolProblem(
        `The release of ${begun} was interrupted. Go on with it: ${asIs}. To give it up, delete ${begunFile(place, id)}, and the package of ${begun} if it was not published.`,
      )
    return begun
  }
  if (raised === null) {
    if (last !== null && compare(own, last) <= 0)
      throw new ToolProblem(
        `${last} is released already, and manifest.json has ${own}. Say what kind of release is next: ${typedTool('release patch --key …')}, or minor, or major.`,
      )
    return own
  }
  if (compare(own, raised) > 0)
    throw new ToolProblem(`manifest.json has ${own} already, which is later than ${raised}. Release it as it is: ${asIs}`)
  return raised
}

/** Reads what is new, or makes sure that somebody can be asked; the result gives the new CHANGELOG.md, or null when it has the version. */
async function openChangelog({ cwd, flag, readLine }: ToolInput, project: Project, version: string): Promise<() => Promise<string | null>> {
  const before = project.extras.get('CHANGELOG.md')?.toString('utf8') ?? null
  if (before !== null && newsOf(before, version) !== null) return async () => null
  const given = flag('changelog')
  if (given !== undefined) {
    const text = withEntry(before, version, checkNews(await readGiven(path.resolve(cwd, given))))
    return async () => text
  }
  if (readLine === null)
    throw new ToolProblem(
      `CHANGELOG.md does not say what is new in ${version}. Give it with --changelog FILE, or write it below "## ${version}".`,
    )
  return async () => {
    const answer = await readLine(`What is new in ${version}, for administrators? `)
    if (answer === null) throw new ToolProblem(NOT_RELEASED)
    return withEntry(before, version, checkNews(answer))
  }
}

async function readGiven(file: string): Promise<string> {
  try {
    const { size } = await stat(file)
    if (size > CHANGELOG_BYTES_MAX)
      throw new ToolProblem(
        `${file} has ${size} bytes; give a file with what is new in this version alone, at most ${CHANGELOG_BYTES_MAX} bytes.`,
      )
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof ToolProblem) throw error
    throw new ToolProblem(`${file} cannot be read (${fileReason(error)}).`, { cause: error })
  }
}

interface Compared {
  last: PluginPackage | null
  project: Project
  keys: Keys
  version: string
}

/**
 * Shows what administrators will read, before anything is signed.
 * @returns in a sentence, what the release means for them
 * @throws ToolProblem when no server would accept it after the last release, or when it asks for more and nobody has agreed to that
 */
async function showAdministrators({ out, readLine, isOn }: ToolInput, { last, project, keys, version }: Compared): Promise<string> {
  const signedBy = keys.map(publicKeyText)
  const record = consentRecordOf({ manifest: project.manifest, signedBy, repository: null })
  out.line()
  if (last === null) {
    out.line(`What administrators read of ${version}. It`)
    for (const line of describeRecord(record, { summary: project.manifest.summary })) out.line(line)
    return `${version} is the first release: administrators are asked before it runs.`
  }
  const before = last.manifest.version
  const mayFollow = last.nextSigners ?? last.signedBy
  if (mayFollow.length > 0 && !signedBy.some((key) => mayFollow.includes(key)))
    throw new ToolProblem(
      `Servers refuse ${version} signed with ${signedBy.map(fingerprintOf).join(', ')}: ${before} may only be followed by a version signed with ${mayFollow.map(fingerprintOf).join(' or ')}. Sign with that key.`,
    )
  const agreed = consentRecordOf({ manifest: last.manifest, signedBy: last.signedBy, repository: null })
  const differences = differencesOf(agreed, record)
  if (differences.length === 0) return `For administrators ${version} is as ${before}: it runs at once, without a question.`
  out.line(`What administrators read of ${version}, compared with ${before}: + is new, and - is no longer so.`)
  for (const line of describeDifference(agreed, record)) out.line(line)
  const summary = `${version} waits for consent, because it ${phrasesOf(agreed, record).join(', ')}. Until then ${before} runs.`
  if (isCovered(record, differences) || isOn('yes')) return summary
  printMessage(out, ['yellow', '!'], summary)
  if (readLine === null)
    throw new ToolProblem('Nothing was signed: this release asks administrators for more. If that is intended, add --yes.')
  if (!(await agrees(readLine, 'Is that intended? Type yes or no: '))) throw new ToolProblem('Nothing was signed.')
  return summary
}

/** The manifest with another version, otherwise as its author wrote it. */
function withVersion({ manifestBytes, manifest }: Project, version: string): string {
  const text = manifestBytes.toString('utf8')
  const wanted = { ...(JSON.parse(text) as object), version }
  const changed = text.replace(/("version"\s*:\s*)"([^"]*)"/, (whole, name, found) =>
    found === manifest.version ? `${name}"${version}"` : whole,
  )
  try {
    if (JSON.stringify(JSON.parse(changed)) === JSON.stringify(wanted)) return changed
  } catch {
    // Another member has that name; the whole file is written anew.
  }
  return `${JSON.stringify(wanted, null, 2)}\n`
}

/** Under one version only one content is ever signed. */
async function writeOnce(file: string, bytes: Buffer, { id, version }: { id: string; version: string }): Promise<void> {
  const before = await readOptional(path.dirname(file), path.basename(file))
  if (before === null) await writePackage(file, bytes)
  else if (!before.equals(bytes))
    throw new ToolProblem(
      `${version} was signed with other content before the release was interrupted: ${file}. If you have published that package, delete ${begunFile(path.dirname(file), id)} and release the next version; if nobody has it, delete the package and run the command again.`,
    )
}

async function listRelease(input: ToolInput, place: string, keys: Keys): Promise<void> {
  const { flag, out } = input
  const isListed = (await readOptional(place, INDEX_NAME)) !== null
  if (!isListed && (flag('name') === undefined || flag('url') === undefined)) {
    printMessage(
      out,
      ['yellow', '!'],
      'No index was made, so servers cannot update by themselves. For one, add --name "My plugins" --url https://example.org/plugins/ once: the address at which you serve the folder.',
    )
    return
  }
  const { key, problem } = await findIndexKey(place, keys)
  // The package may have a new key, which its last version named.
  if (problem !== null) printMessage(out, ['yellow', '!'], problem)
  else await makeIndex(input, place, key)
}
