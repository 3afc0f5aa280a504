import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib'
import { shown } from '#plugins/packages/plain-json.ts'

/**
 * ZIP as plugins are packed in it: a strict reader for what strangers send, and a writer that makes the same bytes of the same files. A package is
 * small and read whole from memory, so everything that is not plain is refused instead of understood: ZIP64, encryption, other methods, links,
 * anything before, between or behind the entries, and a local header that says something else than the directory.
 */

export interface ZipFile {
  name: string
  data: Buffer
}

/** Why a package is refused. */
export class ZipError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ZipError'
  }
}

export const PACKAGE_BYTES_MAX = 10 * 1024 * 1024
const ENTRIES_MAX = 64
/** Of all entries, counted while they are inflated. */
const INFLATED_BYTES_MAX = 20 * 1024 * 1024
/** Plain names in plain folders; what a package may hold is said by who reads it. */
const NAME = /^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,62}[A-Za-z0-9_-])?(\/[A-Za-z0-9_]([A-Za-z0-9_.-]{0,62}[A-Za-z0-9_-])?){0,2}$/

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50
const END = 0x06054b50
const STORED = 0
const DEFLATED = 8
/** The names are UTF-8: the only flag that may stand. */
const UTF8_FLAG = 0x0800
/** The version of ZIP that knows deflated files; later ones are what is refused here. */
const VERSION_MAX = 20
/** The least that Node inflates into. */
const CHUNK_BYTES_MIN = 64
/** What DOS calls a folder, a volume and a device. */
const FOLDER = 0x10 | 0x08 | 0x40
/** 1980-01-01 00:00, the first time that ZIP knows. */
const EPOCH_DATE = 0x0021

/**
 * All files of a package.
 * @param bytesMaxOf how large a file of that name may be, asked before it is unpacked; null where it has no place
 * @throws ZipError
 */
export function readZip(bytes: Buffer, bytesMaxOf: (name: string) => number | null): ZipFile[] {
  if (bytes.length > PACKAGE_BYTES_MAX) throw new ZipError(`The package has ${bytes.length} bytes; ${PACKAGE_BYTES_MAX} are allowed.`)
  const endAt = bytes.length - 22
  if (endAt < 0 || bytes.readUInt32LE(endAt) !== END) throw new ZipError('This is no ZIP file, or something stands behind its end.')
  const count = bytes.readUInt16LE(endAt + 10)
  const directoryBytes = bytes.readUInt32LE(endAt + 12)
  const directoryAt = bytes.readUInt32LE(endAt + 16)
  if (bytes.readUInt16LE(endAt + 20) !== 0) throw new ZipError('The package carries a comment, or is not whole.')
  if (bytes.readUInt16LE(endAt + 4) !== 0 || bytes.readUInt16LE(endAt + 6) !== 0 || bytes.readUInt16LE(endAt + 8) !== count)
    throw new ZipError('The package is split into parts.')
  if (count === 0 || count > ENTRIES_MAX) throw new ZipError(`The package has ${count} entries; 1 to ${ENTRIES_MAX} are allowed.`)
  if (directoryAt + directoryBytes !== endAt) throw new ZipError('The directory of the package is not where it says.')

  const files: ZipFile[] = []
  const seen = new Set<string>()
  let at = directoryAt
  let dataAt = 0
  let inflated = 0
  for (let index = 0; index < count; index++) {
    const entry = readCentral(bytes, at, endAt)
    at = entry.next
    // Names are ASCII, so letters are the only way to write one in two ways.
    const key = entry.name.toLowerCase()
    if (seen.has(key)) throw new ZipError(`The package holds "${entry.name}" twice.`)
    seen.add(key)
    // Entries lie one behind the other, so none overlaps another and nothing is hidden between.
    if (entry.localAt !== dataAt) throw new ZipError(`"${entry.name}" does not lie behind the file before it.`)
    const start = readLocal(bytes, entry, directoryAt)
    dataAt = start + entry.packed
    if (dataAt > directoryAt) throw new ZipError(`"${entry.name}" reaches beyond the files.`)
    const bytesMax = bytesMaxOf(entry.name)
    if (bytesMax === null) throw new ZipError(`"${entry.name}" has no place in a package.`)
    if (entry.size > bytesMax) throw new ZipError(`"${entry.name}" has ${entry.size} bytes; ${bytesMax} are allowed.`)
    inflated += entry.size
    if (inflated > INFLATED_BYTES_MAX) throw new ZipError(`The package unpacks to more than ${INFLATED_BYTES_MAX} bytes.`)
    files.push({ name: entry.name, data: unpack(entry, bytes.subarray(start, dataAt)) })
  }
  if (at !== endAt || dataAt !== directoryAt) throw new ZipError('Something stands in the package that belongs to no file.')
  return files
}

/** How many bytes its files have as its directory says, beyond which none is unpacked; infinite for what is no package, and may hold anything. */
export function unpackedBytes(bytes: Buffer): number {
  try {
    const endAt = bytes.length - 22
    let at = bytes.readUInt32LE(endAt + 16)
    let sum = 0
    for (let left = Math.min(bytes.readUInt16LE(endAt + 10), ENTRIES_MAX); left > 0; left--) {
      const entry = readCentral(bytes, at, endAt)
      sum += entry.size
      at = entry.next
    }
    return sum
  } catch (error) {
    if (error instanceof ZipError || error instanceof RangeError) return Number.POSITIVE_INFINITY
    throw error
  }
}

interface Entry {
  name: string
  flags: number
  method: number
  crc: number
  packed: number
  size: number
  localAt: number
  next: number
}

function readCentral(bytes: Buffer, at: number, end: number): Entry {
  if (at + 46 > end || bytes.readUInt32LE(at) !== CENTRAL) throw new ZipError('The directory of the package is damaged.')
  const flags = bytes.readUInt16LE(at + 8)
  const method = bytes.readUInt16LE(at + 10)
  const nameBytes = bytes.readUInt16LE(at + 28)
  const extraBytes = bytes.readUInt16LE(at + 30)
  const commentBytes = bytes.readUInt16LE(at + 32)
  const attributes = bytes.readUInt32LE(at + 38)
  if (at + 46 + nameBytes > end) throw new ZipError('The directory of the package is damaged.')
  const name = bytes.toString('latin1', at + 46, at + 46 + nameBytes)
  if (!NAME.test(name)) throw new ZipError(`"${shown(name)}" is no name that a file of a package may have.`)
  if (bytes.readUInt16LE(at + 6) > VERSION_MAX) throw new ZipError(`"${name}" needs a later ZIP than is taken.`)
  if (bytes.readUInt16LE(at + 34) !== 0) throw new ZipError('The package is split into parts.')
  if ((flags & ~UTF8_FLAG) !== 0) throw new ZipError(`"${name}" is encrypted or packed in a way that is not taken.`)
  if (method !== STORED && method !== DEFLATED)
    throw new ZipError(`"${name}" is packed by method ${method}; only stored and deflated files are taken.`)
  if (extraBytes > 0 || commentBytes > 0) throw new ZipError(`"${name}" carries more than a file.`)
  // Modes as Unix has them, whatever system is said to have written them: plain files, neither links nor folders, devices or setuid.
  const mode = attributes >>> 16
  const type = mode & 0o170000
  if ((type !== 0 && type !== 0o100000) || (mode & 0o7000) !== 0 || (attributes & FOLDER) !== 0)
    throw new ZipError(`"${name}" is no plain file.`)
  return {
    name,
    flags,
    method,
    crc: bytes.readUInt32LE(at + 16),
    packed: bytes.readUInt32LE(at + 20),
    size: bytes.readUInt32LE(at + 24),
    localAt: bytes.readUInt32LE(at + 42),
    next: at + 46 + nameBytes,
  }
}

/** Answers where the data begins. */
function readLocal(bytes: Buffer, entry: Entry, end: number): number {
  const { localAt: at, name } = entry
  const start = at + 30 + name.length
  if (start > end || bytes.readUInt32LE(at) !== LOCAL) throw new ZipError(`"${name}" has no header.`)
  const same =
    bytes.readUInt16LE(at + 6) === entry.flags &&
    bytes.readUInt16LE(at + 8) === entry.method &&
    bytes.readUInt32LE(at + 14) === entry.crc &&
    bytes.readUInt32LE(at + 18) === entry.packed &&
    bytes.readUInt32LE(at + 22) === entry.size &&
    bytes.readUInt16LE(at + 26) === name.length &&
    bytes.readUInt16LE(at + 28) === 0 &&
    bytes.toString('latin1', at + 30, start) === name
  if (!same) throw new ZipError(`"${name}" says one thing in its header and another in the directory.`)
  return start
}

function unpack({ name, method, size, crc, packed }: Entry, data: Buffer): Buffer {
  if (method === STORED && packed !== size) throw new ZipError(`"${name}" has not the size that it says.`)
  const unpacked = method === STORED ? data : inflate(name, size, data)
  if (unpacked.length !== size || crc32(unpacked) !== crc) throw new ZipError(`"${name}" is damaged.`)
  return unpacked
}

/** Into one buffer of the size that was said: what is larger is given up at once, and nothing is copied together afterwards. */
function inflate(name: string, size: number, data: Buffer): Buffer {
  const options = { maxOutputLength: Math.max(size, 1), chunkSize: Math.max(size + 1, CHUNK_BYTES_MIN), info: true }
  let answer: { buffer: Buffer; engine: { bytesWritten: number } }
  try {
    answer = inflateRawSync(data, options) as unknown as typeof answer
  } catch {
    throw new ZipError(`"${name}" is damaged, or larger than it says.`)
  }
  // The stream says itself where it ends; bytes behind would be in the package but in none of its files.
  if (answer.engine.bytesWritten !== data.length) throw new ZipError(`Something stands behind the data of "${name}".`)
  return answer.buffer
}

/** The same bytes for the same files: sorted by name, without times. */
export function writeZip(files: readonly { name: string; data: Uint8Array }[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { name, data } of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!NAME.test(name)) throw new ZipError(`"${shown(name)}" is no name that a file of a package may have.`)
    const deflated = deflateRawSync(data, { level: 9 })
    const method = deflated.length < data.length ? DEFLATED : STORED
    const packed = method === DEFLATED ? deflated : Buffer.from(data)
    const local = Buffer.alloc(30)
    local.writeUInt32LE(LOCAL, 0)
    local.writeUInt16LE(20, 4)
    local.writeUInt16LE(method, 8)
    local.writeUInt16LE(EPOCH_DATE, 12)
    local.writeUInt32LE(crc32(data), 14)
    local.writeUInt32LE(packed.length, 18)
    local.writeUInt32LE(data.length, 22)
    local.writeUInt16LE(name.length, 26)
    const central = Buffer.alloc(46)
    central.writeUInt32LE(CENTRAL, 0)
    central.writeUInt16LE(20, 4)
    local.copy(central, 6, 4, 30)
    central.writeUInt32LE(at, 42)
    parts.push(local, Buffer.from(name, 'latin1'), packed)
    directory.push(central, Buffer.from(name, 'latin1'))
    at += 30 + name.length + packed.length
  }
  const directoryBytes = directory.reduce((sum, { length }) => sum + length, 0)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(END, 0)
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(directoryBytes, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, ...directory, end])
}
