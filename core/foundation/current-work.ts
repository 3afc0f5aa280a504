import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * What the main thread is doing now, in shared memory: while it stands still, another thread reads here whose work it was. One register a
 * process, because there is one main thread.
 */

export const WORK_KINDS = ['request', 'plugin call', 'task', 'file'] as const
export type WorkKind = (typeof WORK_KINDS)[number]

/** One piece of work that was begun and is not over. */
export interface Work {
  kind: WorkKind
  /** Route and id of a request, plugin and method, type and id of a task, path of a file; cut at {@link NAME_BYTES_MAX}. */
  name: string
  /** Milliseconds since it began. */
  ms: number
}

export interface WorkReport {
  /** What the main thread entered last, as far as it said so; null when that is over. */
  last: Work | null
  /** Everything begun and not over, the oldest first. */
  open: Work[]
  /** How much more was open than the register has room for. */
  omitted: number
}

/** Connections and tasks that are at work at once are fewer; what finds no room is counted only. */
const SLOTS = 128
/** A route with the id of its request, or the end of a long path. */
export const NAME_BYTES_MAX = 244
/** Start (8), kind + 1 (2), length (2), name. */
const SLOT_BYTES = 8 + 4 + NAME_BYTES_MAX
/** Int32: slot that was entered last + 1, pieces without a slot, turns of the main thread's event loop. */
const HEADER_BYTES = 16
const LAST = 0
const OMITTED = 1
const BEATS = 2

/** The register itself, for the thread that watches. */
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
/** What stands in each slot, without decoding it. */
const names = free.map((): Entered | null => null)
/** What began or went on last, over or not, and when; what went on for longest before something else did, since somebody asked. */
let entered: Entered | null = null
let enteredAt = 0
let longest: Entered | null = null
let longestMs = 0

function openSlot(register: SharedArrayBuffer, index: number) {
  const at = HEADER_BYTES + index * SLOT_BYTES
  return {
    began: new Float64Array(register, at, 1),
    /** Kind + 1 (0: nobody's), bytes of the name. */
    facts: new Uint16Array(register, at + 8, 2),
    name: new Uint8Array(register, at + 12, NAME_BYTES_MAX),
  }
}

/**
 * Runs something under a name until its promise has settled. Inside, {@link noteWork} knows whose work it is.
 * @param name of which the end is kept where it is too long: the end of a path says more than its beginning
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

/** Answers how many bytes were written. */
function writeName(target: Uint8Array, name: string): number {
  // No letter has more than three bytes.
  if (name.length * 3 <= NAME_BYTES_MAX) return encoder.encodeInto(name, target).written
  const end = encoder.encode(name.slice(-NAME_BYTES_MAX)).subarray(-NAME_BYTES_MAX)
  target.set(end)
  return end.length
}

/** Says that the main thread now goes on with the work that this code belongs to: before anything that may take long. */
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

/** What the main thread was at for longest, as far as it said so, since this was asked before: what a stall in that time is put down to. */
export function takeLongestWork(): { kind: WorkKind; name: string } | null {
  enter(entered)
  const found = longest
  longest = null
  longestMs = 0
  return found
}

/** Counts one turn of the main thread's event loop: a thread that makes none stands still. */
export function beat(): void {
  Atomics.add(header, BEATS, 1)
}

/** Turns counted so far. */
export function readBeats(register: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(register, 0, HEADER_BYTES / 4), BEATS)
}

/** Reads a register, perhaps from another thread. */
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
  // Decoders take no shared memory.
  return { kind, name: new TextDecoder().decode(name.slice(0, facts[1])), ms: Math.max(0, Math.round(now - began[0]!)) }
}
