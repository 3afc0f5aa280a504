import { once } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { ZipFile } from 'yazl'
import { BrokenTransfer } from '#api/http/broken-transfer.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { closeInside, openInside } from '#core/foundation/open-inside.ts'
import type { ArchivedFile } from '#core/reading/archived-file.ts'

/** yazl's own sum, in JavaScript, reads a tenth as many bytes a second as that of Node, and would keep this thread busy. */
const yazlFile = createRequire(import.meta.url).resolve('yazl')
const sums: { unsigned: typeof crc32 } = createRequire(yazlFile)('buffer-crc32')
sums.unsigned = crc32

/** yazl has five streams in a row, which hold up to ten chunks for a slow client; smaller chunks take more of this thread. */
const CHUNK_BYTES = 131_072
const FILE_MODE = 0o100644
/** Of a record in the directory, with its extra fields but without its name. */
const RECORD_BYTES = 83
/** yazl counts end records in 64 bits for directories from this size on, but writes them only for larger ones, unless an option says so. */
const DIRECTORY_BYTES_MAX = 0xffff

/**
 * Sends a zip of these files without a temporary file: one file at a time, some chunks in memory, no faster than the client reads. Entries are stored,
 * not deflated, because books are compressed already, so the length is stated in advance. Resolves when everything is sent or the client has
 * disconnected; no file is open then.
 * @throws BrokenTransfer if a file has changed or disappeared; the connection is closed then, since the client can learn it in no other way
 */
export async function sendArchive(response: ServerResponse, files: readonly ArchivedFile[]): Promise<void> {
  const zip = new ZipFile()
  let reading: Readable | undefined
  let problem: Error | undefined
  const fail = (error: Error) => {
    problem ??= error
    zip.outputStream.destroy(error)
  }
  zip.on('error', fail)
  for (const file of files) {
    const mtime = new Date(Number(BigInt(file.mtimeNs) / 1_000_000n))
    zip.addReadStreamLazy(file.name, { size: file.bytes, mtime, mode: FILE_MODE, compress: false }, (give) => {
      reading = Readable.from(contentOf(file), { objectMode: false, highWaterMark: 1 })
      reading.once('error', fail)
      give(null, reading)
    })
  }
  const directoryBytes = files.reduce((sum, { name }) => sum + RECORD_BYTES + Buffer.byteLength(name), 0)
  zip.end({ forceZip64Format: directoryBytes >= DIRECTORY_BYTES_MAX }, (bytes) => response.setHeader('Content-Length', bytes))
  response.setHeader('Content-Type', 'application/zip')
  // A range would have to be generated from the beginning.
  response.setHeader('Accept-Ranges', 'none')
  response.writeHead(200)
  try {
    if (response.req.method === 'HEAD') response.end()
    else await pipeline(zip.outputStream, response)
  } catch {
    // Otherwise the client has disconnected.
    if (problem) throw problem
  } finally {
    if (reading && !reading.closed) await once(reading.destroy(), 'close')
  }
}

async function* contentOf(file: ArchivedFile): AsyncGenerator<Buffer> {
  const opened = await openAsPromised(file)
  try {
    for (let sent = 0; sent < file.bytes; ) {
      const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, file.bytes - sent))
      const at = sent
      const { bytesRead } = await askDisk(file.inside, () => opened.read(chunk, 0, chunk.length, at))
      if (bytesRead === 0) throw new BrokenTransfer(`"${file.path}" became shorter while it was read.`)
      sent += bytesRead
      yield chunk.subarray(0, bytesRead)
    }
    // The response already contains what another process wrote into the file meanwhile.
    await checkUnchanged(opened, file)
  } finally {
    await closeInside(file.inside, opened)
  }
}

async function openAsPromised(file: ArchivedFile): Promise<FileHandle> {
  if (!(await file.isAllowed())) throw new BrokenTransfer(`"${file.path}" is no longer visible to the user who downloads it.`)
  const opened = await openInside({ ...file, root: file.inside }).catch((cause: unknown) => {
    throw new BrokenTransfer(`"${file.path}" can no longer be opened.`, { cause })
  })
  try {
    await checkUnchanged(opened, file)
    return opened
  } catch (error) {
    await closeInside(file.inside, opened)
    throw error
  }
}

async function checkUnchanged(opened: FileHandle, { inside, path, bytes, mtimeNs }: ArchivedFile): Promise<void> {
  const facts = await askDisk(inside, () => opened.stat({ bigint: true }))
  if (facts.size !== BigInt(bytes)) throw new BrokenTransfer(`"${path}" has ${facts.size} bytes now, not ${bytes}.`)
  if (String(facts.mtimeNs) !== mtimeNs) throw new BrokenTransfer(`"${path}" has been written to since it was scanned.`)
}
