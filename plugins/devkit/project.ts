import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '#core/foundation/errors.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { fileReason, ToolProblem } from './command.ts'
import { describeManifestRefusal } from './source-lines.ts'
import { typedCreate } from './typed.ts'

/** The folder of a plugin project. */
export interface Project {
  folder: string
  manifest: Manifest
  manifestBytes: Buffer
  entry: Entry
  /** Other files for the package, such as README.md and LICENSE, by their names in it. */
  extras: Map<string, Buffer>
}

/** The entry point, relative to the folder; `isBuilt` when it is already a bundle. */
interface Entry {
  file: string
  isBuilt: boolean
}

const ENTRIES: readonly Entry[] = [
  { file: 'src/main.ts', isBuilt: false },
  { file: 'src/main.js', isBuilt: false },
  { file: 'main.js', isBuilt: true },
]
/** Of these a package has those that exist. */
export const EXTRAS = ['README.md', 'CHANGELOG.md', 'LICENSE', 'icon.png', 'icon.svg']
/** More languages than any server supports. */
const LOCALES_MAX = 50

/** A manifest that a server would refuse: a sentence for each problem. */
export class ManifestRefused extends ToolProblem {
  readonly problems: readonly string[]

  constructor(problems: readonly string[], cause: AppError) {
    super(problems.join('\n'), { cause })
    this.name = 'ManifestRefused'
    this.problems = problems
  }
}

/** @throws ToolProblem; ManifestRefused for a manifest that a server would refuse */
export async function readValidProject(folder: string): Promise<Project> {
  const manifestBytes = await readOptional(folder, 'manifest.json')
  if (manifestBytes === null && (await stat(folder).catch(() => null))?.isDirectory() !== true)
    throw new ToolProblem(`${folder} is not a folder. --folder names the folder of a plugin.`)
  if (manifestBytes === null)
    throw new ToolProblem(
      `There is no manifest.json in ${folder}. Run this in the folder of a plugin, use --folder, or create a plugin: ${typedCreate()}`,
    )
  const manifest = await readOwnManifest(manifestBytes)
  return { folder, manifest, manifestBytes, entry: await findEntry(folder), extras: await readExtras(folder) }
}

async function readOwnManifest(bytes: Buffer): Promise<Manifest> {
  try {
    return readManifest(bytes)
  } catch (error) {
    if (error instanceof AppError) throw new ManifestRefused(await describeManifestRefusal(error, bytes), error)
    throw error
  }
}

async function findEntry(folder: string): Promise<Entry> {
  for (const entry of ENTRIES) {
    const found = await stat(path.join(folder, entry.file)).catch(() => null)
    if (found?.isFile()) return entry
  }
  const names = ENTRIES.map(({ file }) => file)
  const entries = await readdir(path.join(folder, 'src'), { withFileTypes: true }).catch(() => [])
  const [only, ...others] = entries.flatMap((entry) => (entry.isFile() && /^[\w.-]+\.[cm]?[jt]sx?$/.test(entry.name) ? [entry.name] : []))
  const advice = only === undefined || others.length > 0 ? '' : ` Rename src/${only} to ${names[0]}.`
  throw new ToolProblem(`There is no code in ${folder}: neither ${names.join(' nor ')}.${advice}`)
}

async function readExtras(folder: string): Promise<Map<string, Buffer>> {
  const extras = new Map<string, Buffer>()
  const locales = (await readdir(path.join(folder, 'locales')).catch(() => [])).filter((name) => name.endsWith('.json')).sort()
  if (locales.length > LOCALES_MAX) throw new ToolProblem(`locales/ has ${locales.length} languages; the limit is ${LOCALES_MAX}.`)
  for (const name of [...EXTRAS, ...locales.map((locale) => `locales/${locale}`)]) {
    const bytes = await readOptional(folder, name)
    if (bytes !== null) extras.set(name, bytes)
  }
  return extras
}

/** A file of the folder; null when it does not exist. @throws ToolProblem when it cannot be read */
export async function readOptional(folder: string, name: string): Promise<Buffer | null> {
  try {
    return await readFile(path.join(folder, name))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw new ToolProblem(`${path.join(folder, name)} cannot be read (${fileReason(error)}).`, { cause: error })
  }
}
