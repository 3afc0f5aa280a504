import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'

const PAGE_BYTES = 4_096
/** A third of what others get where the processor is short; much less, and honest calls would run out of time during a scan. */
const NICE = 5

/** The child of a process that waits for its only one. */
export function findChild(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ')[0]) || null
  } catch {
    return null
  }
}

/** @returns whether it had a child, which is killed now */
export function killChild(pid: number): boolean {
  const child = findChild(pid)
  if (child === null) return false
  try {
    return process.kill(child, 'SIGKILL')
  } catch {
    // It has gone in this moment.
    return false
  }
}

/** Lets the server and the database go before a process where processor or memory are short. */
export function lowerPriority(pid: number): void {
  offerToOutOfMemoryKiller(pid)
  try {
    os.setPriority(pid, NICE)
  } catch {
    // Nothing depends on it.
  }
}

function offerToOutOfMemoryKiller(pid: number): void {
  try {
    if (existsSync(`/proc/${pid}/oom_score_adj`)) writeFileSync(`/proc/${pid}/oom_score_adj`, '1000')
  } catch {
    // A system that does not know this, or does not let us: nothing depends on it.
  }
}

/** Resident memory in bytes; 0 where the system does not tell. */
export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}
