import { availableParallelism } from 'node:os'
import { silenceOf } from '#core/foundation/disk-calls.ts'
import { ThreadHost, ThreadLost } from '#core/foundation/thread-host.ts'
import type { WalkItems, WalkOptions } from '#core/scan/walk-folders.ts'
import { FinalFailure } from '#core/tasks/task.ts'

/** Files per batch; the comparison in the database is one statement per batch. */
export const BATCH_FILES = 500
/** Batches per thread that may wait to be read: a walk is faster than the database, and must not fill the memory. */
export const BATCHES_AHEAD = 1

/** What a walk has reported since the last batch. Of unchanged folders, which are most of a library, only their names and counts. */
export type WalkBatch = { [Kind in Exclude<keyof WalkItems, 'unchanged'>]: WalkItems[Kind][] } & {
  unchanged: string[]
  unchangedFiles: number
  /** How many of them are in the root. */
  unchangedRootFiles: number
}

export interface WalkOrder {
  options: WalkOptions
  /** How many of its batches were read. */
  read: Int32Array<SharedArrayBuffer>
  /** How many times it has looked at the disk. */
  calls: Int32Array<SharedArrayBuffer>
}

/**
 * Walks share a library by its top folders: two cores take 0.6 of the time of one, and a network drive serves several requests at once. More than
 * four would only make a disk seek.
 */
const THREADS = Math.min(4, availableParallelism())
/** For the names alone; each thread takes 20 MB. */
const EXPLAINING_THREADS = 1
/** A thread takes 40 to 90 ms to start, as long as walking 20,000 files: idle ones wait this long for another walk. */
const IDLE_MS = 60_000
const idle: WalkThread[] = []
type WalkThread = ThreadHost<WalkOrder, null, WalkBatch>

const THREAD_OPTIONS = {
  program: new URL('./walk-thread.ts', import.meta.url),
  // One folder listing at a time and a few batches need no more; a small young generation costs a tenth of speed and saves 30 MB per thread.
  memoryMbMax: 128,
  youngMbMax: 8,
  idleMs: IDLE_MS,
  // A large library may take hours; see SILENT_CHECKS_MAX.
  jobMsMax: null,
  queueMax: 1,
}

let left = 0

/** Abandoned threads that have not ended yet: for a moment, or for as long as a disk does not complete the call that they wait for. */
export const countHangingThreads = (): number => left

/**
 * A disk that takes longer than 30 s for one look does not answer: disks that sleep take up to 15 s to start, and a network drive lists a folder of 100,000 files
 * in less. Checks are counted, because the machine may sleep.
 */
const SILENT_CHECKS_MAX = 6
const CHECK_MS = 5_000
/** Threads that wait for a disk which does not answer, with the library. Its next walks would only add more. */
const silent = new Map<WalkThread, string>()

/** One thread with its share of the library. */
interface Walker extends Pick<WalkOrder, 'read' | 'calls'> {
  thread: WalkThread
  isFinished: boolean
  batches: number
  /** Its calls at the last check, and the checks since they have changed. */
  callsBefore: number
  checks: number
}

const newWalker = (): Walker => ({
  thread: idle.pop() ?? new ThreadHost(THREAD_OPTIONS),
  read: new Int32Array(new SharedArrayBuffer(4)),
  calls: new Int32Array(new SharedArrayBuffer(4)),
  isFinished: false,
  batches: 0,
  callsBefore: -1,
  checks: 0,
})

/** Whether it has looked at nothing for too long, and does not wait until its batches are read. */
function isSilent(walker: Walker): boolean {
  const calls = Atomics.load(walker.calls, 0)
  const isBusy = walker.isFinished || calls !== walker.callsBefore || walker.batches > Atomics.load(walker.read, 0)
  walker.callsBefore = calls
  walker.checks = isBusy ? 0 : walker.checks + 1
  return walker.checks >= SILENT_CHECKS_MAX
}

const refuseSilent = (root: string) => new FinalFailure(`${silenceOf(root).message} No book was marked as deleted.`)

/** An abandoned walk may hang in a system call for a long time: its thread is not awaited. */
function giveBack({ thread, isFinished, checks }: Walker, root: string): void {
  if (isFinished && idle.length < THREADS) return void idle.push(thread)
  left++
  if (checks > 0) silent.set(thread, root)
  void thread.close().finally(() => {
    left--
    silent.delete(thread)
  })
}

/**
 * Walks in threads, because a slow or hanging disk must not block the server, and yields the batches one by one; requesting the next one
 * confirms that the last one was processed.
 * @throws the signal's reason when aborted, FinalFailure when the disk does not answer, and any error of the walk
 */
export async function* walk(options: WalkOptions, signal: AbortSignal): AsyncGenerator<WalkBatch> {
  signal.throwIfAborted()
  const { root } = options
  if (!options.explains && [...silent.values()].includes(root)) throw refuseSilent(root)
  const batches: { walker: Walker; batch: WalkBatch }[] = []
  let failure: { error: unknown } | null = null
  let wake = () => {}
  const fail = (error: unknown) => {
    failure ??= { error }
    wake()
  }
  const onAbort = () => fail(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  // One thread alone knows what was found through another link.
  const of = options.links ? 1 : options.explains ? EXPLAINING_THREADS : THREADS
  const walkers = Array.from({ length: of }, (_, index) => {
    const walker = newWalker()
    const onPart = (batch: WalkBatch) => {
      walker.batches++
      batches.push({ walker, batch })
      wake()
    }
    const finish = () => {
      walker.isFinished = true
      wake()
    }
    walker.thread
      .run({ options: { ...options, share: { index, of } }, read: walker.read, calls: walker.calls }, { onPart })
      .then(finish, (error: unknown) => fail(error instanceof ThreadLost ? (error.cause ?? error) : error))
    return walker
  })
  const check = setInterval(() => {
    if (walkers.map(isSilent).includes(true)) fail(refuseSilent(root))
  }, CHECK_MS)
  try {
    while (batches.length > 0 || walkers.some(({ isFinished }) => !isFinished)) {
      if (failure !== null) throw (failure as { error: unknown }).error
      const next = batches.shift()
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      yield next.batch
      Atomics.add(next.walker.read, 0, 1)
      Atomics.notify(next.walker.read, 0)
    }
  } finally {
    clearInterval(check)
    signal.removeEventListener('abort', onAbort)
    for (const walker of walkers) giveBack(walker, root)
  }
}
