import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { FolderPart, WalkOptions } from '#core/library/walk.ts'

/** Books of one batch; the comparison in the database is one statement per batch. */
export const BATCH_FILES = 2_000
/** Batches that may wait to be read: a walk is faster than the database, and must not fill the memory with its lead. */
export const BATCHES_AHEAD = 3
/** Places in the shared array. */
export const READ = 0
export const STOP = 1

export interface WalkBatch {
  changed: FolderPart[]
  /** Folders that are as they were at the last scan. */
  unchanged: string[]
  unchangedFiles: number
  unreadable: { path: string; message: string }[]
  /** Links that might have been books or folders of books. */
  symlinks: number
  done: boolean
}

export interface WalkOrder {
  options: WalkOptions
  shared: Int32Array<SharedArrayBuffer>
}

/**
 * Walks in a thread, because a slow or hanging disk must not stop the server, and hands the batches over one by one; asking for the next
 * says that the last has been dealt with.
 * @throws the signal's reason when aborted, and what stopped the walk
 */
export async function* streamWalk(options: WalkOptions, signal: AbortSignal): AsyncGenerator<WalkBatch> {
  signal.throwIfAborted()
  const shared = new Int32Array(new SharedArrayBuffer(8))
  const order: WalkOrder = { options, shared }
  // Its own memory limit: lists of one folder at a time, and a few batches.
  const thread = new Worker(new URL('./walk-thread.ts', import.meta.url), { workerData: order, resourceLimits: { maxOldGenerationSizeMb: 256 } })
  const batches: WalkBatch[] = []
  let failure: { error: unknown } | null = null
  let wake = () => {}
  const fail = (error: unknown) => {
    failure ??= { error }
    wake()
  }
  const onAbort = () => fail(signal.reason)
  thread.on('message', (batch: WalkBatch) => {
    batches.push(batch)
    wake()
  })
  thread.on('error', fail)
  thread.on('exit', (code) => {
    if (code !== 0) fail(new Error(`The walk ended with code ${code}`))
  })
  signal.addEventListener('abort', onAbort, { once: true })
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
      yield batch
      if (batch.done) return
      Atomics.add(shared, READ, 1)
      Atomics.notify(shared, READ)
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    Atomics.store(shared, STOP, 1)
    Atomics.notify(shared, READ)
    const exited = thread.threadId === -1 ? null : once(thread, 'exit').catch(() => {})
    await thread.terminate()
    await exited
  }
}
