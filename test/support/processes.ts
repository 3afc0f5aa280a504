import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Running child processes of this one. */
export function childrenOf(parent: number): number[] {
  const pids = globSync('/proc/[0-9]*').map((folder) => Number(path.basename(folder)))
  return pids.filter((pid) => Number(statOf(pid)[1]) === parent && statOf(pid)[0] !== 'Z')
}

/** The words of its command line; empty when it has ended. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

/** CPU time of these processes, user and system, in clock ticks. */
export function ticksOf(pids: number[]): number {
  return pids.reduce((sum, pid) => sum + Number(statOf(pid)[11] ?? 0) + Number(statOf(pid)[12] ?? 0), 0)
}

/** Sends a signal to the processes that are still running. */
export function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** The fields of /proc/<pid>/stat after the name: state, parent and so on; empty when it has ended. */
function statOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return []
  }
}
