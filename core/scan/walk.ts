import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { FolderPart, WalkOptions } from '#core/scan/walk-folders.ts'

/** Files per batch; the comparison in the database is one statement per batch. */
export const BATCH_FILES = 500
/** Batches per thread that may wait to be read: a walk is faster than the database, and must not fill the memory. */
export const BATCHES_AHEAD = 1
/** Indexes of the shared array. */
export const READ = 0
export const STOP = 1

export interface WalkBatch {
  changed: FolderPart[]
  /** Folders that have not changed since the last scan. */
  unchanged: string[]
  unchangedFiles: number
  /** How many of them are in the root. */
  unchangedRootFiles: number
  unreadable: { path: string; message: string }[]
  /** Links that might have been books or folders of books. */
  symlinks: number
  /** The last batch of its thread. */
  done: boolean
}

export interface WalkOrder {
  options: WalkOptions
  shared: Int32Array<SharedArrayBuffer>
}

/**
 * Walks share a library by its top folders: two cores take 0.6 of the time of one, and a network drive serves several requests at once. More than
 * four would only make a disk seek.
 */
const THREADS = Math.min(4, availableParallelism())
/** A thread takes 40 to 90 ms to start, as long as walking 20,000 files: idle ones wait this long for another walk. */
const IDLE_MS = 60_000
const idle: { thread: Worker; forget: () => void }[] = []

function takeThread(): Worker {
  const waiting = idle.pop()
  if (waiting) {
    waiting.forget()
    waiting.thread.ref()
    return waiting.thread
  }
  // One folder listing at a time and a few batches need no more; a small young generation costs a tenth of speed and saves 30 MB per thread.
  return new Worker(new URL('./walk-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 },
  })
}

function keepThread(thread: Worker): void {
  if (idle.length >= THREADS) {
    void thread.terminate()
    return
  }
  const timer = setTimeout(() => void thread.terminate(), IDLE_MS).unref()
  // If an idle thread fails, the next walk starts another one.
  const onError = () => {}
  const onExit = () => {
    clearTimeout(timer)
    const at = idle.findIndex((entry) => entry.thread === thread)
    if (at !== -1) idle.splice(at, 1)
  }
  thread.on('error', onError)
  thread.on('exit', onExit)
  thread.unref()
  const forget = () => {
    clearTimeout(timer)
    // One by one: removeAllListeners() would also remove the worker's own listeners.
    thread.off('error', onError)
    thread.off('exit', onExit)
  }
  idle.push({ thread, forget })
}

let left = 0

/** Abandoned threads that have not ended yet: for a moment, or for as long as a disk does not complete the call that they wait for. */
export const countHangingThreads = (): number => left

/** A thread in a system call ends only when that call ends. */
function leaveThread(thread: Worker): void {
  thread.on('error', () => {})
  left++
  thread.once('exit', () => left--)
  void thread.terminate()
}

/** One thread with its share of the library. */
interface Walker {
  thread: Worker
  release: () => void
  shared: Int32Array<SharedArrayBuffer>
  finished: boolean
}

/**
 * Walks in threads, because a slow or hanging disk must not block the server, and yields the batches one by one; requesting the next one
 * confirms that the last one was processed.
 * @throws the signal's reason when aborted, and any error of the walk
 */
export async function* walk(options: WalkOptions, signal: AbortSignal): AsyncGenerator<WalkBatch> {
  signal.throwIfAborted()
  const batches: { walker: Walker; batch: WalkBatch }[] = []
  let failure: { error: unknown } | null = null
  let wake = () => {}
  const fail = (error: unknown) => {
    failure ??= { error }
    wake()
  }
  const onAbort = () => fail(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const walkers = Array.from({ length: THREADS }, (_, index) => {
    const thread = takeThread()
    const onMessage = (batch: WalkBatch) => {
      batches.push({ walker, batch })
      wake()
    }
    const onExit = (code: number) => fail(new Error(`A thread of the walk ended with code ${code}`))
    thread.on('message', onMessage)
    thread.on('error', fail)
    thread.on('exit', onExit)
    const release = () => {
      thread.off('message', onMessage)
      thread.off('error', fail)
      thread.off('exit', onExit)
    }
    const walker: Walker = { thread, release, shared: new Int32Array(new SharedArrayBuffer(8)), finished: false }
    const order: WalkOrder = { options: { ...options, share: { index, of: THREADS } }, shared: walker.shared }
    thread.postMessage(order)
    return walker
  })
  try {
    while (batches.length > 0 || walkers.some((walker) => !walker.finished)) {
      if (failure !== null) throw (failure as { error: unknown }).error
      const next = batches.shift()
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      const { walker, batch } = next
      walker.finished ||= batch.done
      yield batch
      Atomics.add(walker.shared, READ, 1)
      Atomics.notify(walker.shared, READ)
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    for (const { thread, release, shared, finished } of walkers) {
      release()
      Atomics.store(shared, STOP, 1)
      Atomics.notify(shared, READ)
      // An abandoned walk may hang in a system call for a long time: its thread is not awaited.
      if (finished) keepThread(thread)
      else leaveThread(thread)
    }
  }
}
