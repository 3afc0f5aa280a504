import { constants, crc32, inflateRawSync } from 'node:zlib'
import type { ZipLocation } from '#core/fields/analysis.ts'
import { BookProblem } from '../../book-problem.ts'
import { RATIO_FREE_BYTES, RATIO_MAX, TOTAL_BYTES_MAX } from '../../limits.ts'
import { dataOffsetOf, readAt, readZipDirectory, type ZipEntry } from './zip-directory.ts'

export type { ZipEntry } from './zip-directory.ts'

export interface ArchiveFile {
  path: string
  fd: number
  bytes: number
}

/**
 * A zip opened for synchronous reading inside a thread: a page head is one positional read of a few microseconds, and a
 * promise for each would cost more than the read. Every method throws {@link BookProblem} (`page_extraction`) when the entry
 * is encrypted, uses an unknown compression method, is larger than allowed or declared, is cut off, or fails its CRC.
 */
export class ZipArchive {
  readonly #file: ArchiveFile
  /** In directory order; folders end with `/`; of equal names only the last. */
  readonly entries: readonly ZipEntry[]
  #byName: Map<string, ZipEntry> | null = null

  /** Reads its directory. Throws {@link BookProblem} (`parser`); the caller closes `fd`. @param entries if already listed */
  constructor(file: ArchiveFile, entries: readonly ZipEntry[] = readZipDirectory(file.fd, file.bytes)) {
    refuseBomb(entries, file.bytes)
    this.#file = file
    this.entries = entries
  }

  get path(): string {
    return this.#file.path
  }

  get fileBytes(): number {
    return this.#file.bytes
  }

  /** By exact name. */
  find(name: string): ZipEntry | undefined {
    this.#byName ??= new Map(this.entries.map((entry) => [entry.name, entry]))
    return this.#byName.get(name)
  }

  /** About the first `bytes` bytes (may be more or, in a short entry, fewer), unchecked. */
  head(entry: ZipEntry, bytes: number): Uint8Array {
    return readHead(this.#file, entry, bytes)
  }

  /** The whole entry, CRC and size checked; refused when it declares more than `bytesMax`. */
  read(entry: ZipEntry, bytesMax: number): Uint8Array {
    return readWhole(this.#file, entry, bytesMax)
  }

  /** The offset of the data, for a later positional read. */
  locate(entry: ZipEntry): ZipLocation {
    return locate(this.#file, entry)
  }
}

/** Archives whose entries share the same bytes, or that declare more than any real one contains, are attacks. */
function refuseBomb(entries: readonly ZipEntry[], fileBytes: number): void {
  let total = 0
  for (const entry of entries) total += entry.bytes
  if (total > TOTAL_BYTES_MAX) {
    throw new BookProblem('parser', 'This archive claims to contain more data than any real book does.', {
      bytes: total,
      bytesMax: TOTAL_BYTES_MAX,
    })
  }
  const placed = entries.toSorted((a, b) => a.headerOffset - b.headerOffset)
  for (const [index, entry] of placed.entries()) {
    const next = placed[index + 1]?.headerOffset ?? Number.POSITIVE_INFINITY
    // An end past the file is a cut-off page, reported when it is read.
    const end = Math.min(entry.headerOffset + 30 + entry.compressedBytes, fileBytes)
    if (end > next) {
      throw new BookProblem('parser', 'Entries of this archive overlap each other: it is damaged, or made to overload the server.', {
        entry: entry.name,
        other: placed[index + 1]?.name,
      })
    }
  }
}

function readHead(file: ArchiveFile, entry: ZipEntry, bytes: number): Uint8Array {
  refuseUnreadable(entry)
  const wanted = Math.min(entry.compressedBytes, entry.method === 0 ? bytes : compressedHeadBytes(entry, bytes))
  const data = readData(file, entry, wanted)
  return entry.method === 0 ? data : inflateHead(entry, data, bytes)
}

/** Enough compressed bytes for a head: by the entry's ratio, with room for the code tables at the beginning. */
function compressedHeadBytes(entry: ZipEntry, bytes: number): number {
  const ratio = entry.compressedBytes > 0 ? entry.bytes / entry.compressedBytes : 1
  return 512 + Math.ceil(bytes / Math.max(1, ratio))
}

function inflateHead(entry: ZipEntry, data: Buffer, bytes: number): Uint8Array {
  const outputMax = Math.max(64 * 1024, bytes * 8)
  // inflateRawSync returns nothing beyond its limit, so for a head that expands too much the input is cut shorter.
  for (let taken = data.length; taken > 0; taken = Math.floor(taken / 8)) {
    try {
      // Z_SYNC_FLUSH: the input stops in the middle of the stream, and that is fine.
      return inflateRawSync(data.subarray(0, taken), { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: outputMax })
    } catch (error) {
      if (!isTooLarge(error)) throw inflateProblem(entry.name, entry.bytes, error)
    }
  }
  return new Uint8Array(0)
}

function readWhole(file: ArchiveFile, entry: ZipEntry, bytesMax: number): Uint8Array {
  refuseUnreadable(entry)
  refuseTooLarge(entry, bytesMax)
  const data = readData(file, entry, entry.compressedBytes)
  const location = locationOf(entry)
  refuseCutOff(entry.name, data, location)
  const content = entry.method === 0 ? data : inflate(entry.name, data, entry.bytes)
  checkContent(entry.name, content, location, entry.bytes)
  return content
}

export function refuseCutOff(name: string, data: Buffer, location: ZipLocation): void {
  if (data.length === location.compressedBytes) return
  throw new BookProblem('page_extraction', `"${name}" is cut off: the file ends before it does.`, { entry: name })
}

/** Checks size and CRC against the directory. */
export function checkContent(name: string, content: Uint8Array, location: ZipLocation, bytes: number): void {
  if (content.length !== bytes) throw sizeProblem(name, bytes)
  checkSum(name, crc32(content), location)
}

export function checkSum(name: string, sum: number, location: ZipLocation): void {
  if (sum === location.crc32) return
  throw new BookProblem('page_extraction', `"${name}" is damaged: its checksum does not match.`, {
    entry: name,
    crc32: location.crc32,
    found: sum,
  })
}

function inflate(name: string, data: Buffer, bytes: number): Uint8Array {
  try {
    // One byte more than declared reveals a wrong size without inflating it all; 0 would mean no limit.
    return inflateRawSync(data, { maxOutputLength: bytes + 1 })
  } catch (error) {
    throw inflateProblem(name, bytes, error)
  }
}

export function inflateProblem(name: string, bytes: number, error: unknown): BookProblem {
  if (isTooLarge(error)) return sizeProblem(name, bytes)
  return new BookProblem('page_extraction', `"${name}" is damaged: it cannot be unpacked.`, {
    entry: name,
    reason: (error as Error).message,
  })
}

export function sizeProblem(name: string, bytes: number): BookProblem {
  return new BookProblem('page_extraction', `"${name}" does not have the size that the archive declares.`, {
    entry: name,
    declaredBytes: bytes,
  })
}

/** Throws when the entry is larger than allowed or its compression ratio is higher than that of real data. */
export function refuseTooLarge(entry: { name: string; bytes: number; compressedBytes: number }, bytesMax: number): void {
  const ratio = entry.bytes / Math.max(1, entry.compressedBytes)
  const bomb = entry.bytes > RATIO_FREE_BYTES && ratio > RATIO_MAX
  if (entry.bytes > bytesMax || entry.compressedBytes > bytesMax + RATIO_FREE_BYTES || bomb) {
    throw new BookProblem('page_extraction', `"${entry.name}" would unpack to more than is allowed.`, {
      entry: entry.name,
      bytes: entry.bytes,
      compressedBytes: entry.compressedBytes,
      bytesMax,
      ratioMax: RATIO_MAX,
    })
  }
}

const METHOD_NAMES: Record<number, string> = {
  1: 'shrink',
  6: 'implode',
  9: 'deflate64',
  12: 'bzip2',
  14: 'lzma',
  93: 'zstd',
  95: 'xz',
  96: 'jpeg',
  97: 'wavpack',
  98: 'ppmd',
  99: 'aes',
}

function refuseUnreadable(entry: ZipEntry): void {
  if (entry.encrypted || entry.method === 99) {
    throw new BookProblem('page_extraction', 'This archive is protected by a password. Pack it again without one.', {
      entry: entry.name,
      encrypted: true,
    })
  }
  if (entry.method !== 0 && entry.method !== 8) {
    const method = METHOD_NAMES[entry.method] ?? String(entry.method)
    throw new BookProblem(
      'page_extraction',
      `This archive is packed by a method that is not supported (${method}). Pack it again as an ordinary ZIP.`,
      {
        entry: entry.name,
        method,
      },
    )
  }
}

function locate(file: ArchiveFile, entry: ZipEntry): ZipLocation {
  refuseUnreadable(entry)
  if (entry.dataOffset < 0) readData(file, entry, 0)
  return locationOf(entry)
}

function locationOf(entry: ZipEntry): ZipLocation {
  return { offset: entry.dataOffset, compressedBytes: entry.compressedBytes, method: entry.method === 0 ? 0 : 8, crc32: entry.crc32 }
}

/** Compressed data from its start, up to `bytes`; one read gets both the local header and the data when possible. */
function readData(file: ArchiveFile, entry: ZipEntry, bytes: number): Buffer {
  if (entry.dataOffset < 0) {
    // Names and extra fields of local headers are nearly always shorter than this, so one read gets the data too.
    const block = readAt(file.fd, entry.headerOffset, 30 + 512 + Math.min(bytes, 64 * 1024))
    entry.dataOffset = dataOffsetOf(entry, block)
    const skip = entry.dataOffset - entry.headerOffset
    if (skip + bytes <= block.length) return block.subarray(skip, skip + bytes)
  }
  // A declared size can be anything; never allocate more than the file has.
  return readAt(file.fd, entry.dataOffset, Math.min(bytes, Math.max(0, file.bytes - entry.dataOffset)))
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
}
