import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { coverPath } from '#core/covers/cover.ts'
import { halfPath, replaceFiles } from '#core/covers/file-writer.ts'
import { Register } from '#core/foundation/register.ts'

/** The last running write of each cover: two analyses of one book write the same temporary file, so they must run one after the other. */
const writing = new Register<Promise<void>>()

/** The identity of a cover, used as its ETag. */
export const coverHashOf = (jpeg: Uint8Array): string => createHash('sha256').update(jpeg).digest('hex')

/** The cover of a book. */
interface CoverToWrite {
  bookId: string
  jpeg: Uint8Array
}

/** Writes a book's cover; returns its hash. */
export async function writeCover(dataFolder: string, bookId: string, jpeg: Uint8Array): Promise<string> {
  const [written] = await writeCovers(dataFolder, [{ bookId, jpeg }])
  if (typeof written !== 'string') throw written
  return written
}

/** Writes the covers of different books; no request reads an incomplete file. Returns the hash of each, or why it could not be written. */
export async function writeCovers(dataFolder: string, covers: readonly CoverToWrite[]): Promise<(string | Error)[]> {
  if (covers.length === 0) return []
  const files = covers.map(({ bookId, jpeg }) => ({ path: coverPath(dataFolder, bookId), bytes: jpeg }))
  const before = files.flatMap(({ path }) => writing.get(path) ?? [])
  const replaced = before.length === 0 ? replaceFiles(files) : Promise.allSettled(before).then(() => replaceFiles(files))
  const done = replaced.then(
    () => {},
    () => {},
  )
  for (const { path } of files) writing.set(path, done)
  try {
    const errors = await replaced
    return covers.map(({ jpeg }, index) => errors[index] ?? coverHashOf(jpeg))
  } finally {
    for (const { path } of files) if (writing.get(path) === done) writing.delete(path)
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
