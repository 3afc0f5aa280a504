import { readFile, rm } from 'node:fs/promises'
import inspector from 'node:inspector'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { beat, type WorkReport, workRegister } from '#core/foundation/current-work.ts'

/** The file in the data folder where the watchdog records what blocked the server. */
const STALL_FILE = 'stall.json'
/** How often the main thread signals that its event loop runs, which costs it a microsecond. */
const BEAT_MS = 500
/** How often the watchdog checks: each check without a beat counts as one interval at most, however long the machine slept between two. */
const LOOK_MS = 1_000
/** The thread needs 3 MB; the scripts that it reads for the call stack are larger. */
const MEMORY_MB = 24

/** What blocked the main thread, as the watchdog found it. */
export interface Stall extends WorkReport {
  /** ISO 8601. */
  at: string
  pid: number
  /** How long the event loop of the main thread had not run. */
  stoodStillMs: number
  /** Active calls in JavaScript, innermost first; empty when the main thread was in native code and could not be inspected. */
  stack: string[]
}

/** The input of the watchdog's thread. */
export interface Watch {
  register: SharedArrayBuffer
  stallMs: number
  lookMs: number
  file: string
  signal: NodeJS.Signals
}

export interface Watchdog {
  /** Ends the thread; monitoring stops. */
  close(): Promise<void>
}

/**
 * Monitors the main thread from another one. When its event loop does not turn for `stallMs`, the watchdog writes the current work
 * to `stall.json` in the folder and to standard error, and ends the process with `signal`, which works in native code too: a thread cannot end
 * its process with an exit code while the main thread is blocked, but a signal can. The watchdog measures time itself: a suspended machine, a
 * stopped process and a changed clock do not count.
 * @param options.stallMs 0 = never. A process under a debugger stops on purpose and is not monitored either
 * @param options.signal one that ends a process and that nobody else sends
 */
export function openWatchdog(options: { stallMs: number; folder: string; signal: NodeJS.Signals }): Watchdog | null {
  if (options.stallMs <= 0 || inspector.url() !== undefined) return null
  const watch: Watch = {
    register: workRegister,
    stallMs: options.stallMs,
    lookMs: Math.min(LOOK_MS, options.stallMs / 4),
    file: path.join(options.folder, STALL_FILE),
    signal: options.signal,
  }
  beat()
  const beats = setInterval(beat, Math.min(BEAT_MS, watch.lookMs / 2)).unref()
  const thread = new Worker(new URL('./watchdog-thread.ts', import.meta.url), {
    name: 'watchdog',
    workerData: watch,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB, maxYoungGenerationSizeMb: 1 },
  })
  thread.unref()
  return {
    async close() {
      clearInterval(beats)
      await thread.terminate()
    },
  }
}

/**
 * Reads what an earlier process recorded before its watchdog ended it, and deletes the file: it is reported once.
 * @returns null when there is no file, or it cannot be read
 */
export async function takeStall(folder: string): Promise<Stall | null> {
  const file = path.join(folder, STALL_FILE)
  const text = await readFile(file, 'utf8').catch(() => null)
  await rm(file, { force: true })
  if (text === null) return null
  try {
    const { at, pid, stoodStillMs, stack, last, open, omitted }: Stall = JSON.parse(text)
    return Array.isArray(open) && Array.isArray(stack) ? { at, pid, stoodStillMs, stack, last, open, omitted } : null
  } catch {
    return null
  }
}

/** The ids of the files and tasks in a stall report. */
export function suspectsOf({ open }: Stall): { bookIds: string[]; taskIds: string[] } {
  const idsOf = (kind: string, pattern: RegExp) =>
    open.flatMap((work) => (work.kind === kind ? (pattern.exec(work.name)?.slice(1) ?? []) : []))
  return { bookIds: idsOf('file', / \(book ([0-9a-f-]{36})\)$/), taskIds: idsOf('task', /^analyze_book ([0-9a-f-]{36})$/) }
}

/** A stall in one line. */
export function describeStall({ stoodStillMs, last, open, omitted, stack }: Stall): string {
  const others = open.filter((work) => work.name !== last?.name).map(({ kind, name, ms }) => `${kind} ${name} (${ms} ms)`)
  return [
    `The server was blocked for ${Math.round(stoodStillMs / 1000)} s, and its watchdog ended it.`,
    last ? `Last work: ${last.kind} ${last.name}, begun ${last.ms} ms before.` : 'No work was recorded.',
    ...(others.length > 0 ? [`Also open: ${others.slice(0, 20).join(', ')}${others.length + omitted > 20 ? ', and more' : ''}.`] : []),
    ...(stack.length > 0 ? [`In: ${stack.slice(0, 8).join(' < ')}.`] : []),
  ].join(' ')
}
