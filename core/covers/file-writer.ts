import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ThreadHost } from '#core/foundation/thread-host.ts'

export interface FileToReplace {
  path: string
  bytes: Uint8Array
}

/** An error as threads can send it: of an error itself, only the message would arrive. */
export interface ReplaceError {
  message: string
  code: string | undefined
}

/** Four calls per file, each of which wakes another thread, cost more than the files; fewer files than this are not worth a thread of their own. */
const FILES_MIN = 4
/** A scan needs the thread every few milliseconds; it takes 5 MB and starts in 50 ms. */
const IDLE_MS = 30_000
/** More than the analyses that are written at the same time. */
const QUEUE_MAX = 64

const thread = new ThreadHost<readonly FileToReplace[], (ReplaceError | null)[]>({
  program: new URL('./file-thread.ts', import.meta.url),
  memoryMbMax: 32,
  youngMbMax: 4,
  idleMs: IDLE_MS,
  // The disk may take as long as it likes, as in this thread.
  jobMsMax: null,
  queueMax: QUEUE_MAX,
})

/** One name per file: the next write replaces an incomplete file that a killed server left. */
export const halfPath = (path: string) => `${path}.tmp`

/**
 * Replaces files, each under a temporary name first, so that nobody reads an incomplete one; creates their folders. Two calls for one file at the same time
 * use the same temporary file: the caller must not do that. Returns the error of each file, or null.
 */
export async function replaceFiles(files: readonly FileToReplace[]): Promise<(NodeJS.ErrnoException | null)[]> {
  if (files.length >= FILES_MIN) {
    const errors = await thread.run(files)
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
