import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { FolderPart, WalkOptions } from '#core/ingest/walk.ts'

/** Books of one batch; the comparison in the database is one statement per batch. */
export const BATCH_FILES = 500
/** Batches of a thread that may wait to be read: a walk is faster than the database, and must not fill the memory with its lead. */
export const BATCHES_AHEAD = 1
/** Places in the shared array. */
export const READ = 0
export const STOP = 1

export interface WalkBatch {
  changed: FolderPart[]
  /** Folders that are as they were at the last scan. */
  unchanged: string[]
  unchangedFiles: number
  /** Those of them that lie in the root. */
  unchangedRootFiles: number
  unreadable: { path: string; message: string }[]
  /** Links that might have been books or folders of books. */
  symlinks: number
  /** The last of its thread. */
  done: boolean
}

export interface WalkOrder {
  options: WalkOptions
  shared: Int32Array<SharedArrayBuffer>
}

/**
 * Walks share a library by its top folders: two cores take 0.6 of the time of one, and a network drive answers several at once. More than four
 * would only make a disk seek.
 */
const THREADS = Math.min(4, availableParallelism())
/** A thread costs 40 to 90 ms to start, as much as walking 20,000 files: the last ones wait this long for another walk. */
const IDLE_MS = 60_000
const idle: { thread: Worker; forget: () => void }[] = []

function takeThread(): Worker {
  const waiting = idle.pop()
  if (waiting) {
    waiting.forget()
    waiting.thread.ref()
    return waiting.thread
  }
  // Lists of one folder at a time and a few batches need no more; a small nursery costs a tenth of speed and saves 30 MB a thread.
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
  // Whatever befalls an idle thread, the next walk starts another.
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
    // One by one: removeAllListeners() takes away what the worker itself needs to hear its thread.
    thread.off('error', onError)
    thread.off('exit', onExit)
  }
  idle.push({ thread, forget })
}

let left = 0

/** Threads of walks that were left and have not ended yet: for a moment, or as long as a disk does not answer the call that they wait for. */
export const countHangingThreads = (): number => left

/** A thread in a call of the system ends with that call, whatever is asked of it. */
function leaveThread(thread: Worker): void {
  thread.on('error', () => {})
  left++
  thread.once('exit', () => left--)
  void thread.terminate()
}

/** One thread at work on its share. */
interface Walker {
  thread: Worker
  release: () => void
  shared: Int32Array<SharedArrayBuffer>
  finished: boolean
}

/**
 * Walks in threads, because a slow or hanging disk must not stop the server, and hands the batches over one by one; asking for the next
 * says that the last has been dealt with.
 * @throws the signal's reason when aborted, and what stopped the walk
 */
export async function* streamWalk(options: WalkOptions, signal: AbortSignal): AsyncGenerator<WalkBatch> {
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
      // A walk that was left may hang in a system call for long: its thread is not waited for.
      if (finished) keepThread(thread)
      else leaveThread(thread)
    }
  }
}
