import { pipeline, Readable } from 'node:stream'
import { crc32, createInflateRaw } from 'node:zlib'
import { SingleFlight } from '#core/database/single-flight.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { type EntryRequest, GZIP_EXTRA_BYTES, type OpenedEntry, type OpenZipEntry } from '#core/reading/publication.ts'
import { BookProblem } from '../book-problem.ts'
import { ENTRY_BYTES_MAX } from '../limits.ts'
import { hasIdentity, type OpenFile, type OpenFiles } from './open-files.ts'
import { checkContent, checkSum, inflateProblem, refuseCutOff, refuseTooLarge, sizeProblem } from './zip/zip.ts'
import { type CheckedEntries, type CheckedEntry, checkKey, inflate, pageProblem, readBytes } from './zip-read.ts'

export const ENTRY_LIMITS = {
  /** Chapters, styles, fonts and nearly all pictures. Longer entries are streamed from disk. */
  keptBytesMax: 512 * 1024,
  /** Some 300 chapters with their pictures: as many as a few dozen users open within minutes. */
  keptInAllBytesMax: 32 * 1024 * 1024,
}

/** Larger chunks gain little and take memory for every slow client. */
const CHUNK_BYTES = 262_144

/** RFC 1952: deflated, no name, no time, unknown operating system. The stream that follows is the one in the zip. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
const GZIP_TRAILER_BYTES = GZIP_EXTRA_BYTES - GZIP_HEADER.length

/** Opens entries of zips through descriptors that stay open. Until then only the directory has been checked. */
export function zipEntryOpener(files: OpenFiles, checked: CheckedEntries, limits: typeof ENTRY_LIMITS = ENTRY_LIMITS): OpenZipEntry {
  const kept = new BoundedCache<Uint8Array>({ bytesMax: limits.keptInAllBytesMax })
  const checks = new SingleFlight()

  async function open(request: EntryRequest, fresh: boolean): Promise<OpenedEntry> {
    const { zip, bytes, asGzip } = request
    const isShort = Math.max(bytes, zip.compressedBytes) <= limits.keptBytesMax
    return await files.withFile(
      request,
      async (file) => {
        const key = checkKey(file.identity, request)
        const known = checked.get(key)
        const mayGzip = asGzip && zip.method === 8 && known?.endsExactly !== false
        if (!isShort) {
          const { endsExactly } = known ?? (await checkOnce(request, file, key))
          return longEntry(files, { ...request, asGzip: mayGzip && endsExactly }, file.identity)
        }
        const name = mayGzip ? `${key} gzip` : key
        const cached = kept.get(name)
        if (cached) return wholeEntry(cached, mayGzip)
        const read = await readShort(file, { ...request, asGzip: mayGzip }, known)
        checked.set(key, read.check)
        kept.set(read.entry.isGzip ? name : key, read.whole)
        return read.entry
      },
      { fresh },
    )
  }

  /** Concurrent requests share one check. */
  function checkOnce(request: EntryRequest, file: OpenFile, key: string): Promise<CheckedEntry> {
    return checks.join(key, undefined, async () => {
      const found = await checkLong(files, request, file.identity)
      checked.set(key, found)
      return found
    })
  }

  return async (request) => {
    try {
      refuseTooLarge({ name: request.name, bytes: request.bytes, compressedBytes: request.zip.compressedBytes }, ENTRY_BYTES_MAX)
      // Somebody may have replaced the file under the open descriptor, or remounted its share (ESTALE); reopen it once.
      return { entry: await open(request, false).catch(() => open(request, true)) }
    } catch (error) {
      return { problem: pageProblem(error) }
    }
  }
}

function wholeEntry(whole: Uint8Array, isGzip: boolean): OpenedEntry {
  return {
    isGzip,
    bytes: whole.length,
    whole,
    async *read({ start, end }) {
      yield whole.subarray(start, end)
    },
  }
}

/** One read. Always checks the CRC: the entry is cached afterwards, so this is rare. */
async function readShort(
  file: OpenFile,
  request: EntryRequest,
  known: CheckedEntry | undefined,
): Promise<{ entry: OpenedEntry; whole: Uint8Array; check: CheckedEntry }> {
  const { name, zip, bytes, asGzip } = request
  const room = asGzip ? { before: GZIP_HEADER.length, after: GZIP_TRAILER_BYTES } : { before: 0, after: 0 }
  const buffer = await askDisk(request.root, () => readBytes(file.fd, { offset: zip.offset, bytes: zip.compressedBytes }, room))
  const data = buffer.subarray(room.before, room.before + zip.compressedBytes)
  refuseCutOff(name, data, zip)
  if (asGzip && known) return { entry: wholeEntry(wrapGzip(buffer, request), true), whole: buffer, check: known }
  const { content, taken } = zip.method === 0 ? { content: data, taken: data.length } : await inflate(request, data)
  checkContent(name, content, zip, bytes)
  const check = { endsExactly: taken === data.length }
  const isGzip = asGzip && check.endsExactly
  const whole = isGzip ? wrapGzip(buffer, request) : content
  return { entry: wholeEntry(whole, isGzip), whole, check }
}

function wrapGzip(buffer: Buffer, { zip, bytes }: EntryRequest): Buffer {
  GZIP_HEADER.copy(buffer)
  gzipTrailer(zip.crc32, bytes).copy(buffer, GZIP_HEADER.length + zip.compressedBytes)
  return buffer
}

function gzipTrailer(sum: number, bytes: number): Buffer {
  const trailer = Buffer.alloc(GZIP_TRAILER_BYTES)
  trailer.writeUInt32LE(sum, 0)
  trailer.writeUInt32LE(bytes % 2 ** 32, 4)
  return trailer
}

function longEntry(files: OpenFiles, request: EntryRequest, identity: string): OpenedEntry {
  const { zip, bytes, asGzip } = request
  if (!asGzip) return { isGzip: false, bytes, whole: null, read: (part) => readPlain(files, request, identity, part) }
  return {
    isGzip: true,
    bytes: zip.compressedBytes + GZIP_EXTRA_BYTES,
    whole: null,
    async *read() {
      yield GZIP_HEADER
      yield* readPacked(files, request, identity)
      yield gzipTrailer(zip.crc32, bytes)
    },
  }
}

/** Unpacks the entry once without keeping it, so that no client gets data that differs from what the archive declares. */
async function checkLong(files: OpenFiles, request: EntryRequest, identity: string): Promise<CheckedEntry> {
  const { name, zip, bytes } = request
  let sum = 0
  let length = 0
  const unpacked = { taken: zip.compressedBytes }
  for await (const chunk of zip.method === 0 ? readPacked(files, request, identity) : readInflated(files, request, identity, unpacked)) {
    sum = crc32(chunk, sum)
    length += chunk.length
    if (length > bytes) break
  }
  if (length !== bytes) throw sizeProblem(name, bytes)
  checkSum(name, sum, zip)
  return { endsExactly: unpacked.taken === zip.compressedBytes }
}

async function* readPlain(
  files: OpenFiles,
  request: EntryRequest,
  identity: string,
  part: { start: number; end: number },
): AsyncGenerator<Uint8Array> {
  if (request.zip.method === 0) return yield* readPacked(files, request, identity, part)
  let at = 0
  for await (const chunk of readInflated(files, request, identity)) {
    const wanted = chunk.subarray(Math.max(0, part.start - at), Math.max(0, part.end - at))
    at += chunk.length
    if (wanted.length > 0) yield wanted
    if (at >= part.end) return
  }
  throw sizeProblem(request.name, request.bytes)
}

/** The packed bytes, by positional reads. Each read borrows a descriptor: a slow client holds none. */
async function* readPacked(
  files: OpenFiles,
  request: EntryRequest,
  identity: string,
  { start, end } = { start: 0, end: request.zip.compressedBytes },
): AsyncGenerator<Buffer> {
  const { name, zip } = request
  for (let at = start; at < end; at += CHUNK_BYTES) {
    const bytes = Math.min(CHUNK_BYTES, end - at)
    yield await files.withFile(request, async (file) => {
      const chunk = await askDisk(request.root, () => readBytes(file.fd, { offset: zip.offset + at, bytes }))
      if (chunk.length < bytes)
        throw new BookProblem('page_extraction', `"${name}" is cut off: the file ends before it does.`, { entry: name })
      // Checked after the read, so the bytes belong to this version. Always checked before the last part, which completes the entry.
      const isSame = file.identity === identity && (at + bytes < end || (await askDisk(request.root, () => hasIdentity(file))))
      if (!isSame) throw new BookProblem('page_extraction', `The file of "${name}" changed while Carrel read it.`, { entry: name })
      return chunk
    })
  }
}

/** @param unpacked receives the number of packed bytes used, at the end */
async function* readInflated(files: OpenFiles, request: EntryRequest, identity: string, unpacked = { taken: 0 }): AsyncGenerator<Buffer> {
  const inflater = createInflateRaw({ chunkSize: CHUNK_BYTES })
  // Errors of the source surface at the end that is read.
  pipeline(Readable.from(readPacked(files, request, identity)), inflater, () => undefined)
  try {
    for await (const chunk of inflater) yield chunk as Buffer
  } catch (error) {
    const isOfSource = error instanceof BookProblem || (error instanceof Error && 'syscall' in error)
    throw isOfSource ? error : inflateProblem(request.name, request.bytes, error)
  }
  unpacked.taken = inflater.bytesWritten
}
