import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdtempSync, openSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ENV } from '#core/foundation/child-process.ts'
import type { Log } from '#core/foundation/log.ts'

/** How to start a runner: the command words before those of Node, and its standard input. */
export interface Confinement {
  /** What it takes from a runner, for the log. */
  summary: string
  words: readonly string[]
  /** A descriptor that the wrapper programs read, or none. */
  stdin: number | 'ignore'
  /** Whether the started process is the parent of the runner and waits for it. */
  forks: boolean
}

/** Node starts in a tenth of this on an idle machine. */
const TRY_MS_MAX = 5_000

const UNSHARE = '/usr/bin/unshare'
const SETPRIV = '/usr/bin/setpriv'
/** When its parent ends, even by kill -9, the kernel kills it too. */
const WITH_PARENT = ['--pdeathsig', 'KILL']
const NO_PRIVILEGES = [SETPRIV, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']
/** A user that owns no file and no other process; PostgreSQL uses 65534 when root runs the server. */
const NOBODY_ELSE = ['--reuid=65533', '--regid=65533', '--clear-groups']

const OWN_NETWORK = ['--net']
/** Separate namespaces for network, mounts, processes and shared memory. The kernel ends them with the first process. */
const OWN_WORLD = ['--net', '--mount', '--pid', '--ipc', '--fork', '--kill-child']
const AS_ROOT_OF_ITS_OWN = ['--user', '--map-root-user']
const AS_ANYBODY = ['--user', '--map-current-user']

/**
 * Mounts the table from standard input over the folder $1, makes that the root, and continues there. A single call of mount(8): each takes
 * a millisecond.
 */
const SCRIPT = `mount -a -T /dev/stdin && cd "$1" && shift && unset PWD OLDPWD && exec chroot . "$@" </dev/null`
/** Folders that every Linux has and no program needs; only the runner sees what is mounted there. */
const PLACES = ['/mnt', '/media', '/srv', '/opt', '/home', '/tmp']
/** Programs and libraries of the system. */
const SYSTEM = ['/usr', '/lib', '/lib64']

/** The files that a runner needs; none of them is secret. */
interface Needs {
  /** Folders with its code. */
  folders: readonly string[]
  /** Command that starts Node like the runner, and ends. */
  trial: readonly string[]
}

/** The root of a runner as a table for mount(8): its folders, read-only, and nothing else. */
function describeRoot(place: string, folders: readonly string[]): string {
  const escaped = (text: string) => text.replace(/[\\\s#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`)
  const lines = folders.map((folder) => `${escaped(folder)} ${escaped(place + folder)} none bind,ro,X-mount.mkdir 0 0`)
  return [`tmpfs ${place} tmpfs size=1m,mode=755 0 0`, ...lines, ''].join('\n')
}

/** An unnamed file: only its descriptor gives access. */
function openNameless(text: string): number {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'carrel-runner-'))
  try {
    const file = path.join(folder, 'root')
    writeFileSync(file, text)
    return openSync(file, 'r')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * The possible confinements, the strongest first: separate namespaces that contain nothing but the code; an empty network namespace;
 * and no privileges beyond those of the user. Systems differ in what they permit, containers most of all.
 */
function* listConfinements({ folders }: Needs): Generator<Confinement> {
  const asRoot = process.getuid?.() === 0
  const seen = [
    ...SYSTEM.filter((folder) => existsSync(folder)),
    ...new Set(folders.filter((folder) => existsSync(folder)).map((folder) => realpathSync(folder))),
  ]
  const place = PLACES.find((candidate) => existsSync(candidate) && !seen.some((folder) => `${folder}/`.startsWith(`${candidate}/`)))
  if (place !== undefined && existsSync('/bin/sh')) {
    const stdin = openNameless(describeRoot(place, seen))
    const worlds = asRoot ? [OWN_WORLD, [...AS_ROOT_OF_ITS_OWN, ...OWN_WORLD]] : [[...AS_ROOT_OF_ITS_OWN, ...OWN_WORLD]]
    for (const world of worlds) {
      const user = asRoot && world === OWN_WORLD ? NOBODY_ELSE : []
      const inside = ['/bin/sh', '-c', SCRIPT, 'sh', place, ...NO_PRIVILEGES, ...user, ...WITH_PARENT]
      const summary = `no files but its code, no network, no other processes, ${privilegesOf(user)}`
      yield { summary, words: [SETPRIV, ...WITH_PARENT, UNSHARE, ...world, '--', ...inside], stdin, forks: true }
    }
    closeSync(stdin)
  }
  const users = asRoot ? [NOBODY_ELSE, []] : [[]]
  for (const network of [[UNSHARE, ...OWN_NETWORK], [UNSHARE, ...AS_ANYBODY, ...OWN_NETWORK], []])
    for (const user of network.length === 4 ? [[]] : users) {
      const summary = `${network.length > 0 ? 'no network, ' : ''}${privilegesOf(user)}`
      yield { summary, words: [...network, ...NO_PRIVILEGES, ...user, ...WITH_PARENT], stdin: 'ignore', forks: false }
    }
  yield { summary: 'no new privileges', words: NO_PRIVILEGES.slice(0, 2), stdin: 'ignore', forks: false }
}

const privilegesOf = (user: readonly string[]): string => (user.length > 0 ? 'no privileges, a user of its own' : 'no privileges')

/** Whether a command ends well in time. It runs beside the server: each attempt takes a tenth of a second, and longer on a busy machine. */
async function endsWell(words: readonly string[], stdin: Confinement['stdin']): Promise<boolean> {
  const tried = spawn(ENV, ['-i', ...words], { env: {}, stdio: [stdin, 'ignore', 'ignore'], timeout: TRY_MS_MAX, killSignal: 'SIGKILL' })
  try {
    const [status] = await once(tried, 'exit')
    return status === 0
  } catch {
    // It could not be started.
    return false
  }
}

/** Finds the strongest confinement that this system permits, by trying. Never fails. */
export async function findConfinement(log: Log, needs: Needs): Promise<Confinement> {
  const found = await firstPossible(needs)
  log.info({ confinement: found.summary }, 'Plugin runners use the strongest confinement that this system permits')
  log.debug({ command: found.words.join(' ') }, 'Command that confines plugin runners')
  return found
}

async function firstPossible(needs: Needs): Promise<Confinement> {
  if (!existsSync(ENV)) return { summary: 'none', words: [], stdin: 'ignore', forks: false }
  for (const candidate of listConfinements(needs)) {
    const { words, stdin } = candidate
    if (existsSync(words[0] as string) && (await endsWell([...words, ...needs.trial], stdin)))
      return { ...candidate, words: [ENV, '-i', ...words] }
  }
  return { summary: 'none', words: [ENV, '-i'], stdin: 'ignore', forks: false }
}
