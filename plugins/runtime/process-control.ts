import { readFileSync } from 'node:fs'
import { offerToOutOfMemoryKiller, setPriority } from '#core/foundation/child-process.ts'

/** Gets a third of the processor time of others when it is short; with much less, ordinary calls would time out during a scan. */
const NICE = 5

/** The only child of a process. */
export function findChild(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ')[0]) || null
  } catch {
    return null
  }
}

/** @returns whether it had a child, which is now killed */
export function killChild(pid: number): boolean {
  const child = findChild(pid)
  if (child === null) return false
  try {
    return process.kill(child, 'SIGKILL')
  } catch {
    // It has just ended.
    return false
  }
}

/** Gives the server and the database priority over a process when processor time or memory is short. */
export function lowerPriority(pid: number): void {
  offerToOutOfMemoryKiller(pid)
  setPriority(pid, NICE)
}
