import { createHash } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { coverPath } from '#core/metadata/cover.ts'

/** One name per book: the next write replaces an incomplete file that a killed server left. */
const halfPath = (path: string) => `${path}.tmp`

/** The last running write of each cover: two analyses of one book write the same temporary file, so they must run one after the other. */
const writing = new Map<string, Promise<void>>()

/** The identity of a cover, used as its ETag. */
export const coverHashOf = (jpeg: Uint8Array): string => createHash('sha256').update(jpeg).digest('hex')

/** Writes a book's cover under a temporary name first, so that no request reads an incomplete file; returns its hash. */
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

/** Removes the covers of these books, if they have any, and incomplete files. */
export async function removeCovers(dataFolder: string, bookIds: readonly string[]): Promise<void> {
  for (const bookId of bookIds) {
    const path = coverPath(dataFolder, bookId)
    await rm(path, { force: true })
    // Except a file that is being written now, for a book that was restored.
    if (!writing.has(path)) await rm(halfPath(path), { force: true })
  }
}
