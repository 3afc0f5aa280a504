import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * What the main thread is doing now, in shared memory: while the main thread is blocked, another thread reads here which work blocks it. One register
 * per process, because there is one main thread.
 */

const WORK_KINDS = ['request', 'plugin call', 'task', 'file'] as const
type WorkKind = (typeof WORK_KINDS)[number]

/** One piece of work that has begun and not ended. */
interface Work {
  kind: WorkKind
  /** Route and id of a request, plugin and method, type and id of a task, path of a file; cut to {@link NAME_BYTES_MAX}. */
  name: string
  /** Milliseconds since it began. */
  ms: number
}

export interface WorkReport {
  /** The work that the main thread entered last, if recorded; null when it has ended. */
  last: Work | null
  /** All work that has begun and not ended, oldest first. */
  open: Work[]
  /** How many more were open than the register has room for. */
  omitted: number
}

/** More than the connections and tasks that run at the same time; work without a slot is only counted. */
const SLOTS = 256
/** A route with the id of its request, or the end of a long path. */
export const NAME_BYTES_MAX = 244
/** Start (8), kind + 1 (2), length (2), name. */
const SLOT_BYTES = 8 + 4 + NAME_BYTES_MAX
/** Int32: slot that was entered last + 1, pieces of work without a slot, turns of the main thread's event loop. */
const HEADER_BYTES = 16
const LAST = 0
const OMITTED = 1
const BEATS = 2

/** The register itself, for the thread that monitors the main one. */
export const workRegister = new SharedArrayBuffer(HEADER_BYTES + SLOTS * SLOT_BYTES)

const header = new Int32Array(workRegister, 0, HEADER_BYTES / 4)
const free = Array.from({ length: SLOTS }, (_, index) => SLOTS - 1 - index)
const slots = free.map((_, index) => openSlot(workRegister, index))
const scope = new AsyncLocalStorage<number>()
const encoder = new TextEncoder()
interface Entered {
  kind: WorkKind
  name: string
}
/** The content of each slot, without decoding it. */
const names = free.map((): Entered | null => null)
/** The work that began or continued last, ended or not, and when; the work that ran longest without interruption since the last reading. */
let entered: Entered | null = null
let enteredAt = 0
let longest: Entered | null = null
let longestMs = 0

function openSlot(register: SharedArrayBuffer, index: number) {
  const at = HEADER_BYTES + index * SLOT_BYTES
  return {
    began: new Float64Array(register, at, 1),
    /** Kind + 1 (0: free slot), bytes of the name. */
    facts: new Uint16Array(register, at + 8, 2),
    name: new Uint8Array(register, at + 12, NAME_BYTES_MAX),
  }
}

/**
 * Runs work under a name until its promise has settled. Inside, {@link noteWork} knows which work it belongs to.
 * @param name if too long, its end is kept: the end of a path says more than its beginning
 */
export async function duringWork<T>(kind: WorkKind, name: string, run: () => Promise<T>): Promise<T> {
  const index = free.pop()
  if (index === undefined) {
    header[OMITTED]! += 1
    try {
      return await run()
    } finally {
      header[OMITTED]! -= 1
    }
  }
  const outer = scope.getStore()
  const { began, facts } = slots[index]!
  began[0] = performance.timeOrigin + performance.now()
  facts[1] = writeName(slots[index]!.name, name)
  facts[0] = WORK_KINDS.indexOf(kind) + 1
  header[LAST] = index + 1
  names[index] = { kind, name }
  enter(names[index])
  try {
    return await scope.run(index, run)
  } finally {
    facts[0] = 0
    free.push(index)
    if (header[LAST] === index + 1) header[LAST] = outer === undefined ? 0 : outer + 1
  }
}

/** Returns how many bytes were written. */
function writeName(target: Uint8Array, name: string): number {
  // No UTF-16 code unit takes more than three bytes.
  if (name.length * 3 <= NAME_BYTES_MAX) return encoder.encodeInto(name, target).written
  const end = encoder.encode(name.slice(-NAME_BYTES_MAX)).subarray(-NAME_BYTES_MAX)
  target.set(end)
  return end.length
}

/** Records that the main thread now continues with the current work: call before anything that may take long. */
export function noteWork(): void {
  const index = scope.getStore()
  if (index === undefined) return
  header[LAST] = index + 1
  enter(names[index]!)
}

function enter(next: Entered | null): void {
  const now = performance.now()
  if (now - enteredAt > longestMs) {
    longest = entered
    longestMs = now - enteredAt
  }
  entered = next
  enteredAt = now
}

/** The recorded work that occupied the main thread longest since the last call: the likely cause of a stall in that time. */
export function takeLongestWork(): { kind: WorkKind; name: string } | null {
  enter(entered)
  const found = longest
  longest = null
  longestMs = 0
  return found
}

/** Counts one turn of the main thread's event loop: a blocked thread makes none. */
export function beat(): void {
  Atomics.add(header, BEATS, 1)
}

/** Turns counted so far. */
export function readBeats(register: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(register, 0, HEADER_BYTES / 4), BEATS)
}

/** Reads a register, possibly from another thread. */
export function readWork(register: SharedArrayBuffer): WorkReport {
  const now = performance.timeOrigin + performance.now()
  const numbers = new Int32Array(register, 0, HEADER_BYTES / 4)
  const open = Array.from({ length: SLOTS }, (_, index) => readSlot(register, index, now)).filter((work) => work !== null)
  const last = numbers[LAST]! === 0 ? null : readSlot(register, numbers[LAST]! - 1, now)
  return { last, open: open.sort((a, b) => b.ms - a.ms), omitted: numbers[OMITTED]! }
}

function readSlot(register: SharedArrayBuffer, index: number, now: number): Work | null {
  const { began, facts, name } = openSlot(register, index)
  const kind = WORK_KINDS[facts[0]! - 1]
  if (kind === undefined) return null
  // Decoders do not accept shared memory.
  return { kind, name: new TextDecoder().decode(name.slice(0, facts[1])), ms: Math.max(0, Math.round(now - began[0]!)) }
}
