import { readSync } from 'node:fs'
import { BookProblem } from '../../book-problem.ts'
import { DIRECTORY_BYTES_MAX, ENTRIES_MAX, TAIL_BYTES_MAX } from '../../limits.ts'
import { lastOfEqualNames } from '../equal-names.ts'
import { decodeNames, type RawName } from './zip-names.ts'

/** One entry of the central directory; the local header is read only with the data. */
export interface ZipEntry {
  /** With `/` as separator. Never use it as a path: it may contain `../` or be absolute. */
  name: string
  /** 0 stored, 8 deflate; entries with other methods are listed but cannot be read. */
  method: number
  encrypted: boolean
  crc32: number
  /** At most one more than the file has: such an entry is cut off. */
  compressedBytes: number
  /** Uncompressed, as declared. */
  bytes: number
  /** Offset of the local header in the file, corrected for prefixed data. */
  headerOffset: number
  /** Offset of the data; -1 until the local header has been read. */
  dataOffset: number
}

const LOCAL_HEADER = 0x04034b50
const DIRECTORY_ENTRY = 0x02014b50
const ZIP64_LOCATOR = 0x07064b50
const ZIP64_END_RECORD = 0x06064b50
const END_RECORD = Buffer.from('PK\x05\x06', 'latin1')
const END_RECORD_BYTES = 22
const ENTRY_BYTES = 46

/** Tail sizes to try, in order: nearly every archive has neither comment nor padding, and its directory fits into the first 16 KiB as well. */
const TAILS = [16 * 1024, 128 * 1024, TAIL_BYTES_MAX]

interface DirectoryLocation {
  start: number
  bytes: number
  /** Distance of the directory from the offset in the end record. */
  shift: number
  entriesDeclared: number
}

/** True when the file ends like a zip, whatever it begins with. */
export function hasZipDirectory(fd: number, fileBytes: number): boolean {
  try {
    findDirectory(fd, fileBytes)
    return true
  } catch (error) {
    if (error instanceof BookProblem) return false
    throw error
  }
}

/** The entries in directory order, of equal names the last. Throws {@link BookProblem} of type `parser` when there is no usable directory. */
export function readZipDirectory(fd: number, fileBytes: number): ZipEntry[] {
  return lastOfEqualNames(readZipRecords(fd, fileBytes))
}

/** The entries in directory order: all of equal names. */
export function readZipRecords(fd: number, fileBytes: number): ZipEntry[] {
  const place = findDirectory(fd, fileBytes)
  if (place.bytes > DIRECTORY_BYTES_MAX) {
    throw new BookProblem('parser', 'The list of contents of this ZIP archive is too large to be real.', { bytes: place.bytes })
  }
  const entries = parseEntries(readAt(fd, place.start, place.bytes), place)
  const shift = findShift(fd, entries, place.shift)
  for (const entry of entries) {
    entry.headerOffset += shift
    // A declared size can be anything, and readers compute with it.
    entry.compressedBytes = Math.min(entry.compressedBytes, fileBytes + 1)
  }
  return entries
}

/**
 * The number to add to recorded offsets. They may be right although the directory has moved, or off by the length of a
 * prefix of the archive: the header of the first entry decides.
 */
function findShift(fd: number, entries: ZipEntry[], suspected: number): number {
  const first = entries[0]
  if (suspected === 0 || !first) return 0
  return readUInt32(fd, first.headerOffset + suspected) === LOCAL_HEADER ? suspected : 0
}

function findDirectory(fd: number, fileBytes: number): DirectoryLocation {
  let refusal: BookProblem | null = null
  for (const tailBytes of TAILS) {
    const start = Math.max(0, fileBytes - tailBytes)
    const tail = readAt(fd, start, fileBytes - start)
    for (let at = tail.length - END_RECORD_BYTES; at >= 0; at--) {
      at = tail.lastIndexOf(END_RECORD, at)
      if (at < 0) break
      const found = readEndRecord(fd, tail, at, start)
      if (!(found instanceof BookProblem)) return found
      refusal ??= found
    }
    if (start === 0) break
  }
  throw (
    refusal ??
    new BookProblem('parser', 'This ZIP archive has no list of contents at its end: the file is incomplete or damaged. Fetch it again.', {
      bytes: fileBytes,
    })
  )
}

function readEndRecord(fd: number, tail: Buffer, at: number, tailStart: number): DirectoryLocation | BookProblem {
  const recordAt = tailStart + at
  let end = recordAt
  let entriesDeclared = tail.readUInt16LE(at + 10)
  let bytes = tail.readUInt32LE(at + 12)
  let offset = tail.readUInt32LE(at + 16)
  let disk = tail.readUInt16LE(at + 4)
  const zip64 = readZip64End(fd, recordAt)
  if (zip64) ({ end, entriesDeclared, bytes, offset, disk } = zip64)
  else if (offset === 0xffffffff || bytes === 0xffffffff) return damagedDirectory('zip64 end record missing')
  if (disk !== 0) return new BookProblem('parser', 'This is one part of a ZIP archive that was split over several files.', { disk })
  const start = end - bytes
  if (start < 0) return damagedDirectory('directory larger than the file')
  // The directory ends right before its end record, whatever the offsets say: this reveals prefixed data.
  for (const place of [start, offset]) {
    if (place > start) continue
    if (bytes === 0) return { start, bytes, shift: 0, entriesDeclared }
    if (readUInt32(fd, place) === DIRECTORY_ENTRY) return { start: place, bytes, shift: place - offset, entriesDeclared }
  }
  return damagedDirectory('no directory where the end record says')
}

function readZip64End(fd: number, endRecordAt: number) {
  if (endRecordAt < 20) return null
  const locator = readAt(fd, endRecordAt - 20, 20)
  if (locator.length < 20 || locator.readUInt32LE(0) !== ZIP64_LOCATOR) return null
  // First at the locator's offset, then right before the locator, for prefixed data.
  for (const at of [Number(locator.readBigUInt64LE(8)), endRecordAt - 20 - 56]) {
    if (at < 0 || at + 56 > endRecordAt) continue
    const record = readAt(fd, at, 56)
    if (record.readUInt32LE(0) !== ZIP64_END_RECORD) continue
    return {
      end: at,
      disk: record.readUInt32LE(16),
      entriesDeclared: Number(record.readBigUInt64LE(32)),
      bytes: Number(record.readBigUInt64LE(40)),
      offset: Number(record.readBigUInt64LE(48)),
    }
  }
  return null
}

function parseEntries(directory: Buffer, place: DirectoryLocation): ZipEntry[] {
  const entries: ZipEntry[] = []
  const names: RawName[] = []
  let at = 0
  while (at + ENTRY_BYTES <= directory.length && directory.readUInt32LE(at) === DIRECTORY_ENTRY) {
    const flags = directory.readUInt16LE(at + 8)
    const nameEnd = at + ENTRY_BYTES + directory.readUInt16LE(at + 28)
    const extraEnd = nameEnd + directory.readUInt16LE(at + 30)
    const next = extraEnd + directory.readUInt16LE(at + 32)
    if (next > directory.length) throw damagedDirectory('an entry reaches past the end', entries.length)
    if (entries.length === ENTRIES_MAX) {
      throw new BookProblem('parser', `This archive has more than ${ENTRIES_MAX} entries.`, { entriesMax: ENTRIES_MAX })
    }
    const extra = directory.subarray(nameEnd, extraEnd)
    names.push({ bytes: directory.subarray(at + ENTRY_BYTES, nameEnd), flaggedUtf8: (flags & 0x800) !== 0, extra })
    const entry: ZipEntry = {
      name: '',
      method: directory.readUInt16LE(at + 10),
      encrypted: (flags & 0x41) !== 0,
      crc32: directory.readUInt32LE(at + 16),
      compressedBytes: directory.readUInt32LE(at + 20),
      bytes: directory.readUInt32LE(at + 24),
      headerOffset: directory.readUInt32LE(at + 42),
      dataOffset: -1,
    }
    widen(entry, extra)
    entries.push(entry)
    at = next
  }
  // The count wraps in archives above 65,535 entries without zip64, so only too few entries are an error.
  if (entries.length < place.entriesDeclared) throw damagedDirectory('entries are missing', entries.length, place.entriesDeclared)
  const decoded = decodeNames(names)
  for (const [index, entry] of entries.entries()) entry.name = decoded[index]!
  return entries
}

/** zip64: the 64-bit values of all-ones fields are, in this order, in extra field 1. */
function widen(entry: ZipEntry, extra: Buffer): void {
  const wide = (value: number) => value === 0xffffffff
  if (!wide(entry.bytes) && !wide(entry.compressedBytes) && !wide(entry.headerOffset)) return
  for (let at = 0; at + 4 <= extra.length; ) {
    const id = extra.readUInt16LE(at)
    const end = Math.min(extra.length, at + 4 + extra.readUInt16LE(at + 2))
    if (id === 1) {
      let field = at + 4
      const take = (narrow: number): number => {
        if (!wide(narrow) || field + 8 > end) return narrow
        field += 8
        return Number(extra.readBigUInt64LE(field - 8))
      }
      entry.bytes = take(entry.bytes)
      entry.compressedBytes = take(entry.compressedBytes)
      entry.headerOffset = take(entry.headerOffset)
      return
    }
    at = end
  }
}

/** The offset of an entry's data, from its local header (`header` starts there and may be short), or its problem. */
export function dataOffsetOf(entry: ZipEntry, header: Buffer): number {
  if (header.length < 30 || header.readUInt32LE(0) !== LOCAL_HEADER) {
    throw new BookProblem('page_extraction', `The data of "${entry.name}" is not where the archive says it is.`, {
      entry: entry.name,
      offset: entry.headerOffset,
    })
  }
  return entry.headerOffset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
}

/** Up to `bytes` bytes from `offset`; fewer at the end of the file, none outside it (recorded offsets can be anything). */
export function readAt(fd: number, offset: number, bytes: number): Buffer {
  if (offset < 0 || offset > Number.MAX_SAFE_INTEGER - bytes) return Buffer.alloc(0)
  const buffer = Buffer.allocUnsafeSlow(bytes)
  let filled = 0
  while (filled < bytes) {
    const got = readSync(fd, buffer, filled, bytes - filled, offset + filled)
    if (got === 0) break
    filled += got
  }
  return filled === bytes ? buffer : buffer.subarray(0, filled)
}

function readUInt32(fd: number, offset: number): number {
  const bytes = readAt(fd, offset, 4)
  return bytes.length === 4 ? bytes.readUInt32LE(0) : 0
}

function damagedDirectory(reason: string, entriesRead?: number, entriesDeclared?: number): BookProblem {
  return new BookProblem('parser', 'The list of contents of this ZIP archive is damaged. Fetch the file again.', {
    reason,
    ...(entriesRead === undefined ? {} : { entriesRead }),
    ...(entriesDeclared === undefined ? {} : { entriesDeclared }),
  })
}
