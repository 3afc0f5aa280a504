import { crc32, deflateRawSync } from 'node:zlib'

/** One entry. Members other than name and data are for archives with false declarations, or like those of other programs. */
export interface ZipPart {
  /** Bytes for names in another code page. */
  name: string | Uint8Array
  data: Uint8Array
  /** 0 stored (the default), 8 deflate; others are only declared, the data is stored. */
  method?: number
  /** Bit 11. By default set for names that are not ASCII. */
  utf8?: boolean
  /** Bit 0, without encrypting anything. */
  encrypted?: boolean
  /** Info-ZIP Unicode Path (0x7075). */
  unicodePath?: string
  crc32?: number
  /** Uncompressed size as declared. */
  bytes?: number
  compressedBytes?: number
  /** Replaces the compressed data. */
  packed?: Uint8Array
  /** Sizes and CRC after the data, zero in the local header. */
  descriptor?: boolean
  /** Sizes only in the zip64 extra field. */
  zip64?: boolean
  /** The offset of the local header according to the directory. */
  headerOffset?: number
}

export interface ZipShape {
  comment?: Uint8Array
  /** Data before the archive; offsets are not adjusted. */
  prefix?: Uint8Array
  /** Data before the archive; offsets are adjusted. */
  adjustedPrefix?: Uint8Array
  /** Data after the end record. */
  suffix?: Uint8Array
  /** zip64 end record and locator. */
  zip64?: boolean
  /** Without a central directory: an incomplete download. */
  noDirectory?: boolean
  entriesDeclared?: number
}

/** Builds a zip in memory, with correct declarations by default. */
export function buildZip(parts: readonly ZipPart[], shape: ZipShape = {}): Buffer {
  const start = shape.adjustedPrefix?.length ?? 0
  const bodies: Uint8Array[] = shape.adjustedPrefix ? [shape.adjustedPrefix] : []
  const directory: Buffer[] = []
  const packed = packOnce()
  let offset = start
  for (const part of parts) {
    const { local, central } = encode(part, offset, packed)
    bodies.push(...local)
    directory.push(central)
    offset += local.reduce((sum, piece) => sum + piece.length, 0)
  }
  const directoryBytes = directory.reduce((sum, piece) => sum + piece.length, 0)
  const prefix = shape.prefix ? [shape.prefix] : []
  if (shape.noDirectory) return Buffer.concat([...prefix, ...bodies])
  const end = endRecords({ entries: shape.entriesDeclared ?? parts.length, bytes: directoryBytes, offset, shape })
  return Buffer.concat([...prefix, ...bodies, ...directory, ...end, ...(shape.suffix ? [shape.suffix] : [])])
}

type Packed = ReturnType<typeof packOnce>

/** Compressed data, so that archives with many copies of one page compress it once. */
function packOnce() {
  const deflated = new Map<Uint8Array, Uint8Array>()
  const sums = new Map<Uint8Array, number>()
  return {
    deflate(data: Uint8Array): Uint8Array {
      const known = deflated.get(data) ?? deflateRawSync(data)
      deflated.set(data, known)
      return known
    },
    sum(data: Uint8Array): number {
      const known = sums.get(data) ?? crc32(data)
      sums.set(data, known)
      return known
    },
  }
}

function encode(part: ZipPart, offset: number, packed: Packed): { local: Uint8Array[]; central: Buffer } {
  const name = typeof part.name === 'string' ? Buffer.from(part.name) : Buffer.from(part.name)
  const method = part.method ?? 0
  const data = part.packed ?? (method === 8 ? packed.deflate(part.data) : part.data)
  const utf8 = part.utf8 ?? (typeof part.name === 'string' && /[^\x00-\x7f]/.test(part.name))
  const flags = (utf8 ? 0x800 : 0) | (part.encrypted ? 1 : 0) | (part.descriptor ? 8 : 0)
  const sum = part.crc32 ?? packed.sum(part.data)
  const bytes = part.bytes ?? part.data.length
  const compressedBytes = part.compressedBytes ?? data.length
  const extra = Buffer.concat([
    ...(part.zip64 ? [zip64Extra(bytes, compressedBytes)] : []),
    ...(part.unicodePath === undefined ? [] : [unicodePathExtra(name, part.unicodePath)]),
  ])
  const sizes = Buffer.alloc(12)
  sizes.writeUInt32LE(sum, 0)
  sizes.writeUInt32LE(part.zip64 ? 0xffffffff : compressedBytes, 4)
  sizes.writeUInt32LE(part.zip64 ? 0xffffffff : bytes, 8)

  const head = Buffer.alloc(30)
  head.writeUInt32LE(0x04034b50, 0)
  head.writeUInt16LE(20, 4)
  head.writeUInt16LE(flags, 6)
  head.writeUInt16LE(method, 8)
  if (!part.descriptor) sizes.copy(head, 14)
  head.writeUInt16LE(name.length, 26)
  head.writeUInt16LE(extra.length, 28)

  const central = Buffer.alloc(46)
  central.writeUInt32LE(0x02014b50, 0)
  central.writeUInt16LE(20, 4)
  central.writeUInt16LE(20, 6)
  central.writeUInt16LE(flags, 8)
  central.writeUInt16LE(method, 10)
  sizes.copy(central, 16)
  central.writeUInt16LE(name.length, 28)
  central.writeUInt16LE(extra.length, 30)
  central.writeUInt32LE(part.headerOffset ?? offset, 42)

  const descriptor = part.descriptor ? [Buffer.from('PK\x07\x08', 'latin1'), sizes] : []
  return { local: [head, name, extra, data, ...descriptor], central: Buffer.concat([central, name, extra]) }
}

function zip64Extra(bytes: number, compressedBytes: number): Buffer {
  const extra = Buffer.alloc(20)
  extra.writeUInt16LE(1, 0)
  extra.writeUInt16LE(16, 2)
  extra.writeBigUInt64LE(BigInt(bytes), 4)
  extra.writeBigUInt64LE(BigInt(compressedBytes), 12)
  return extra
}

function unicodePathExtra(name: Buffer, path: string): Buffer {
  const head = Buffer.alloc(9)
  head.writeUInt16LE(0x7075, 0)
  head.writeUInt16LE(5 + Buffer.byteLength(path), 2)
  head[4] = 1
  head.writeUInt32LE(crc32(name), 5)
  return Buffer.concat([head, Buffer.from(path)])
}

function endRecords(request: { entries: number; bytes: number; offset: number; shape: ZipShape }): Buffer[] {
  const { entries, bytes, offset, shape } = request
  const records: Buffer[] = []
  if (shape.zip64) {
    const record = Buffer.alloc(56)
    record.writeUInt32LE(0x06064b50, 0)
    record.writeBigUInt64LE(44n, 4)
    record.writeBigUInt64LE(BigInt(entries), 24)
    record.writeBigUInt64LE(BigInt(entries), 32)
    record.writeBigUInt64LE(BigInt(bytes), 40)
    record.writeBigUInt64LE(BigInt(offset), 48)
    const locator = Buffer.alloc(20)
    locator.writeUInt32LE(0x07064b50, 0)
    locator.writeBigUInt64LE(BigInt(offset + bytes), 8)
    locator.writeUInt32LE(1, 16)
    records.push(record, locator)
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  // Without zip64, the count wraps above 65,535 entries.
  end.writeUInt16LE(shape.zip64 ? 0xffff : entries % 65536, 8)
  end.writeUInt16LE(shape.zip64 ? 0xffff : entries % 65536, 10)
  end.writeUInt32LE(shape.zip64 ? 0xffffffff : bytes, 12)
  end.writeUInt32LE(shape.zip64 ? 0xffffffff : offset, 16)
  end.writeUInt16LE(shape.comment?.length ?? 0, 20)
  return [...records, end, ...(shape.comment ? [Buffer.from(shape.comment)] : [])]
}
