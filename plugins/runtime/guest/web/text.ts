import { DOMException } from './dom-exception.ts'

const { apply } = Reflect
const { fromCharCode } = String
const Bytes = Uint8Array
const Buffer = ArrayBuffer
const { isView } = ArrayBuffer

/** At most as many as a call may have arguments. */
const UNITS_AT_ONCE = 4_000

const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000

export class TextEncoder {
  get encoding(): string {
    return 'utf-8'
  }

  encode(given: unknown = ''): Uint8Array<ArrayBuffer> {
    const text = `${given}`
    let length = 0
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      length += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
      if (unit >= 0xd800 && unit < 0xdc00 && isLow(text.charCodeAt(at + 1))) {
        length += 1
        at += 1
      }
    }
    const bytes = new Bytes(length)
    this.encodeInto(text, bytes)
    return bytes
  }

  encodeInto(given: unknown, bytes: Uint8Array): { read: number; written: number } {
    const text = `${given}`
    let read = 0
    let written = 0
    while (read < text.length) {
      let point = text.charCodeAt(read)
      let units = 1
      if (point >= 0xd800 && point < 0xe000) {
        const low = text.charCodeAt(read + 1)
        if (point < 0xdc00 && isLow(low)) {
          point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00)
          units = 2
        } else point = 0xfffd
      }
      const size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
      if (written + size > bytes.length) break
      if (size === 1) bytes[written] = point
      else {
        for (let more = size - 1, rest = point; more > 0; more--, rest >>= 6) bytes[written + more] = 0x80 | (rest & 0x3f)
        bytes[written] = ((0xf00 >> size) & 0xff) | (point >> (6 * (size - 1)))
      }
      written += size
      read += units
    }
    return { read, written }
  }
}

function bytesOf(given: unknown): Uint8Array {
  if (given === undefined) return new Bytes(0)
  if (isView(given)) return new Bytes(given.buffer, given.byteOffset, given.byteLength)
  if (given instanceof Buffer) return new Bytes(given)
  throw new TypeError('Bytes must be an ArrayBuffer or a view of one.')
}

export class TextDecoder {
  readonly #fatal
  readonly #ignoreBOM

  constructor(label: unknown = 'utf-8', options: { fatal?: unknown; ignoreBOM?: unknown } | null = {}) {
    if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(`${label}`)) throw new RangeError(`Only utf-8 can be decoded, not ${label}.`)
    this.#fatal = Boolean(options?.fatal)
    this.#ignoreBOM = Boolean(options?.ignoreBOM)
  }

  get encoding(): string {
    return 'utf-8'
  }

  get fatal(): boolean {
    return this.#fatal
  }

  get ignoreBOM(): boolean {
    return this.#ignoreBOM
  }

  decode(given?: unknown): string {
    const bytes = bytesOf(given)
    let at = !this.#ignoreBOM && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
    let text = ''
    let units: number[] = []
    while (at < bytes.length) {
      const { point, next } = pointAt(bytes, at)
      if (point < 0 && this.#fatal) throw new TypeError('These bytes are not valid utf-8.')
      at = next
      if (point > 0xffff) units.push(0xd800 + ((point - 0x10000) >> 10), 0xdc00 + (point & 0x3ff))
      else units.push(point < 0 ? 0xfffd : point)
      if (units.length > UNITS_AT_ONCE) {
        text += apply(fromCharCode, undefined, units)
        units = []
      }
    }
    return text + apply(fromCharCode, undefined, units)
  }
}

/** The code point at this byte, -1 where there is none, and the byte after it. */
function pointAt(bytes: Uint8Array, start: number): { point: number; next: number } {
  let at = start
  const first = bytes[at++] as number
  if (first < 0x80) return { point: first, next: at }
  let needed = first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2 : first >= 0xf0 && first <= 0xf4 ? 3 : -1
  let point = first & (0x3f >> needed)
  let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
  let high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
  for (; needed > 0 && (bytes[at] as number) >= low && (bytes[at] as number) <= high; needed--) {
    point = (point << 6) | ((bytes[at++] as number) & 0x3f)
    low = 0x80
    high = 0xbf
  }
  return { point: needed === 0 ? point : -1, next: at }
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const badCharacter = (what: string) => new DOMException(what, 'InvalidCharacterError')
const letter = (digit: number): string => LETTERS[digit] as string

export function btoa(given: unknown): string {
  const text = `${given}`
  let result = ''
  for (let at = 0; at < text.length; at += 3) {
    const [a, b, c] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)]
    if (a > 255 || b > 255 || c > 255)
      throw badCharacter('btoa supports only characters below U+0100; encode others with TextEncoder first.')
    const left = text.length - at
    result += letter(a >> 2) + letter(((a & 3) << 4) | (b >> 4))
    result += (left > 1 ? letter(((b & 15) << 2) | (c >> 6)) : '=') + (left > 2 ? letter(c & 63) : '=')
  }
  return result
}

export function atob(given: unknown): string {
  let text = `${given}`.replace(/[\t\n\f\r ]/g, '')
  if (text.length % 4 === 0) text = text.replace(/={1,2}$/, '')
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) throw badCharacter('This is not valid base64.')
  let result = ''
  let bits = 0
  let buffered = 0
  for (let at = 0; at < text.length; at++) {
    buffered = ((buffered << 6) | LETTERS.indexOf(text[at] as string)) & 0xffff
    bits += 6
    if (bits >= 8) {
      bits -= 8
      result += fromCharCode((buffered >> bits) & 0xff)
    }
  }
  return result
}
