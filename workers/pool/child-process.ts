import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ENV, refPipe, residentBytes, setPriority, spawnChild } from '#core/foundation/child-process.ts'
import { createFrameReader, frameOf } from '#core/foundation/frames/frame.mjs'
import type { FromChild, ToChild } from '../drawing.ts'
import { ENTRY_BYTES_MAX } from '../limits.ts'

/** Why a child ended: by the server, by the file that it worked on, or from outside (the kernel, a person), which does not count against the file. */
export type ChildEnd = 'deadline' | 'memory' | 'closed' | 'crash' | 'outside'

/** What the process sends, and when it ends. */
interface ChildListener {
  onMessage(message: FromChild, body: Uint8Array<ArrayBuffer>): void
  /** Called once, for any end. */
  onEnd(end: ChildEnd, detail: string): void
}

/** A process that reads files, from the server's side. */
export interface Child {
  readonly pid: number
  send(message: ToChild, body?: Uint8Array): void
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

const PROGRAM = fileURLToPath(new URL('child.ts', import.meta.url))
/** glibc gives every thread its own heap and keeps what each has freed. */
const ENVIRONMENT = { MALLOC_ARENA_MAX: '2' }

/** For slow pages. The others keep the priority of the server: users wait for them, during a scan too. */
const NICEST = 19
/** A child starts in half a second; on a busy machine it took several. */
export const START_MS = 30_000
/** A process mostly does not return memory after its work; a child that holds this much is not reused. */
export const KEPT_BYTES_MAX = 512 * 1024 * 1024
/** Only the end of its standard error is kept: the last words of a process that crashes. */
const STDERR_LENGTH_MAX = 2_000
/** Signals that a process causes itself; the others are sent to it. */
const OWN_SIGNALS = new Set(['SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGABRT', 'SIGTRAP', 'SIGSYS'])

/** Starts the process with a JavaScript heap of at most `heapMbMax`. It sends `ready` when it can work. */
export function startChild(heapMbMax: number, listener: ChildListener): Child {
  const pairs = Object.entries(ENVIRONMENT).map(([name, value]) => `${name}=${value}`)
  const { child, channel } = spawnChild({
    words: [...(existsSync(ENV) ? [ENV, '-i', ...pairs] : []), process.execPath, ...FLAGS, `--max-old-space-size=${heapMbMax}`, PROGRAM],
    env: ENVIRONMENT,
    cwd: '/',
    stdin: 'ignore',
    watches: true,
  })
  const pid = child.pid ?? 0
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
    // A copy, which can be transferred to a thread.
    if (end === null) listener.onMessage(header as FromChild, Uint8Array.from(body))
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

function endOf(signal: NodeJS.Signals | null, stderrTail: string): ChildEnd {
  if (stderrTail.includes('heap out of memory')) return 'memory'
  return signal !== null && !OWN_SIGNALS.has(signal) ? 'outside' : 'crash'
}
