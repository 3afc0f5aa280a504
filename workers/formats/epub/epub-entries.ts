import { Readable } from 'node:stream'
import unzipper, { type ListedFile } from 'unzipper'
import { DIRECTORY_BYTES_MAX } from '../../limits.ts'
import { lastOfEqualNames } from '../equal-names.ts'
import type { ArchiveFile } from '../zip/zip.ts'
import { readAt, readZipRecords, type ZipEntry } from '../zip/zip-directory.ts'

const CHUNK_BYTES = 64 * 1024
const END_RECORD_BYTES = 22
const LOCATOR_BYTES = 20

/**
 * The entries of an EPUB, listed by unzipper. Our own reader of ZIP directories, which also analyzed the file, refuses what exceeds the limits and
 * decodes the names. It lists files that unzipper cannot list, such as those with data before or behind the archive.
 */
export async function listEpubEntries(file: ArchiveFile): Promise<ZipEntry[]> {
  const own = readZipRecords(file.fd, file.bytes)
  return lastOfEqualNames((await listByUnzipper(file, own)) ?? own)
}

/** Null where unzipper lists nothing, or other records than our own reader: it looks for no shifted directory and reads no more records than declared. */
export async function listByUnzipper(file: ArchiveFile, own: readonly ZipEntry[]): Promise<ZipEntry[] | null> {
  const streams: Readable[] = []
  const stream = (offset: number): Readable => {
    // An archive in 64 bits may declare any number of records, and unzipper prepares for all of them before it reads the first.
    if (offset === file.bytes - END_RECORD_BYTES - LOCATOR_BYTES) throw new Error('This archive may have a directory in 64 bits.')
    const opened = streamFrom(file, offset)
    streams.push(opened)
    return opened
  }
  try {
    // The end record alone: in more, unzipper would take the first that looks like one.
    const directory = await unzipper.Open.custom({ size: async () => file.bytes, stream }, { tailSize: END_RECORD_BYTES })
    const listed = await directory.files
    if (listed.length !== own.length) return null
    const entries = own.map((entry, index) => asListed(entry, listed[index] as ListedFile))
    return entries.includes(null) ? null : (entries as ZipEntry[])
  } catch {
    return null
  } finally {
    // unzipper reads no further than it needs and leaves the streams open.
    for (const opened of streams) opened.destroy()
  }
}

function asListed(entry: ZipEntry, listed: ListedFile): ZipEntry | null {
  const { compressedSize, uncompressedSize, offsetToLocalFileHeader } = listed
  const isSame =
    offsetToLocalFileHeader === entry.headerOffset && compressedSize === entry.compressedBytes && uncompressedSize === entry.bytes
  if (!isSame) return null
  return { ...entry, method: listed.compressionMethod, encrypted: (listed.flags & 0x41) !== 0, crc32: listed.crc32 >>> 0 }
}

/** The file from this offset on, at most as much as a directory may have. */
function streamFrom({ fd, bytes }: ArchiveFile, offset: number): Readable {
  const end = Math.min(bytes, offset + DIRECTORY_BYTES_MAX)
  let at = offset
  return new Readable({
    read() {
      const chunk = readAt(fd, at, Math.max(0, Math.min(CHUNK_BYTES, end - at)))
      at += chunk.length
      this.push(chunk.length === 0 ? null : chunk)
    },
  })
}
