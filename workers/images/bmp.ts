import { bufferOf } from '#core/foundation/byte-view.ts'
import { BookProblem } from '../book-problem.ts'

/** A picture as rows of RGB, top down. */
interface RawPicture {
  width: number
  height: number
  rgb: Buffer
}

/** Decoded in our own memory at 3 bytes a pixel; bitmaps in comics are screen captures and old scans. */
const PIXELS_MAX = 50_000_000

interface Layout {
  width: number
  height: number
  topDown: boolean
  bits: number
  compression: number
  palette: Buffer
  /** Bytes of a palette color: 3 in the OS/2 header, else 4. */
  colorBytes: number
  pixels: Buffer
  masks: [number, number, number]
}

const RGB = 0
const RLE8 = 1
const RLE4 = 2
const BITFIELDS = 3
const ALPHA_BITFIELDS = 6

/**
 * Decodes a Windows or OS/2 bitmap, which libvips does not support. The canvas decodes bitmaps, but refuses palettes that are shorter than their header
 * declares, shows truncated pictures as complete, and takes memory outside the limit of a thread. Throws {@link BookProblem} (`thumbnail`) for rare kinds and for damage.
 */
export function decodeBmp(bytes: Uint8Array): RawPicture {
  const layout = readLayout(bufferOf(bytes))
  const { width, height, topDown } = layout
  const rgb = Buffer.alloc(width * height * 3, 0xff)
  const paint = (x: number, row: number, color: number): void => {
    if (x >= width || row >= height) return
    const at = ((topDown ? row : height - 1 - row) * width + x) * 3
    rgb[at] = color >> 16
    rgb[at + 1] = color >> 8
    rgb[at + 2] = color
  }
  if (layout.compression === RLE8 || layout.compression === RLE4) paintRuns(layout, paint)
  else paintRows(layout, paint)
  return { width, height, rgb }
}

function readLayout(file: Buffer): Layout {
  if (file.length < 26) throw damaged()
  const headerBytes = file.readUInt32LE(14)
  const old = headerBytes === 12
  if (!old && file.length < 54) throw damaged()
  const width = old ? file.readUInt16LE(18) : file.readInt32LE(18)
  const signedHeight = old ? file.readInt16LE(20) : file.readInt32LE(22)
  const bits = file.readUInt16LE(old ? 24 : 28)
  const compression = old ? RGB : file.readUInt32LE(30)
  const height = Math.abs(signedHeight)
  if (width <= 0 || height === 0 || ![1, 4, 8, 16, 24, 32].includes(bits)) throw damaged()
  if (width * height > PIXELS_MAX)
    throw new BookProblem('thumbnail', `The bitmap is larger than Carrel decodes (${width} × ${height} pixels).`)
  if (![RGB, RLE8, RLE4, BITFIELDS, ALPHA_BITFIELDS].includes(compression)) throw damaged()
  const masked = compression === BITFIELDS || compression === ALPHA_BITFIELDS
  if (masked && file.length < 66) throw damaged()
  return {
    width,
    height,
    topDown: signedHeight < 0,
    bits,
    compression,
    palette: file.subarray(14 + headerBytes),
    colorBytes: old ? 3 : 4,
    pixels: file.subarray(file.readUInt32LE(10)),
    // The masks follow a 40-byte header or are part of a longer one, at the same offset.
    masks: masked
      ? [file.readUInt32LE(54), file.readUInt32LE(58), file.readUInt32LE(62)]
      : bits === 16
        ? [0x7c00, 0x3e0, 0x1f]
        : [0xff0000, 0xff00, 0xff],
  }
}

type Paint = (x: number, row: number, color: number) => void

function paintRows(layout: Layout, paint: Paint): void {
  const { width, height, bits, pixels } = layout
  // Rows are padded to four bytes.
  const rowBytes = Math.ceil((width * bits) / 32) * 4
  if (pixels.length < rowBytes * (height - 1) + Math.ceil((width * bits) / 8)) throw damaged()
  for (let row = 0; row < height; row++) {
    const start = row * rowBytes
    for (let x = 0; x < width; x++) paint(x, row, colorAt(layout, start, x))
  }
}

function colorAt(layout: Layout, rowStart: number, x: number): number {
  const { bits, pixels, masks } = layout
  if (bits === 24) return pixels.readUIntLE(rowStart + x * 3, 3)
  if (bits === 32) return masksOf(pixels.readUInt32LE(rowStart + x * 4), masks)
  if (bits === 16) return masksOf(pixels.readUInt16LE(rowStart + x * 2), masks)
  const perByte = 8 / bits
  const byte = pixels[rowStart + Math.floor(x / perByte)]!
  return paletteColor(layout, (byte >> (8 - bits * ((x % perByte) + 1))) & ((1 << bits) - 1))
}

function masksOf(value: number, masks: [number, number, number]): number {
  return masks.reduce((color, mask) => {
    if (mask === 0) return color << 8
    const shift = 31 - Math.clz32(mask & -mask)
    return (color << 8) | Math.round((((value & mask) >>> shift) * 255) / (mask >>> shift))
  }, 0)
}

function paletteColor({ palette, colorBytes }: Layout, index: number): number {
  const at = index * colorBytes
  return at + 3 <= palette.length ? palette.readUIntLE(at, 3) : 0
}

/** Run-length encoding: pairs of count and value, with escapes for end of row, end of picture, jumps and literal runs. */
function paintRuns(layout: Layout, paint: Paint): void {
  const { pixels, compression, height } = layout
  const perByte = compression === RLE4 ? 2 : 1
  const value = (byte: number, nth: number) => paletteColor(layout, perByte === 1 ? byte : nth % 2 === 0 ? byte >> 4 : byte & 15)
  let x = 0
  let row = 0
  for (let at = 0; at + 1 < pixels.length && row < height; at += 2) {
    const count = pixels[at]!
    const second = pixels[at + 1]!
    if (count > 0) {
      for (let nth = 0; nth < count; nth++) paint(x++, row, value(second, nth))
    } else if (second === 0) {
      x = 0
      row++
    } else if (second === 1) {
      return
    } else if (second === 2) {
      x += pixels[at + 2] ?? 0
      row += pixels[at + 3] ?? 0
      at += 2
    } else {
      for (let nth = 0; nth < second; nth++) paint(x++, row, value(pixels[at + 2 + Math.floor(nth / perByte)] ?? 0, nth))
      // Literal runs are padded to two bytes.
      at += Math.ceil(second / perByte / 2) * 2
    }
  }
}

function damaged(): BookProblem {
  return new BookProblem('thumbnail', 'The bitmap is damaged or of an unknown kind.')
}
