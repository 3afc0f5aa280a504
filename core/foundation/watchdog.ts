import { readFile, rm } from 'node:fs/promises'
import inspector from 'node:inspector'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { beat, type WorkReport, workRegister } from '#core/foundation/current-work.ts'

/** Where the watchdog writes down over what the server stood still; in the data folder. */
const STALL_FILE = 'stall.json'
/** The main thread says as often that it turns, which costs it a microsecond. */
const BEAT_MS = 500
/** As often the watchdog looks: each look that finds no beat counts for one of these at most, however long the machine slept between two. */
const LOOK_MS = 1_000
/** The thread needs 3 MB; what it reads of the scripts for the call stack is larger. */
const MEMORY_MB = 24

/** What stood in the way of the main thread, as the watchdog saw it. */
export interface Stall extends WorkReport {
  /** ISO 8601. */
  at: string
  pid: number
  /** How long the main thread had made no turn. */
  stoodStillMs: number
  /** Calls that were under way in JavaScript, the innermost first; empty where it stood in native code and could not be asked. */
  stack: string[]
}

/** What the watchdog's thread is given. */
export interface Watch {
  register: SharedArrayBuffer
  stallMs: number
  lookMs: number
  file: string
  signal: NodeJS.Signals
}

export interface Watchdog {
  /** Ends the thread; nobody watches any more. */
  close(): Promise<void>
}

/**
 * Watches the main thread from another one. When it makes no turn of its event loop for `stallMs`, the watchdog writes down what was at work,
 * to `stall.json` in the folder and to standard error, and ends the process by `signal`, which works in native code too: a thread cannot end
 * its process with an exit code while the main thread does not turn, a signal can. The time is the watchdog's own: a suspended machine, a
 * stopped process and a changed clock do not count.
 * @param options.stallMs 0 = never. A process that is being debugged stands still on purpose and is not watched either
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
 * Reads what an earlier process wrote down before its watchdog ended it, and removes it: it is told once.
 * @returns null when there is nothing, or nothing that can be read
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

/** The files and tasks that a stall names, as ids. */
export function suspectsOf({ open }: Stall): { bookIds: string[]; taskIds: string[] } {
  const idsOf = (kind: string, pattern: RegExp) =>
    open.flatMap((work) => (work.kind === kind ? (pattern.exec(work.name)?.slice(1) ?? []) : []))
  return { bookIds: idsOf('file', / \(book ([0-9a-f-]{36})\)$/), taskIds: idsOf('task', /^analyze_book ([0-9a-f-]{36})$/) }
}

/** A stall in one line. */
export function describeStall({ stoodStillMs, last, open, omitted, stack }: Stall): string {
  const others = open.filter((work) => work.name !== last?.name).map(({ kind, name, ms }) => `${kind} ${name} (${ms} ms)`)
  return [
    `The server stood still for ${Math.round(stoodStillMs / 1000)} s and was ended by its watchdog.`,
    last ? `At work last: ${last.kind} ${last.name}, begun ${last.ms} ms before.` : 'Nothing had said that it was at work.',
    ...(others.length > 0 ? [`Also open: ${others.slice(0, 20).join(', ')}${others.length + omitted > 20 ? ', and more' : ''}.`] : []),
    ...(stack.length > 0 ? [`In: ${stack.slice(0, 8).join(' < ')}.`] : []),
  ].join(' ')
}
