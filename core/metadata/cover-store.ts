import { createHash } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { coverPath } from '#core/metadata/cover.ts'

/** One name per book: what a killed server left half-written is replaced by the next writing. */
const halfPath = (path: string) => `${path}.tmp`

/** The last of the writings of a cover that are under way: two analyses of one book would spoil each other's half. */
const writing = new Map<string, Promise<void>>()

/** By which a cover is known: it is its ETag. */
export const coverHashOf = (jpeg: Uint8Array): string => createHash('sha256').update(jpeg).digest('hex')

/** Writes a book's cover so that nobody ever reads half of one; answers its hash. */
export async function writeCover(dataFolder: string, bookId: string, jpeg: Uint8Array): Promise<string> {
  const path = coverPath(dataFolder, bookId)
  const before = writing.get(path)
  const own = before ? before.then(replace, replace) : replace()
  writing.set(path, own)
  try {
    await own
  } finally {
    if (writing.get(path) === own) writing.delete(path)
  }
  return coverHashOf(jpeg)

  async function replace(): Promise<void> {
    const half = halfPath(path)
    try {
      await writeFile(half, jpeg).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
        await mkdir(dirname(path), { recursive: true, mode: 0o700 })
        await writeFile(half, jpeg)
      })
      await rename(half, path)
    } catch (error) {
      await rm(half, { force: true })
      throw error
    }
  }
}

/** Removes the covers of these books, where there are any, and half-written ones. */
export async function removeCovers(dataFolder: string, bookIds: readonly string[]): Promise<void> {
  for (const bookId of bookIds) {
    const path = coverPath(dataFolder, bookId)
    await rm(path, { force: true })
    // Not one that is being written at this moment, of a book that came back.
    if (!writing.has(path)) await rm(halfPath(path), { force: true })
  }
}
