import type { FileHandle } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { crc32 } from 'node:zlib'
import { BrokenTransfer } from '#api/http/broken-transfer.ts'
import { drained } from '#api/http/drained.ts'
import { openInside } from '#core/foundation/open-inside.ts'
import {
  centralDirectory,
  dataDescriptor,
  localHeader,
  type WrittenZipEntry,
  type ZipEntryPlan,
  zipLength,
} from '#core/foundation/zip-format.ts'
import type { ArchivedFile } from '#core/reading/archived-file.ts'

/** Larger chunks gain little more, and every slow client holds one in memory. */
const CHUNK_BYTES = 262_144

/**
 * Sends a zip of these files without a temporary file: one file at a time, one chunk in memory, no faster than the client reads. States
 * the length in advance. Resolves when everything is sent or the client has disconnected.
 * @throws BrokenTransfer if a file has changed or disappeared; the connection is closed then, since the client can learn it in no other way
 */
export async function sendArchive(response: ServerResponse, files: readonly ArchivedFile[]): Promise<void> {
  const plans = files.map(planOf)
  response.setHeader('Content-Type', 'application/zip')
  response.setHeader('Content-Length', zipLength(plans))
  // A range would have to be generated from the beginning.
  response.setHeader('Accept-Ranges', 'none')
  response.writeHead(200)
  if (response.req.method === 'HEAD') {
    response.end()
    return
  }
  const written: WrittenZipEntry[] = []
  let offset = 0
  const write = async (bytes: Buffer) => {
    offset += bytes.length
    if (!response.destroyed && !response.write(bytes)) await drained(response)
  }
  for (const [index, file] of files.entries()) {
    const plan = plans[index] as ZipEntryPlan
    const at = offset
    const opened = await openAsPromised(file)
    try {
      await write(localHeader(plan))
      const sum = await writeFile(opened, file, { write, isGone: () => response.destroyed })
      // The response already contains what another process wrote into the file meanwhile.
      if (!response.destroyed) await checkUnchanged(opened, file)
      await write(dataDescriptor({ bytes: file.bytes, crc32: sum }))
      written.push({ ...plan, crc32: sum, offset: at })
    } finally {
      await opened.close()
    }
    if (response.destroyed) return
  }
  await write(centralDirectory(written, offset))
  response.end()
}

function planOf({ name, bytes, mtimeNs }: ArchivedFile): ZipEntryPlan {
  return { name: Buffer.from(name), bytes, modifiedAt: new Date(Number(BigInt(mtimeNs) / 1_000_000n)) }
}

async function openAsPromised(file: ArchivedFile): Promise<FileHandle> {
  if (!(await file.isAllowed())) throw new BrokenTransfer(`"${file.path}" is no longer visible to the user who downloads it.`)
  const opened = await openInside(file.inside, file.path).catch((cause: unknown) => {
    throw new BrokenTransfer(`"${file.path}" can no longer be opened.`, { cause })
  })
  try {
    await checkUnchanged(opened, file)
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}

async function checkUnchanged(opened: FileHandle, { path, bytes, mtimeNs }: ArchivedFile): Promise<void> {
  const facts = await opened.stat({ bigint: true })
  if (facts.size !== BigInt(bytes)) throw new BrokenTransfer(`"${path}" has ${facts.size} bytes now, not ${bytes}.`)
  if (String(facts.mtimeNs) !== mtimeNs) throw new BrokenTransfer(`"${path}" has been written to since it was scanned.`)
}

/** Returns the checksum. */
async function writeFile(
  opened: FileHandle,
  file: ArchivedFile,
  { write, isGone }: { write: (bytes: Buffer) => Promise<void>; isGone: () => boolean },
): Promise<number> {
  let sum = 0
  for (let sent = 0; sent < file.bytes && !isGone(); ) {
    const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, file.bytes - sent))
    const { bytesRead } = await opened.read(chunk, 0, chunk.length, sent)
    if (bytesRead === 0) throw new BrokenTransfer(`"${file.path}" became shorter while it was read.`)
    const part = chunk.subarray(0, bytesRead)
    sum = crc32(part, sum)
    sent += bytesRead
    await write(part)
  }
  return sum
}
