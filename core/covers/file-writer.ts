import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'

export interface FileToReplace {
  path: string
  bytes: Uint8Array
}

export interface ReplaceOrder {
  id: number
  files: readonly FileToReplace[]
}

/** An error as threads can send it: of an error itself, only the message would arrive. */
export interface ReplaceError {
  message: string
  code: string | undefined
}

export interface ReplaceReply {
  id: number
  /** In the order of the files; null for a file that was replaced. */
  errors: (ReplaceError | null)[]
}

/** Four calls per file, each of which wakes another thread, cost more than the files; fewer files than this are not worth a thread of their own. */
const FILES_MIN = 4
/** A scan needs the thread every few milliseconds; it takes 5 MB and starts in 50 ms. */
const IDLE_MS = 30_000

/** One name per file: the next write replaces an incomplete file that a killed server left. */
export const halfPath = (path: string) => `${path}.tmp`

/**
 * Replaces files, each under a temporary name first, so that nobody reads an incomplete one; creates their folders. Two calls for one file at the same time
 * use the same temporary file: the caller must not do that. Returns the error of each file, or null.
 */
export async function replaceFiles(files: readonly FileToReplace[]): Promise<(NodeJS.ErrnoException | null)[]> {
  if (files.length >= FILES_MIN) {
    const errors = await replaceInThread(files)
    return errors.map((error) => error && Object.assign(new Error(error.message), { code: error.code }))
  }
  return await Promise.all(
    files.map((file) =>
      replaceFile(file).then(
        () => null,
        (error: NodeJS.ErrnoException) => error,
      ),
    ),
  )
}

/** Replaces one file as {@link replaceFiles} does. @throws the error of the file system */
export async function replaceFile({ path, bytes }: FileToReplace): Promise<void> {
  const half = halfPath(path)
  try {
    await writeFile(half, bytes).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(dirname(half), { recursive: true, mode: 0o700 })
      await writeFile(half, bytes)
    })
    await rename(half, path)
  } catch (error) {
    await rm(half, { force: true })
    throw error
  }
}

interface FileThread {
  worker: Worker
  waiting: Map<number, { resolve(errors: ReplaceReply['errors']): void; reject(error: Error): void }>
  idle: NodeJS.Timeout | undefined
}

let open: FileThread | null = null
let orders = 0

function replaceInThread(files: readonly FileToReplace[]): Promise<ReplaceReply['errors']> {
  open ??= startThread()
  const { worker, waiting, idle } = open
  clearTimeout(idle)
  worker.ref()
  const id = ++orders
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject })
    worker.postMessage({ id, files } satisfies ReplaceOrder)
  })
}

function startThread(): FileThread {
  const worker = new Worker(new URL('./file-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
  })
  const thread: FileThread = { worker, waiting: new Map(), idle: undefined }
  worker.on('message', ({ id, errors }: ReplaceReply) => {
    thread.waiting.get(id)?.resolve(errors)
    thread.waiting.delete(id)
    if (thread.waiting.size > 0) return
    worker.unref()
    thread.idle = setTimeout(() => {
      // A thread that is ending takes no more orders.
      forget()
      void worker.terminate()
    }, IDLE_MS).unref()
  })
  const forget = () => {
    if (open === thread) open = null
  }
  const fail = (error: Error) => {
    forget()
    clearTimeout(thread.idle)
    for (const { reject } of thread.waiting.values()) reject(error)
    thread.waiting.clear()
  }
  worker.on('error', fail)
  worker.on('exit', (code) => fail(new Error(`The thread that writes files ended with code ${code}`)))
  return thread
}
