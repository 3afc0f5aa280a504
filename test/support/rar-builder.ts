import { crc32 } from 'node:zlib'

export interface RarPart {
  name: string
  data: Uint8Array
  /** Adds an encryption record, without encrypting anything. */
  encrypted?: boolean
  crc32?: number
  /** Unpacked size as declared. */
  bytes?: number
}

export interface RarShape {
  /** Marks the archive, and every entry after the first, as sharing one compression history; or only these entries. */
  solid?: boolean | 'entries'
  /** No end record: a download that stopped. */
  noEnd?: boolean
}

/** Builds a RAR 5 with stored entries, because the license allows only RAR itself to compress. */
export function buildRar(parts: readonly RarPart[], shape: RarShape = {}): Buffer {
  const main = block(1, 0, [vint(shape.solid === true ? 4 : 0)])
  const files = parts.flatMap((part, index) => [fileBlock(part, Boolean(shape.solid) && index > 0), Buffer.from(part.data)])
  return Buffer.concat([Buffer.from('Rar!\x1a\x07\x01\x00', 'latin1'), main, ...files, ...(shape.noEnd ? [] : [block(5, 0, [vint(0)])])])
}

const HAS_EXTRA = 1
const HAS_DATA = 2
const FILE_HAS_CRC = 4

function fileBlock(part: RarPart, solid: boolean): Buffer {
  const name = Buffer.from(part.name)
  const extra = part.encrypted ? encryptionRecord() : Buffer.alloc(0)
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(part.crc32 ?? crc32(part.data))
  // Compression 0 is "stored"; bit 6 is the entry's share in a solid archive.
  const compression = vint(solid ? 0x40 : 0)
  const fields = [vint(FILE_HAS_CRC), vint(part.bytes ?? part.data.length), vint(0o644), sum, compression, vint(1), vint(name.length), name]
  const sizes = [...(part.encrypted ? [vint(extra.length)] : []), vint(part.data.length)]
  return block(2, HAS_DATA | (part.encrypted ? HAS_EXTRA : 0), [...sizes, ...fields, extra])
}

/** Type 1, version 0 (AES-256), no flags, 2^15 iterations, salt and initial vector. */
function encryptionRecord(): Buffer {
  const body = Buffer.concat([vint(1), vint(0), vint(0), Buffer.from([15]), Buffer.alloc(32, 7)])
  return Buffer.concat([vint(body.length), body])
}

function block(type: number, flags: number, fields: Uint8Array[]): Buffer {
  const body = Buffer.concat([vint(type), vint(flags), ...fields])
  const sized = Buffer.concat([vint(body.length), body])
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(crc32(sized))
  return Buffer.concat([sum, sized])
}

/** RAR's variable-length number: seven bits a byte, lowest first. */
function vint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  do {
    const low = rest % 128
    rest = Math.floor(rest / 128)
    bytes.push(rest > 0 ? low | 0x80 : low)
  } while (rest > 0)
  return Buffer.from(bytes)
}
