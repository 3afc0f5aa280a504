import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import type { Duplex } from 'node:stream'

/** Monitoring tools inject variables into child processes; where `env` exists, it removes them. */
export const ENV = '/usr/bin/env'
/** When memory runs out, the kernel kills a child before the server or the database. */
const OOM_SCORE_ADJ = '1000'
const PAGE_BYTES = 4_096

interface ChildCommand {
  words: readonly string[]
  /** Nothing else of the server's environment: no secrets, no proxies, no options for Node. */
  env: Readonly<Record<string, string>>
  cwd: string
  stdin: number | 'ignore'
  /** Adds a pipe that carries no data and closes when the server ends in any way. */
  watches?: boolean
}

/** Starts a program that exchanges messages with the server over descriptor 3, and ends with it. It does not keep the event loop of the server alive. */
export function spawnChild({ words: [file = '', ...words], env, cwd, stdin, watches }: ChildCommand): {
  child: ChildProcess
  channel: Duplex
} {
  const child = spawn(file, words, { env, cwd, stdio: [stdin, 'ignore', 'pipe', 'pipe', ...(watches ? ['pipe' as const] : [])] })
  offerToOutOfMemoryKiller(child.pid ?? 0)
  child.unref()
  for (const pipe of child.stdio) refPipe(pipe, 'unref')
  return { child, channel: child.stdio[3] as Duplex }
}

/** The types do not say that pipes of children are sockets. */
export function refPipe(pipe: unknown, act: 'ref' | 'unref'): void {
  ;(pipe as Record<typeof act, (() => void) | undefined> | null)?.[act]?.()
}

/** Resident memory in bytes; 0 where the system does not report it. */
export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}

/** Optional, like the next: a system that lacks it, or does not permit it, loses nothing else. */
export function setPriority(pid: number, nice: number): void {
  try {
    os.setPriority(pid, nice)
  } catch {}
}

export function offerToOutOfMemoryKiller(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE_ADJ)
  } catch {}
}
