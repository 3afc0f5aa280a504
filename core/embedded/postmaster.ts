import { readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartProblem } from '#core/database/start-problem.ts'

/** A fast shutdown writes a checkpoint, which takes seconds on a slow disk; after this time an immediate shutdown follows. */
const FAST_SHUTDOWN_MS = 60_000
const IMMEDIATE_SHUTDOWN_MS = 10_000
const POLL_MS = 20

/** What a running PostgreSQL writes about itself into its data folder. */
interface Postmaster {
  pid: number
  socketFolder: string
  ready: boolean
}

/** Reads `postmaster.pid`; null when there is none or it is half written. It may be stale: see {@link findPostmaster}. */
export async function readPostmasterFile(cluster: string): Promise<Postmaster | null> {
  const text = await readFile(path.join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')
  // Lines: pid, data folder, start time, port, socket folder, address, shared memory key, status.
  const lines = text.split('\n')
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 1) return null
  return { pid, socketFolder: lines[4] ?? '', ready: lines[7]?.trim() === 'ready' }
}

/** Processes of this cluster: their current directory is its folder; a process with another one does not belong to it, whatever its pid. */
async function listClusterProcesses(cluster: string): Promise<number[]> {
  const folder = await stat(cluster).catch(() => null)
  if (!folder) return []
  const found: number[] = []
  for (const name of await readdir('/proc').catch(() => [] as string[])) {
    if (!/^\d+$/.test(name)) continue
    const current = await stat(`/proc/${name}/cwd`).catch(() => null)
    if (current?.dev !== folder.dev || current.ino !== folder.ino) continue
    const program = await readlink(`/proc/${name}/exe`).catch(() => '')
    if (path.basename(program).startsWith('postgres')) found.push(Number(name))
  }
  return found
}

/** The running postmaster of this cluster, or null. Never another process that has received the pid of a dead one. */
export async function findPostmaster(cluster: string): Promise<Postmaster | null> {
  const written = await readPostmasterFile(cluster)
  if (!written) return null
  return (await listClusterProcesses(cluster)).includes(written.pid) ? written : null
}

/**
 * Stops the PostgreSQL that an earlier, killed Carrel left running on this cluster. The caller holds the lock of the data folder.
 * Returns the pid that was stopped, or null.
 */
export async function stopOrphan(cluster: string): Promise<number | null> {
  const written = await readPostmasterFile(cluster)
  const processes = await listClusterProcesses(cluster)
  if (written && processes.includes(written.pid)) {
    await stopPostmaster(written.pid)
    await waitUntilEmpty(cluster)
    return written.pid
  }
  // After a postmaster is killed, its back ends run only until the end of their statement.
  if (processes.length > 0) await waitUntilEmpty(cluster)
  // Another process has the pid now: PostgreSQL would take it for a running server and refuse to start.
  if (written && (await stat(`/proc/${written.pid}`).catch(() => null))) await rm(path.join(cluster, 'postmaster.pid'), { force: true })
  return null
}

async function waitUntilEmpty(cluster: string): Promise<void> {
  const until = Date.now() + IMMEDIATE_SHUTDOWN_MS
  for (;;) {
    const left = await listClusterProcesses(cluster)
    if (left.length === 0) return
    if (Date.now() > until)
      throw new StartProblem(`PostgreSQL processes ${left.join(', ')} still use ${cluster}. Stop them, then start again.`)
    await sleep(POLL_MS)
  }
}

/** Fast shutdown (SIGINT: open transactions are rolled back), then immediate; never SIGKILL, which would leave shared memory behind. */
export async function stopPostmaster(pid: number): Promise<void> {
  for (const [signal, patienceMs] of [
    ['SIGINT', FAST_SHUTDOWN_MS],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    if (!send(pid, signal)) return
    const until = Date.now() + patienceMs
    while (Date.now() < until) {
      if (!(await isRunning(pid))) return
      await sleep(POLL_MS)
    }
  }
  throw new StartProblem(`PostgreSQL (pid ${pid}) does not stop. Stop it by hand: kill -QUIT ${pid}`)
}

/** A process that has ended stays in the table as a zombie until its parent reads the exit code: in containers the first process often never does. */
async function isRunning(pid: number): Promise<boolean> {
  // The state follows the program's name, which is in brackets and may contain any character.
  const state = /^.*\) (\S)/s.exec(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))?.[1]
  return state !== undefined && state !== 'Z' && state !== 'X'
}

/** False if there is no such process. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw new StartProblem(`PostgreSQL (pid ${pid}) belongs to another user. Stop it by hand: kill -INT ${pid}`, { cause: error })
  }
}
