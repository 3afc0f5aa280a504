import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Processes that this one has started and that have not ended. */
export function childrenOf(parent: number): number[] {
  const pids = globSync('/proc/[0-9]*').map((folder) => Number(path.basename(folder)))
  return pids.filter((pid) => Number(statOf(pid)[1]) === parent && statOf(pid)[0] !== 'Z')
}

/** Words of its command line; empty when it has gone. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

/** Clock ticks of processor time, user and system, that these have taken. */
export function ticksOf(pids: number[]): number {
  return pids.reduce((sum, pid) => sum + Number(statOf(pid)[11] ?? 0) + Number(statOf(pid)[12] ?? 0), 0)
}

/** To those that have not ended meanwhile. */
export function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** The fields of /proc/<pid>/stat after the name: state, parent and so on; empty when it has gone. */
function statOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return []
  }
}
