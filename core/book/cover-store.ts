import { createHash, randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { coverPath } from '#core/book/book-file.ts'

/** Writes a book's cover so that nobody ever reads half of one; answers its hash, which is its ETag. */
export async function writeCover(dataFolder: string, bookId: string, jpeg: Uint8Array): Promise<string> {
  const path = coverPath(dataFolder, bookId)
  const half = `${path}.${randomUUID()}.tmp`
  try {
    await writeFile(half, jpeg).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(dirname(path), { recursive: true })
      await writeFile(half, jpeg)
    })
    await rename(half, path)
  } catch (error) {
    await rm(half, { force: true })
    throw error
  }
  return createHash('sha256').update(jpeg).digest('hex')
}

/** Removes the covers of these books, where there are any. */
export async function removeCovers(dataFolder: string, bookIds: readonly string[]): Promise<void> {
  for (const bookId of bookIds) await rm(coverPath(dataFolder, bookId), { force: true })
}
