import { Readable } from 'node:stream'
import unzipper, { type ListedFile } from 'unzipper'
import { DIRECTORY_BYTES_MAX, ENTRIES_MAX } from './limits.ts'
import type { OpenFile } from './zip.ts'
import { readAt, readZipDirectory, type ZipEntry } from './zip-directory.ts'
import { decodeNames } from './zip-names.ts'

/** The end record and the longest comment that may follow it. Anything before it is an archive that our own reader knows better. */
const TAIL_SIZE = 65_557
const CHUNK_BYTES = 64 * 1024

/**
 * The entries of an EPUB, listed by unzipper. What it does not know is listed by our own reader: data before the archive or behind it, and names whose
 * characters are told in extra fields, of which it hands out none. The file is one that was analyzed and has not changed since, so its directory is known
 * to be whole.
 */
export async function listEpubEntries(file: OpenFile): Promise<ZipEntry[]> {
  const listed = await listByUnzipper(file).catch(() => null)
  const isCertain = listed !== null && listed.length <= ENTRIES_MAX && listed.every((entry) => entry.isUnicode || isAscii(entry.pathBuffer))
  if (!isCertain) return readZipDirectory(file.fd, file.bytes)
  const names = decodeNames(listed.map(({ pathBuffer }) => ({ bytes: pathBuffer, flaggedUtf8: true, extra: NO_EXTRA })))
  return listed.map((entry, index) => ({
    name: names[index] as string,
    method: entry.compressionMethod,
    encrypted: (entry.flags & 0x41) !== 0,
    crc32: entry.crc32 >>> 0,
    compressedBytes: entry.compressedSize,
    bytes: entry.uncompressedSize,
    headerOffset: entry.offsetToLocalFileHeader,
    dataOffset: -1,
  }))
}

const NO_EXTRA = Buffer.alloc(0)
const isAscii = (bytes: Buffer) => bytes.every((byte) => byte > 0 && byte < 0x80)

async function listByUnzipper(file: OpenFile): Promise<ListedFile[]> {
  const streams: Readable[] = []
  try {
    const directory = await unzipper.Open.custom(
      {
        size: async () => file.bytes,
        stream: (offset) => {
          const stream = streamFrom(file, offset)
          streams.push(stream)
          return stream
        },
      },
      { tailSize: TAIL_SIZE },
    )
    return await directory.files
  } finally {
    // It reads no further than it needs and leaves them open.
    for (const stream of streams) stream.destroy()
  }
}

/** Reads at once when asked, so that nothing is on its way when the file is closed; and no more than a directory may have. */
function streamFrom({ fd, bytes }: OpenFile, offset: number): Readable {
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
