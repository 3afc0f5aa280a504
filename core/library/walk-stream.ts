import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { FolderPart, WalkOptions } from '#core/library/walk.ts'

/** Books of one batch; the comparison in the database is one statement per batch. */
export const BATCH_FILES = 1_000
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
const idle: { thread: Worker; timer: NodeJS.Timeout }[] = []

function takeThread(): Worker {
  const waiting = idle.pop()
  if (waiting) {
    clearTimeout(waiting.timer)
    waiting.thread.removeAllListeners()
    waiting.thread.ref()
    return waiting.thread
  }
  // Lists of one folder at a time and a few batches need no more; with less room for young objects the walk is a tenth slower.
  return new Worker(new URL('./walk-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 24 },
  })
}

function keepThread(thread: Worker): void {
  thread.removeAllListeners()
  if (idle.length >= THREADS) {
    void thread.terminate()
    return
  }
  const entry = { thread, timer: setTimeout(() => void thread.terminate(), IDLE_MS).unref() }
  // Whatever befalls an idle thread, the next walk starts another.
  thread.on('error', () => {})
  thread.on('exit', () => {
    clearTimeout(entry.timer)
    const at = idle.indexOf(entry)
    if (at !== -1) idle.splice(at, 1)
  })
  thread.unref()
  idle.push(entry)
}

/** One thread at work on its share. */
interface Walker {
  thread: Worker
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
    const walker: Walker = { thread: takeThread(), shared: new Int32Array(new SharedArrayBuffer(8)), finished: false }
    walker.thread.on('message', (batch: WalkBatch) => {
      batches.push({ walker, batch })
      wake()
    })
    walker.thread.on('error', fail)
    walker.thread.on('exit', (code) => fail(new Error(`A thread of the walk ended with code ${code}`)))
    const order: WalkOrder = { options: { ...options, share: { index, of: THREADS } }, shared: walker.shared }
    walker.thread.postMessage(order)
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
    for (const { thread, shared, finished } of walkers) {
      Atomics.store(shared, STOP, 1)
      Atomics.notify(shared, READ)
      // A walk that was left may hang in a system call for long: its thread is not waited for.
      if (finished) keepThread(thread)
      else void thread.terminate()
    }
  }
}
