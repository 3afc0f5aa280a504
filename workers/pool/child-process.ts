import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { FromChild, ToChild } from '../drawing.ts'
import { ENTRY_BYTES_MAX } from '../limits.ts'
import { createFrameReader, frameOf } from './frame.ts'

/** Why a child ended: by our hand, by the file it worked on, or by somebody from outside (the kernel, a person), which says nothing of the file. */
export type ChildEnd = 'deadline' | 'memory' | 'closed' | 'crash' | 'outside'

export interface ChildListener {
  onMessage(message: FromChild, body: Uint8Array<ArrayBuffer>): void
  /** Once, whatever ended it. */
  onEnd(end: ChildEnd, detail: string): void
}

/** A process that draws, as the server sees it. */
export interface DrawingChild {
  readonly pid: number
  send(message: ToChild, body?: Uint8Array): void
  /** At once, whatever it is doing. */
  kill(end: ChildEnd): void
  /** Resident memory in bytes; 0 where the system does not tell. */
  residentBytes(): number
  /** From now on everybody else goes before it. */
  yieldToAll(): void
}

const PROGRAM = fileURLToPath(new URL('child.ts', import.meta.url))

/**
 * Node's own permissions: files to read and threads, no writing, no processes, no inspector. A debugger could also be called by a signal,
 * which any process of the same user may send.
 */
const FLAGS = [
  '--permission',
  '--allow-fs-read=*',
  '--allow-addons',
  '--allow-worker',
  '--disable-sigusr1',
  // The warning that addons may be loaded is meant for whoever did not know.
  '--disable-warning=PERM0001',
]

/** Tools that watch a server slip their own variables into whatever it starts; where there is `env`, they are taken out again. */
const ENV = '/usr/bin/env'
/** glibc gives every thread a heap of its own and keeps what each has freed. */
const ENVIRONMENT = { MALLOC_ARENA_MAX: '2' }

/** For pages that have taken long. The others keep the priority of the server: readers wait for them, during a scan too. */
const NICEST = 19
/** When memory runs out, a child goes before the server or the database. */
const OOM_SCORE_ADJ = '1000'
const PAGE_BYTES = 4_096
/** Of what it writes on its standard error only the end is kept: what a dying process says of its death. */
const STDERR_LENGTH_MAX = 2_000
/** Signals by which a process ends because of what it did itself; the others are sent to it. */
const OWN_SIGNALS = new Set(['SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGABRT', 'SIGTRAP', 'SIGSYS'])

/** Starts a child with a JavaScript heap of at most `heapMbMax`. It tells `ready` when it can draw. */
export function startChild(heapMbMax: number, listener: ChildListener): DrawingChild {
  const node = [process.execPath, ...FLAGS, `--max-old-space-size=${heapMbMax}`, PROGRAM]
  const pairs = Object.entries(ENVIRONMENT).map(([name, value]) => `${name}=${value}`)
  const [file, ...words] = existsSync(ENV) ? [ENV, '-i', ...pairs, ...node] : node
  // The fourth is for messages; the fifth says nothing and ends with the server.
  const child = spawn(file as string, words, { env: ENVIRONMENT, cwd: '/', stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] })
  const pid = child.pid ?? 0
  const channel = child.stdio[3] as Duplex
  let end: ChildEnd | null = null
  let ended = false
  let said = ''

  const tellEnd = (found: ChildEnd, detail: string) => {
    if (ended) return
    ended = true
    channel.destroy()
    listener.onEnd(found, detail)
  }
  const kill = (reason: ChildEnd) => {
    end ??= reason
    child.kill('SIGKILL')
    // Whoever waits for its end does so though nothing else goes on.
    child.ref()
    refPipe(child.stderr, 'ref')
    // What it still says is not heard.
    channel.destroy()
  }

  const read = createFrameReader((header, body) => {
    if (end === null) listener.onMessage(header as FromChild, body)
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
    said = (said + chunk.toString('utf8')).slice(-STDERR_LENGTH_MAX)
  })
  child.on('error', (error) => tellEnd('crash', error.message))
  // Not 'exit': what it said last comes before.
  child.on('close', (code, signal) => tellEnd(end ?? endOf(signal, said), signal ?? `exit code ${code}`))
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

function endOf(signal: NodeJS.Signals | null, said: string): ChildEnd {
  if (said.includes('heap out of memory')) return 'memory'
  return signal !== null && !OWN_SIGNALS.has(signal) ? 'outside' : 'crash'
}

/** Courtesies, these two: a system that does not know them, or does not let us, loses nothing else by it. */
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

/** It lives no longer than the server, and keeps nobody waiting for it. */
function unref(child: ChildProcess): void {
  child.unref()
  for (const pipe of child.stdio) refPipe(pipe, 'unref')
}

/** The types do not know that pipes of children are sockets. */
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
