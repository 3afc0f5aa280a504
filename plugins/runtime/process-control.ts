import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'

const PAGE_BYTES = 4_096
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
  try {
    os.setPriority(pid, NICE)
  } catch {
    // This is optional.
  }
}

function offerToOutOfMemoryKiller(pid: number): void {
  try {
    if (existsSync(`/proc/${pid}/oom_score_adj`)) writeFileSync(`/proc/${pid}/oom_score_adj`, '1000')
  } catch {
    // This is optional: the system may not support or permit it.
  }
}

/** Resident memory in bytes; 0 where the system does not report it. */
export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}
