import { Readable } from 'node:stream'
import unzipper, { type ListedFile } from 'unzipper'
import { directoryEnd } from '#core/foundation/zip-format.ts'
import { lastOfEqualNames } from '../equal-names.ts'
import type { OpenFile } from '../zip/zip.ts'
import { readZipRecords, type ZipEntry } from '../zip/zip-directory.ts'

const CHUNK_BYTES = 64 * 1024

/**
 * The entries of an EPUB, listed by unzipper. Our own directory reader, which also analyzed the file, decides which records exist, their names and
 * their offsets: unzipper gets exactly the records that it found, followed by a matching end record. So archives with data before or behind them
 * work too, and unzipper never reads another directory than ours.
 */
export async function listEpubEntries(file: OpenFile): Promise<ZipEntry[]> {
  const { entries, records } = readZipRecords(file.fd, file.bytes)
  const listed = await listByUnzipper(records, entries.length)
  return lastOfEqualNames(entries.map((entry, index) => asListed(entry, listed[index])))
}

/** A record that unzipper reads differently, such as one with truncated 64-bit fields, stays as our own reader read it. */
function asListed(entry: ZipEntry, listed: ListedFile | undefined): ZipEntry {
  const { compressedSize, uncompressedSize } = listed ?? {}
  if (!listed || compressedSize !== entry.compressedBytes || uncompressedSize !== entry.bytes) return entry
  return {
    ...entry,
    ...{ method: listed.compressionMethod, encrypted: (listed.flags & 0x41) !== 0, crc32: listed.crc32 >>> 0 },
    ...{ compressedBytes: compressedSize, bytes: uncompressedSize },
  }
}

async function listByUnzipper(records: Buffer, count: number): Promise<ListedFile[]> {
  const end = directoryEnd({ count, bytes: records.length, offset: 0 })
  const archive = Buffer.concat([records, end])
  const streams: Readable[] = []
  try {
    const directory = await unzipper.Open.custom(
      {
        size: async () => archive.length,
        stream: (offset) => {
          const stream = streamFrom(archive, offset)
          streams.push(stream)
          return stream
        },
      },
      { tailSize: end.length },
    )
    return await directory.files
  } finally {
    // unzipper reads no further than it needs and leaves the streams open.
    for (const stream of streams) stream.destroy()
  }
}

function streamFrom(bytes: Buffer, offset: number): Readable {
  let at = offset
  return new Readable({
    read() {
      const chunk = bytes.subarray(at, at + CHUNK_BYTES)
      at += chunk.length
      this.push(chunk.length === 0 ? null : chunk)
    },
  })
}
