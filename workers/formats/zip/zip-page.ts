import type { PageImage, ReadZipPage } from '#core/fields/analysis.ts'
import type { BufferPool } from '#core/foundation/buffer-pool.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { BookProblem } from '../../book-problem.ts'
import type { OpenFiles } from '../open-files.ts'
import { type CheckedEntries, checkKey, inflate, type LocatedEntry, pageProblem, readInto } from '../zip-read.ts'
import { checkContent, refuseCutOff } from './zip.ts'

/** Serves pages of zips with one positional read each, through descriptors that stay open. */
export function zipPageReader(files: OpenFiles, checked: CheckedEntries, buffers: BufferPool): ReadZipPage {
  return async ({ page, root, path, linkTargets }, { isLent = false } = {}) => {
    if (!page.zip) {
      const problem = new BookProblem('page_extraction', `"${page.name}" cannot be read from its archive.`, { entry: page.name })
      return { problem: pageProblem(problem) }
    }
    const entry = { name: page.name, bytes: page.bytes, zip: page.zip }
    const read = (fresh: boolean) =>
      files.withFile(
        { root, path, linkTargets },
        (file) =>
          askDisk(
            root,
            () => (isLent ? readLent(file, entry, checked, buffers) : readOwn(file, entry, checked)),
            ({ release }) => release?.(),
          ),
        { fresh },
      )
    try {
      // Somebody may have replaced the file under the open descriptor, or remounted its share (ESTALE); reopen it once.
      return { ...(await read(false).catch(() => read(true))), mediaType: page.mediaType }
    } catch (error) {
      return { problem: pageProblem(error) }
    }
  }
}

type PageBytes = Pick<PageImage, 'bytes' | 'release'>
interface PageFile {
  fd: number
  identity: string
}

async function readOwn(file: PageFile, entry: LocatedEntry, checked: CheckedEntries): Promise<PageBytes> {
  return { bytes: await readEntry(file, entry, checked, Buffer.allocUnsafeSlow(entry.zip.compressedBytes)) }
}

async function readLent(file: PageFile, entry: LocatedEntry, checked: CheckedEntries, buffers: BufferPool): Promise<PageBytes> {
  const { bytes: memory, release } = buffers.take(entry.zip.compressedBytes)
  try {
    const content = await readEntry(file, entry, checked, memory)
    if (content.buffer === memory.buffer) return { bytes: content, release }
    // It was inflated into memory of its own.
    release()
    return { bytes: content }
  } catch (error) {
    release()
    throw error
  }
}

/** @param memory for the packed bytes; a stored page remains in it */
async function readEntry(file: PageFile, entry: LocatedEntry, checked: CheckedEntries, memory: Buffer): Promise<Uint8Array> {
  const { name, zip, bytes } = entry
  const got = await readInto(memory, file.fd, { offset: zip.offset, bytes: zip.compressedBytes })
  const data = got === memory.length ? memory : memory.subarray(0, got)
  refuseCutOff(name, data, zip)
  const { content, taken } = zip.method === 0 ? { content: data, taken: got } : await inflate(entry, data)
  // A checksum over 700 KB costs as much as reading them, and this version of the file passed before.
  const key = checkKey(file.identity, entry)
  if (checked.get(key)) return content
  checkContent(name, content, zip, bytes)
  checked.set(key, { endsExactly: taken === got })
  return content
}
