import { Worker } from 'node:worker_threads'
import type { FolderPart, WalkOptions } from '#core/library/walk.ts'

/** Books of one batch; the comparison in the database is one statement per batch. */
export const BATCH_FILES = 1_000
/** Batches that may wait to be read: a walk is faster than the database, and must not fill the memory with its lead. */
export const BATCHES_AHEAD = 2
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
  done: boolean
}

export interface WalkOrder {
  options: WalkOptions
  shared: Int32Array<SharedArrayBuffer>
}

/** A thread costs 40 to 90 ms to start, as much as walking 20,000 files: the last one waits this long for another walk. */
const IDLE_MS = 60_000
let idle: { thread: Worker; timer: NodeJS.Timeout } | null = null

function takeThread(): Worker {
  if (idle !== null) {
    const { thread, timer } = idle
    clearTimeout(timer)
    idle = null
    return thread
  }
  // Lists of one folder at a time and a few batches need no more; with less room for young objects the walk is a tenth slower.
  return new Worker(new URL('./walk-thread.ts', import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 24 } })
}

function keepThread(thread: Worker): void {
  if (idle !== null) {
    void thread.terminate()
    return
  }
  thread.removeAllListeners()
  // Whatever befalls an idle thread, the next walk starts another.
  thread.on('error', () => {})
  thread.on('exit', () => {
    if (idle?.thread !== thread) return
    clearTimeout(idle.timer)
    idle = null
  })
  thread.unref()
  idle = { thread, timer: setTimeout(() => void thread.terminate(), IDLE_MS).unref() }
}

/**
 * Walks in a thread, because a slow or hanging disk must not stop the server, and hands the batches over one by one; asking for the next
 * says that the last has been dealt with.
 * @throws the signal's reason when aborted, and what stopped the walk
 */
export async function* streamWalk(options: WalkOptions, signal: AbortSignal): AsyncGenerator<WalkBatch> {
  signal.throwIfAborted()
  const shared = new Int32Array(new SharedArrayBuffer(8))
  const thread = takeThread()
  const batches: WalkBatch[] = []
  let failure: { error: unknown } | null = null
  let wake = () => {}
  const fail = (error: unknown) => {
    failure ??= { error }
    wake()
  }
  const onAbort = () => fail(signal.reason)
  thread.removeAllListeners()
  thread.ref()
  thread.on('message', (batch: WalkBatch) => {
    batches.push(batch)
    wake()
  })
  thread.on('error', fail)
  thread.on('exit', (code) => fail(new Error(`The thread of the walk ended with code ${code}`)))
  signal.addEventListener('abort', onAbort, { once: true })
  const order: WalkOrder = { options, shared }
  thread.postMessage(order)
  let finished = false
  try {
    for (;;) {
      if (failure !== null) throw (failure as { error: unknown }).error
      const batch = batches.shift()
      if (batch === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      finished = batch.done
      yield batch
      if (finished) return
      Atomics.add(shared, READ, 1)
      Atomics.notify(shared, READ)
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    Atomics.store(shared, STOP, 1)
    Atomics.notify(shared, READ)
    // A walk that was left may hang in a system call for long: its thread is not waited for.
    if (finished) keepThread(thread)
    else void thread.terminate()
  }
}
