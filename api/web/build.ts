import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

/** What lies beside the sources and is no part of them: packages, and what is made from the sources. */
const NOT_SOURCES = /^(node_modules|dist|built)(\/|$)|^src\/api\/schema\.d\.ts$/

/** Of what a failed build wrote; the rest repeats it. */
const REASON_LENGTH_MAX = 4_000

/** Where the interface comes from: files that were built before the installation (in the image), or sources and the folder for their build. */
export interface WebPlaces {
  /** `web/built`: used as it is when it exists. */
  prebuilt: string
  /** `web`; without it there is no interface. */
  sources: string
  /** `.cache/web`: a folder for each state of the sources. */
  builds: string
}

/** @param root the folder of the installation */
export const webPlaces = (root: string): WebPlaces => ({
  prebuilt: path.join(root, 'web', 'built'),
  sources: path.join(root, 'web'),
  builds: path.join(root, '.cache', 'web'),
})

export const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

/** The folder for the build of these sources: named by a hash of them and of the Node that builds, which decides about binary packages. */
export async function findBuildFolder({ sources, builds }: WebPlaces): Promise<string> {
  const hash = createHash('sha256').update(process.versions.node.split('.')[0] as string)
  for (const file of await listSources(sources, '')) hash.update(`${file}\0`).update(await readFile(path.join(sources, file)))
  return path.join(builds, hash.digest('hex').slice(0, 24))
}

async function listSources(folder: string, below: string): Promise<string[]> {
  const entries = await readdir(path.join(folder, below), { withFileTypes: true })
  const found: string[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`
    if (NOT_SOURCES.test(name)) continue
    if (entry.isDirectory()) found.push(...(await listSources(folder, name)))
    else if (entry.isFile()) found.push(name)
  }
  return found
}

export interface RunningBuild {
  /** Null when the folder is complete, else why it could not be built. */
  ended: Promise<string | null>
  stop(): void
}

/** Builds into the folder in a child process. @param onStep gets each step: `installing`, then `building` */
export function startBuild({ sources }: WebPlaces, folder: string, onStep: (step: string) => void): RunningBuild {
  const child: ChildProcess = spawn(process.execPath, [path.join(sources, 'build.mjs'), folder], { stdio: ['ignore', 'pipe', 'pipe'] })
  let reason = ''
  child.stdout?.on('data', (chunk: Buffer) => onStep(chunk.toString().trim().split('\n').at(-1) as string))
  child.stderr?.on('data', (chunk: Buffer) => {
    reason = (reason + chunk.toString()).slice(0, REASON_LENGTH_MAX)
  })
  const ended = new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code) => resolve(code === 0 ? null : reason.trim() || `the build ended with code ${code}`))
  })
  return { ended, stop: () => void child.kill('SIGTERM') }
}
