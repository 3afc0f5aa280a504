import { crc32 } from 'node:zlib'
import { tidyName } from '../comic/page-order.ts'

/**
 * Decodes entry names of a zip. The format has two standards (the UTF-8 flag and Info-ZIP's Unicode Path field), and many
 * archives use neither: those are UTF-8 if valid, Shift-JIS if they look Japanese, else CP437 as the standard says.
 */

export interface RawName {
  bytes: Buffer
  flaggedUtf8: boolean
  /** The extra fields of the directory entry. */
  extra: Buffer
}

const ASCII_ONLY = /^[\x01-\x7f]*$/
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })
const lenientUtf8 = new TextDecoder('utf-8')
const strictShiftJis = new TextDecoder('shift_jis', { fatal: true })

/** Names in the same order, with `/` as separator, without NUL (databases refuse it), and within the length limit. */
export function decodeNames(names: RawName[]): string[] {
  const decoded: (string | null)[] = names.map(decodeCertain)
  const uncertain = names.filter((_, index) => decoded[index] === null).map((name) => name.bytes)
  // One program wrote the archive in one code page, so all its names are decoded alike.
  const japanese = uncertain.length > 0 && looksShiftJis(uncertain)
  return names.map((name, index) => {
    const text = decoded[index]
    return tidyName(text ?? (japanese ? strictShiftJis.decode(name.bytes) : decodeCp437(name.bytes)))
  })
}

function decodeCertain(name: RawName): string | null {
  const plain = name.bytes.toString('latin1')
  if (ASCII_ONLY.test(plain) && name.extra.length === 0) return plain
  const unicodePath = findUnicodePath(name)
  if (unicodePath !== null) return unicodePath
  if (ASCII_ONLY.test(plain)) return plain
  if (name.flaggedUtf8) return lenientUtf8.decode(name.bytes)
  return decodeStrictly(strictUtf8, name.bytes)
}

/** Info-ZIP extra field 0x7075: version 1, CRC-32 of the plain name (stale when a tool renamed the entry), UTF-8 name. */
function findUnicodePath(name: RawName): string | null {
  const { extra } = name
  for (let at = 0; at + 4 <= extra.length; ) {
    const id = extra.readUInt16LE(at)
    const end = at + 4 + extra.readUInt16LE(at + 2)
    if (end > extra.length) return null
    if (id === 0x7075 && end - at > 9 && extra[at + 4] === 1 && extra.readUInt32LE(at + 5) === crc32(name.bytes)) {
      return decodeStrictly(strictUtf8, extra.subarray(at + 9, end))
    }
    at = end
  }
  return null
}

function decodeStrictly(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

/**
 * Nearly any pair of bytes is valid Shift-JIS, so validity alone would decode "über" as "｜er". Japanese text has runs of
 * kana and kanji whose second byte is mostly high too; a European accent is a single byte before a letter.
 */
function looksShiftJis(names: Buffer[]): boolean {
  let likely = 0
  let unlikely = 0
  for (const bytes of names) {
    if (decodeStrictly(strictShiftJis, bytes) === null) return false
    for (let at = 0; at < bytes.length; at++) {
      const first = bytes[at]!
      if (first < 0x80) continue
      if (first >= 0xa0 && first <= 0xdf) {
        unlikely++ // half-width katakana: rare in names, but ú, ñ and ¿ in CP437
        continue
      }
      const second = bytes[++at]!
      if (isJapanesePair(first, second)) likely++
      else unlikely++
    }
  }
  return likely > unlikely
}

function isJapanesePair(first: number, second: number): boolean {
  const kana = (first === 0x82 && second >= 0x9f) || (first === 0x83 && second <= 0x96)
  const kanji = (first >= 0x88 && first <= 0x9f) || first >= 0xe0
  const letterOfAsciiText = (second >= 0x41 && second <= 0x5a) || (second >= 0x61 && second <= 0x7a)
  const punctuation = first === 0x81 && second >= 0x40 && second <= 0xac
  return (kana || kanji || punctuation) && !(letterOfAsciiText && !kana)
}

const CP437_UPPER =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0'

function decodeCp437(bytes: Buffer): string {
  let text = ''
  for (const byte of bytes) text += byte < 0x80 ? String.fromCharCode(byte) : CP437_UPPER[byte - 0x80]
  return text
}
