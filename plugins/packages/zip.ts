import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib'
import { refuseValue } from '#core/foundation/errors.ts'
import { briefText } from '#core/foundation/stranger-text.ts'

/**
 * ZIP for plugin packages: a strict reader for untrusted files, and a writer with reproducible output. Packages are small and read from memory,
 * so everything unusual is refused: ZIP64, encryption, other methods, links, data before, between or behind the entries, and local headers that
 * differ from the directory.
 */

interface ZipFile {
  name: string
  data: Buffer
}

/** Refuses a package. */
export function wrong(message: string): never {
  refuseValue('/file', message)
}

export const PACKAGE_BYTES_MAX = 10 * 1024 * 1024
const ENTRIES_MAX = 64
/** Of all entries, counted while inflating. */
const INFLATED_BYTES_MAX = 20 * 1024 * 1024
/** Plain names in plain folders; the caller decides which files a package may contain. */
const NAME = /^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,62}[A-Za-z0-9_-])?(\/[A-Za-z0-9_]([A-Za-z0-9_.-]{0,62}[A-Za-z0-9_-])?){0,2}$/

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50
const END = 0x06054b50
const STORED = 0
const DEFLATED = 8
/** The names are UTF-8: the only allowed flag. */
const UTF8_FLAG = 0x0800
/** The ZIP version that introduced deflate; features of later versions are refused here. */
const VERSION_MAX = 20
/** The smallest chunk into which Node inflates. */
const CHUNK_BYTES_MIN = 64
/** DOS attributes of a folder, a volume and a device. */
const FOLDER = 0x10 | 0x08 | 0x40
/** 1980-01-01 00:00, the earliest time in ZIP. */
const EPOCH_DATE = 0x0021

/**
 * Returns all files of a package.
 * @param bytesMaxOf the size limit for a file of that name, checked before it is inflated; null when the file is not allowed
 * @throws invalid_value
 */
export function readZip(bytes: Buffer, bytesMaxOf: (name: string) => number | null): ZipFile[] {
  const { endAt, count, directoryAt } = readEnd(bytes)
  const files: ZipFile[] = []
  const seen = new Set<string>()
  let at = directoryAt
  let dataAt = 0
  let inflated = 0
  for (let index = 0; index < count; index++) {
    const entry = readCentral(bytes, at, endAt)
    at = entry.next
    // Names are ASCII, so only their case can differ between two spellings.
    const key = entry.name.toLowerCase()
    if (seen.has(key)) wrong(`The package contains "${entry.name}" twice.`)
    seen.add(key)
    // Entries are contiguous, so none overlaps another, and nothing is hidden between them.
    if (entry.localAt !== dataAt) wrong(`"${entry.name}" does not directly follow the file before it.`)
    const start = readLocal(bytes, entry, directoryAt)
    dataAt = start + entry.packed
    if (dataAt > directoryAt) wrong(`"${entry.name}" extends into the directory.`)
    const bytesMax = bytesMaxOf(entry.name)
    if (bytesMax === null) wrong(`"${entry.name}" is not allowed in a package.`)
    if (entry.size > bytesMax) wrong(`"${entry.name}" has ${entry.size} bytes; the limit is ${bytesMax}.`)
    inflated += entry.size
    if (inflated > INFLATED_BYTES_MAX) wrong(`The package unpacks to more than ${INFLATED_BYTES_MAX} bytes.`)
    files.push({ name: entry.name, data: unpack(entry, bytes.subarray(start, dataAt)) })
  }
  if (at !== endAt || dataAt !== directoryAt) wrong('The package contains data that belongs to no file.')
  return files
}

/** The total size of its files by the directory, which inflating never exceeds. @throws invalid_value if it has no valid directory */
export function unpackedBytes(bytes: Buffer): number {
  const { endAt, count, directoryAt } = readEnd(bytes)
  let at = directoryAt
  let sum = 0
  for (let left = count; left > 0; left--) {
    const entry = readCentral(bytes, at, endAt)
    sum += entry.size
    at = entry.next
  }
  return sum
}

/** Where the directory begins, where it ends, and how many entries it has. @throws invalid_value */
function readEnd(bytes: Buffer): { endAt: number; count: number; directoryAt: number } {
  if (bytes.length > PACKAGE_BYTES_MAX) wrong(`The package has ${bytes.length} bytes; the limit is ${PACKAGE_BYTES_MAX}.`)
  const endAt = bytes.length - 22
  if (endAt < 0 || bytes.readUInt32LE(endAt) !== END) wrong('This is not a ZIP file, or there is data after its end.')
  const count = bytes.readUInt16LE(endAt + 10)
  const directoryBytes = bytes.readUInt32LE(endAt + 12)
  const directoryAt = bytes.readUInt32LE(endAt + 16)
  if (bytes.readUInt16LE(endAt + 20) !== 0) wrong('The package has a comment, or is incomplete.')
  if (bytes.readUInt16LE(endAt + 4) !== 0 || bytes.readUInt16LE(endAt + 6) !== 0 || bytes.readUInt16LE(endAt + 8) !== count)
    wrong('The package is split into parts.')
  if (count === 0 || count > ENTRIES_MAX) wrong(`The package has ${count} entries; 1 to ${ENTRIES_MAX} are allowed.`)
  if (directoryAt + directoryBytes !== endAt) wrong('The directory of the package is not at its declared offset.')
  return { endAt, count, directoryAt }
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
  if (at + 46 > end || bytes.readUInt32LE(at) !== CENTRAL) wrong('The directory of the package is damaged.')
  const flags = bytes.readUInt16LE(at + 8)
  const method = bytes.readUInt16LE(at + 10)
  const nameBytes = bytes.readUInt16LE(at + 28)
  const extraBytes = bytes.readUInt16LE(at + 30)
  const commentBytes = bytes.readUInt16LE(at + 32)
  const attributes = bytes.readUInt32LE(at + 38)
  if (at + 46 + nameBytes > end) wrong('The directory of the package is damaged.')
  const name = bytes.toString('latin1', at + 46, at + 46 + nameBytes)
  if (!NAME.test(name)) wrong(`"${briefText(name)}" is not a valid name for a file of a package.`)
  if (bytes.readUInt16LE(at + 6) > VERSION_MAX) wrong(`"${name}" needs a later version of ZIP than is supported.`)
  if (bytes.readUInt16LE(at + 34) !== 0) wrong('The package is split into parts.')
  if ((flags & ~UTF8_FLAG) !== 0) wrong(`"${name}" is encrypted or uses an unsupported feature of ZIP.`)
  if (method !== STORED && method !== DEFLATED)
    wrong(`"${name}" uses compression method ${method}; only stored and deflated files are supported.`)
  if (extraBytes > 0 || commentBytes > 0) wrong(`"${name}" has extra fields or a comment.`)
  // Unix modes, for any declared system: only regular files, not links, folders, devices or setuid.
  const mode = attributes >>> 16
  const type = mode & 0o170000
  if ((type !== 0 && type !== 0o100000) || (mode & 0o7000) !== 0 || (attributes & FOLDER) !== 0) wrong(`"${name}" is not a regular file.`)
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

/** Returns the offset of the data. */
function readLocal(bytes: Buffer, entry: Entry, end: number): number {
  const { localAt: at, name } = entry
  const start = at + 30 + name.length
  if (start > end || bytes.readUInt32LE(at) !== LOCAL) wrong(`"${name}" has no header.`)
  const same =
    bytes.readUInt16LE(at + 6) === entry.flags &&
    bytes.readUInt16LE(at + 8) === entry.method &&
    bytes.readUInt32LE(at + 14) === entry.crc &&
    bytes.readUInt32LE(at + 18) === entry.packed &&
    bytes.readUInt32LE(at + 22) === entry.size &&
    bytes.readUInt16LE(at + 26) === name.length &&
    bytes.readUInt16LE(at + 28) === 0 &&
    bytes.toString('latin1', at + 30, start) === name
  if (!same) wrong(`The header of "${name}" differs from the directory.`)
  return start
}

function unpack({ name, method, size, crc, packed }: Entry, data: Buffer): Buffer {
  if (method === STORED && packed !== size) wrong(`"${name}" does not have its declared size.`)
  const unpacked = method === STORED ? data : inflate(name, size, data)
  if (unpacked.length !== size || crc32(unpacked) !== crc) wrong(`"${name}" is damaged.`)
  return unpacked
}

/** Inflates into one buffer of the declared size: stops at once when the data is larger, and copies nothing afterwards. */
function inflate(name: string, size: number, data: Buffer): Buffer {
  const options = { maxOutputLength: Math.max(size, 1), chunkSize: Math.max(size + 1, CHUNK_BYTES_MIN), info: true }
  let answer: { buffer: Buffer; engine: { bytesWritten: number } }
  try {
    // The types of node do not cover the result with `info`.
    answer = inflateRawSync(data, options) as unknown as typeof answer
  } catch {
    return wrong(`"${name}" is damaged, or larger than its declared size.`)
  }
  // The stream ends by itself; bytes after it would be in the package but in none of its files.
  if (answer.engine.bytesWritten !== data.length) wrong(`There is extra data after "${name}".`)
  return answer.buffer
}

/** The same files give the same bytes: sorted by name, without times. */
export function writeZip(files: readonly { name: string; data: Uint8Array }[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { name, data } of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!NAME.test(name)) wrong(`"${briefText(name)}" is not a valid name for a file of a package.`)
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
