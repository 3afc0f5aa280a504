import { read } from 'node:fs'
import { promisify } from 'node:util'
import { inflateRaw, inflateRawSync } from 'node:zlib'
import type { Page, PageOutcome, PageRequest, Problem, ReadZipPage } from '#core/book/analysis.ts'
import { BookFault } from './fault.ts'
import { fileRefusal } from './file-refusal.ts'
import type { OpenFiles } from './open-files.ts'
import { checkContent, inflateFault, refuseCutOff } from './zip.ts'

const inflateAside = promisify(inflateRaw)

/** Below this, unpacking takes less time than handing it to another thread. */
const INFLATE_HERE_BYTES = 32 * 1024

/** Serves pages of zips by one positional read each, from descriptors that are kept open. */
export function openZipPages(files: OpenFiles): ReadZipPage {
  return async (request) => {
    try {
      return await readPage(files, request, false)
    } catch {
      // The file may have been replaced under the open descriptor, or its share mounted anew (ESTALE); one look at the present one tells.
      try {
        return await readPage(files, request, true)
      } catch (again) {
        return { problem: pageProblem(again) }
      }
    }
  }
}

async function readPage(files: OpenFiles, request: PageRequest, fresh: boolean): Promise<PageOutcome> {
  const { page } = request
  const { zip } = page
  if (!zip) throw new BookFault('page_extraction', `"${page.name}" cannot be read from its archive.`, { entry: page.name })
  return await files.withFile(
    request,
    async ({ fd, checked }) => {
      const data = await readBytes(fd, zip.offset, zip.compressedBytes)
      refuseCutOff(page.name, data, zip)
      const bytes = zip.method === 0 ? data : await inflate(page, data)
      // A sum over 700 KB costs as much as reading them, and the file is the same as when it was found right.
      if (checked.get(zip.offset) !== zip.crc32) checkContent(page.name, bytes, zip, page.bytes)
      checked.set(zip.offset, zip.crc32)
      return { bytes, mediaType: page.mediaType }
    },
    { fresh },
  )
}

async function inflate(page: Page, data: Buffer): Promise<Uint8Array> {
  // One byte more than declared shows a lie without unpacking it; 0 would mean no limit.
  const options = { maxOutputLength: page.bytes + 1 }
  try {
    return data.length <= INFLATE_HERE_BYTES ? inflateRawSync(data, options) : await inflateAside(data, options)
  } catch (error) {
    throw inflateFault(page.name, page.bytes, error)
  }
}

function readBytes(fd: number, offset: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(bytes)
  return new Promise((resolve, reject) => {
    const more = (filled: number) => {
      read(fd, buffer, filled, bytes - filled, offset + filled, (error, got) => {
        if (error) reject(error)
        else if (got === 0 || filled + got === bytes) resolve(buffer.subarray(0, filled + got))
        else more(filled + got)
      })
    }
    more(0)
  })
}

/** What the file system refused keeps its `code` and `syscall` in the details: whoever remembers problems tells it by them from damage. */
function pageProblem(error: unknown): Problem {
  if (error instanceof BookFault) return { ...error.problem, fatal: false }
  return { ...fileRefusal(error), type: 'page_extraction', fatal: false }
}
