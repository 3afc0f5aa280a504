import { read } from 'node:fs'
import { promisify } from 'node:util'
import { inflateRaw, inflateRawSync } from 'node:zlib'
import type { LibraryFile, Problem, ReadZipPage, ZipLocation } from '#core/book/analysis.ts'
import type { ReadZipEntry } from '#core/reading/publication.ts'
import { BookFault } from './fault.ts'
import { fileRefusal } from './file-refusal.ts'
import { ENTRY_BYTES_MAX } from './limits.ts'
import type { OpenFiles } from './open-files.ts'
import { checkContent, inflateFault, refuseCutOff, refuseTooLarge } from './zip.ts'

const inflateAside = promisify(inflateRaw)

/** Below this, unpacking takes less time than handing it to another thread. */
const INFLATE_HERE_BYTES = 32 * 1024

/** Serves pages of zips by one positional read each, from descriptors that are kept open. */
export function openZipPages(files: OpenFiles): ReadZipPage {
  return async (request) => {
    const { page, root, path } = request
    if (!page.zip) {
      const fault = new BookFault('page_extraction', `"${page.name}" cannot be read from its archive.`, { entry: page.name })
      return { problem: pageProblem(fault) }
    }
    const read = await readTwice(files, { root, path, name: page.name, bytes: page.bytes, zip: page.zip, asGzip: false })
    return 'bytes' in read ? { bytes: read.bytes, mediaType: page.mediaType } : read
  }
}

/** Serves other entries in the same way; nothing was looked at of them but the directory. */
export function openZipEntries(files: OpenFiles): ReadZipEntry {
  return async (request) => {
    try {
      refuseTooLarge({ name: request.name, bytes: request.bytes, compressedBytes: request.zip.compressedBytes }, ENTRY_BYTES_MAX)
    } catch (error) {
      return { problem: pageProblem(error) }
    }
    return await readTwice(files, request)
  }
}

interface Entry extends LibraryFile {
  name: string
  bytes: number
  zip: ZipLocation
  asGzip: boolean
}

async function readTwice(files: OpenFiles, entry: Entry): Promise<{ bytes: Uint8Array } | { problem: Problem }> {
  try {
    return { bytes: await readEntry(files, entry, false) }
  } catch {
    // The file may have been replaced under the open descriptor, or its share mounted anew (ESTALE); one look at the present one tells.
    try {
      return { bytes: await readEntry(files, entry, true) }
    } catch (again) {
      return { problem: pageProblem(again) }
    }
  }
}

async function readEntry(files: OpenFiles, entry: Entry, fresh: boolean): Promise<Uint8Array> {
  const { name, zip, bytes, asGzip } = entry
  return await files.withFile(
    entry,
    async ({ fd, checked }) => {
      const room = asGzip ? GZIP_HEADER.length : 0
      const buffer = await readBytes(fd, zip, room, asGzip ? GZIP_TRAILER_BYTES : 0)
      const data = buffer.subarray(room, room + zip.compressedBytes)
      refuseCutOff(name, data, zip)
      // A sum over 700 KB costs as much as reading them, and the file is the same as when it was found right.
      const isChecked = checked.get(zip.offset) === zip.crc32
      if (asGzip && isChecked) return wrapGzip(buffer, zip, bytes)
      const content = zip.method === 0 ? data : await inflate(entry, data)
      if (!isChecked) checkContent(name, content, zip, bytes)
      checked.set(zip.offset, zip.crc32)
      return asGzip ? wrapGzip(buffer, zip, bytes) : content
    },
    { fresh },
  )
}

/** RFC 1952: deflated, no name, no time, made on an unknown system. What follows is the very stream that a zip holds. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
const GZIP_TRAILER_BYTES = 8

function wrapGzip(buffer: Buffer, zip: ZipLocation, bytes: number): Buffer {
  GZIP_HEADER.copy(buffer)
  const end = GZIP_HEADER.length + zip.compressedBytes
  buffer.writeUInt32LE(zip.crc32, end)
  buffer.writeUInt32LE(bytes % 2 ** 32, end + 4)
  return buffer
}

async function inflate({ name, bytes }: Entry, data: Buffer): Promise<Uint8Array> {
  // One byte more than declared shows a lie without unpacking it; 0 would mean no limit.
  const options = { maxOutputLength: bytes + 1 }
  try {
    return data.length <= INFLATE_HERE_BYTES ? inflateRawSync(data, options) : await inflateAside(data, options)
  } catch (error) {
    throw inflateFault(name, bytes, error)
  }
}

/** The data behind `before` bytes that are free, and `after` more behind it; shorter when the file ends in it. */
function readBytes(fd: number, zip: ZipLocation, before: number, after: number): Promise<Buffer> {
  const { offset, compressedBytes: bytes } = zip
  const buffer = Buffer.allocUnsafeSlow(before + bytes + after)
  return new Promise((resolve, reject) => {
    const more = (filled: number) => {
      read(fd, buffer, before + filled, bytes - filled, offset + filled, (error, got) => {
        if (error) reject(error)
        else if (filled + got === bytes) resolve(buffer)
        else if (got === 0) resolve(buffer.subarray(0, before + filled))
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
