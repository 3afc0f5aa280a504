/**
 * The records of a zip file that is written while it is sent (APPNOTE.TXT 6.3.10): entries are stored, not deflated, because books are compressed
 * already; checksums follow the entries, because they are known only after reading the file. Sizes are known before, so the total length is known.
 */

/** One entry, with the data that is known before it is written. */
export interface ZipEntryPlan {
  name: Buffer
  bytes: number
  modifiedAt: Date
}

/** The same entry after it was written. */
export interface WrittenZipEntry extends ZipEntryPlan {
  crc32: number
  /** Of its local header. */
  offset: number
}

/** From this value on, sizes and offsets need the 64-bit fields (4.3.9.6: 0xFFFFFFFF marks them). */
const FIELD_MAX = 0xffff_ffff
const COUNT_MAX = 0xffff
const VERSION_PLAIN = 20
const VERSION_64 = 45
/** Bit 3: sizes and checksum are in the data descriptor; bit 11: the name is UTF-8. */
const FLAGS = 0x0808
const LOCAL_BYTES = 30
const CENTRAL_BYTES = 46
const EXTRA_64_LOCAL_BYTES = 20
const EXTRA_64_BYTES = 28

const needs64 = ({ bytes }: ZipEntryPlan) => bytes >= FIELD_MAX
const needs64Central = (entry: WrittenZipEntry) => needs64(entry) || entry.offset >= FIELD_MAX

/** The header before the bytes of an entry. */
export function localHeader(entry: ZipEntryPlan): Buffer {
  const is64 = needs64(entry)
  const header = Buffer.alloc(LOCAL_BYTES)
  header.writeUInt32LE(0x04034b50, 0)
  header.writeUInt16LE(is64 ? VERSION_64 : VERSION_PLAIN, 4)
  header.writeUInt16LE(FLAGS, 6)
  header.writeUInt32LE(dosTime(entry.modifiedAt), 10)
  // Checksum 0. The sizes are given here too: otherwise streaming clients cannot tell where a stored entry ends.
  header.writeUInt32LE(is64 ? FIELD_MAX : entry.bytes, 18)
  header.writeUInt32LE(is64 ? FIELD_MAX : entry.bytes, 22)
  header.writeUInt16LE(entry.name.length, 26)
  header.writeUInt16LE(is64 ? EXTRA_64_LOCAL_BYTES : 0, 28)
  return Buffer.concat([header, entry.name, ...(is64 ? [extra64([entry.bytes, entry.bytes])] : [])])
}

/** The record after the bytes of an entry. */
export function dataDescriptor({ bytes, crc32 }: { bytes: number; crc32: number }): Buffer {
  const is64 = bytes >= FIELD_MAX
  const descriptor = Buffer.alloc(is64 ? 24 : 16)
  descriptor.writeUInt32LE(0x08074b50, 0)
  descriptor.writeUInt32LE(crc32, 4)
  if (is64) {
    descriptor.writeBigUInt64LE(BigInt(bytes), 8)
    descriptor.writeBigUInt64LE(BigInt(bytes), 16)
  } else {
    descriptor.writeUInt32LE(bytes, 8)
    descriptor.writeUInt32LE(bytes, 12)
  }
  return descriptor
}

/** The directory after all entries, and its end. @param offset where it begins */
export function centralDirectory(entries: readonly WrittenZipEntry[], offset: number): Buffer {
  const headers = Buffer.concat(entries.map(centralHeader))
  return Buffer.concat([headers, directoryEnd({ count: entries.length, bytes: headers.length, offset })])
}

/** The end records of a directory of `count` records that takes `bytes` bytes from `offset` on. */
export function directoryEnd(directory: { count: number; bytes: number; offset: number }): Buffer {
  const { count, bytes, offset } = directory
  const is64 = count >= COUNT_MAX || offset >= FIELD_MAX || bytes >= FIELD_MAX
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Math.min(count, COUNT_MAX), 8)
  end.writeUInt16LE(Math.min(count, COUNT_MAX), 10)
  end.writeUInt32LE(Math.min(bytes, FIELD_MAX), 12)
  end.writeUInt32LE(Math.min(offset, FIELD_MAX), 16)
  return Buffer.concat([...(is64 ? [end64(directory)] : []), end])
}

/** The length of a zip file with these entries. */
export function zipLength(entries: readonly ZipEntryPlan[]): number {
  let offset = 0
  const written = entries.map((entry) => {
    const placed = { ...entry, crc32: 0, offset }
    offset += localHeader(entry).length + entry.bytes + dataDescriptor({ bytes: entry.bytes, crc32: 0 }).length
    return placed
  })
  return offset + centralDirectory(written, offset).length
}

function centralHeader(entry: WrittenZipEntry): Buffer {
  const is64 = needs64Central(entry)
  const header = Buffer.alloc(CENTRAL_BYTES)
  header.writeUInt32LE(0x02014b50, 0)
  // Made by "Unix", so that programs use the file mode below: 0644.
  header.writeUInt16LE(0x0300 | VERSION_64, 4)
  header.writeUInt16LE(is64 ? VERSION_64 : VERSION_PLAIN, 6)
  header.writeUInt16LE(FLAGS, 8)
  header.writeUInt32LE(dosTime(entry.modifiedAt), 12)
  header.writeUInt32LE(entry.crc32, 16)
  header.writeUInt32LE(is64 ? FIELD_MAX : entry.bytes, 20)
  header.writeUInt32LE(is64 ? FIELD_MAX : entry.bytes, 24)
  header.writeUInt16LE(entry.name.length, 28)
  header.writeUInt16LE(is64 ? EXTRA_64_BYTES : 0, 30)
  header.writeUInt32LE((0o100644 << 16) >>> 0, 38)
  header.writeUInt32LE(is64 ? FIELD_MAX : entry.offset, 42)
  return Buffer.concat([header, entry.name, ...(is64 ? [extra64([entry.bytes, entry.bytes, entry.offset])] : [])])
}

/** The extra field of 64-bit values (4.5.3). */
function extra64(values: readonly number[]): Buffer {
  const extra = Buffer.alloc(4 + values.length * 8)
  extra.writeUInt16LE(0x0001, 0)
  extra.writeUInt16LE(values.length * 8, 2)
  for (const [index, value] of values.entries()) extra.writeBigUInt64LE(BigInt(value), 4 + index * 8)
  return extra
}

/** End of the central directory in 64 bits, and its locator (4.3.14, 4.3.15). */
function end64({ count, bytes, offset }: { count: number; bytes: number; offset: number }): Buffer {
  const end = Buffer.alloc(56 + 20)
  end.writeUInt32LE(0x06064b50, 0)
  end.writeBigUInt64LE(44n, 4)
  end.writeUInt16LE(0x0300 | VERSION_64, 12)
  end.writeUInt16LE(VERSION_64, 14)
  end.writeBigUInt64LE(BigInt(count), 24)
  end.writeBigUInt64LE(BigInt(count), 32)
  end.writeBigUInt64LE(BigInt(bytes), 40)
  end.writeBigUInt64LE(BigInt(offset), 48)
  end.writeUInt32LE(0x07064b50, 56)
  end.writeBigUInt64LE(BigInt(offset + bytes), 64)
  end.writeUInt32LE(1, 72)
  return end
}

/** Date and time of MS-DOS, in UTC: two seconds exactly, 1980 to 2107. */
function dosTime(at: Date): number {
  const year = Math.min(2107, Math.max(1980, at.getUTCFullYear()))
  const date = ((year - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate()
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1)
  return ((date << 16) | time) >>> 0
}
