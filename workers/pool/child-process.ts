import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { ENTRY_BYTES_MAX } from '../limits.ts'
import { createFrameReader, frameOf } from './frame.ts'

/** Why a child ended: by the server, by the file that it worked on, or from outside (the kernel, a person), which does not count against the file. */
export type ChildEnd = 'deadline' | 'memory' | 'closed' | 'crash' | 'outside'

/** What the process sends, and when it ends. */
interface ChildListener<From> {
  onMessage(message: From, body: Uint8Array<ArrayBuffer>): void
  /** Called once, for any end. */
  onEnd(end: ChildEnd, detail: string): void
}

/** A process that reads files, from the server's side. */
export interface Child<To> {
  readonly pid: number
  send(message: To, body?: Uint8Array): void
  /** Immediately, in the middle of any work. */
  kill(end: ChildEnd): void
  /** Resident memory in bytes; 0 where the system does not report it. */
  residentBytes(): number
  /** Sets the lowest priority. */
  yieldToAll(): void
}

/**
 * Node's permission model: may read files and start threads; no writing, no processes, no inspector. A signal, which any process of
 * the same user may send, could otherwise start a debugger.
 */
const FLAGS = [
  '--permission',
  '--allow-fs-read=*',
  '--allow-addons',
  '--allow-worker',
  '--disable-sigusr1',
  // This warning that addons may be loaded is noise here.
  '--disable-warning=PERM0001',
]

/** Monitoring tools inject variables into child processes; where `env` exists, it removes them. */
const ENV = '/usr/bin/env'
/** glibc gives every thread its own heap and keeps what each has freed. */
const ENVIRONMENT = { MALLOC_ARENA_MAX: '2' }

/** For slow pages. The others keep the priority of the server: users wait for them, during a scan too. */
const NICEST = 19
/** When memory runs out, the kernel kills a child before the server or the database. */
const OOM_SCORE_ADJ = '1000'
const PAGE_BYTES = 4_096
/** A child starts in half a second; on a busy machine it took several. */
export const START_MS = 30_000
/** A process mostly does not return memory after its work; a child that holds this much is not reused. */
export const KEPT_BYTES_MAX = 512 * 1024 * 1024
/** Only the end of its standard error is kept: the last words of a process that crashes. */
const STDERR_LENGTH_MAX = 2_000
/** Signals that a process causes itself; the others are sent to it. */
const OWN_SIGNALS = new Set(['SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGABRT', 'SIGTRAP', 'SIGSYS'])

/** Starts a program of this folder with a JavaScript heap of at most `heapMbMax`. It sends `ready` when it can work. */
export function startChild<To extends object, From>(
  { program, heapMbMax }: { program: string; heapMbMax: number },
  listener: ChildListener<From>,
): Child<To> {
  const child = spawnNode([...FLAGS, `--max-old-space-size=${heapMbMax}`, fileURLToPath(new URL(program, import.meta.url))])
  const pid = child.pid ?? 0
  const channel = child.stdio[3] as Duplex
  let end: ChildEnd | null = null
  let ended = false
  let stderrTail = ''

  const reportEnd = (found: ChildEnd, detail: string) => {
    if (ended) return
    ended = true
    channel.destroy()
    listener.onEnd(found, detail)
  }
  const kill = (reason: ChildEnd) => {
    end ??= reason
    child.kill('SIGKILL')
    // A caller that waits for its end must keep the event loop alive.
    child.ref()
    refPipe(child.stderr, 'ref')
    // Ignores further messages.
    channel.destroy()
  }

  const read = createFrameReader((header, body) => {
    if (end === null) listener.onMessage(header as From, body)
  })
  channel.on('data', (chunk: Buffer) => {
    try {
      read(chunk)
    } catch {
      kill('crash')
    }
  })
  channel.on('error', () => {})
  child.stderr?.on('data', (chunk: Buffer) => {
    stderrTail = (stderrTail + chunk.toString('utf8')).slice(-STDERR_LENGTH_MAX)
  })
  child.on('error', (error) => reportEnd('crash', error.message))
  // Not 'exit': its last output comes first.
  child.on('close', (code, signal) => reportEnd(end ?? endOf(signal, stderrTail), signal ?? `exit code ${code}`))
  offerToKernel(pid)
  unref(child)

  return {
    pid,
    send: (message, body) => {
      if (end !== null || ended) return
      for (const part of frameOf(message, body, ENTRY_BYTES_MAX)) channel.write(part)
    },
    kill,
    residentBytes: () => residentBytes(pid),
    yieldToAll: () => setPriority(pid, NICEST),
  }
}

function spawnNode(given: string[]): ChildProcess {
  const node = [process.execPath, ...given]
  const pairs = Object.entries(ENVIRONMENT).map(([name, value]) => `${name}=${value}`)
  const [file, ...words] = existsSync(ENV) ? [ENV, '-i', ...pairs, ...node] : node
  // The fourth is for messages; the fifth carries no data and closes when the server ends.
  return spawn(file as string, words, { env: ENVIRONMENT, cwd: '/', stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] })
}

function endOf(signal: NodeJS.Signals | null, stderrTail: string): ChildEnd {
  if (stderrTail.includes('heap out of memory')) return 'memory'
  return signal !== null && !OWN_SIGNALS.has(signal) ? 'outside' : 'crash'
}

/** Both are optional: a system that lacks them, or does not permit them, loses nothing else. */
function offerToKernel(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE_ADJ)
  } catch {}
}

function setPriority(pid: number, nice: number): void {
  try {
    os.setPriority(pid, nice)
  } catch {}
}

/** The child ends with the server and does not keep its event loop alive. */
function unref(child: ChildProcess): void {
  child.unref()
  for (const pipe of child.stdio) refPipe(pipe, 'unref')
}

/** The types do not say that pipes of children are sockets. */
function refPipe(pipe: unknown, act: 'ref' | 'unref'): void {
  ;(pipe as Record<typeof act, (() => void) | undefined> | null)?.[act]?.()
}

function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}
