/** How many first bytes of a file determine its type. */
export const PICTURE_HEAD_BYTES = 32

/** Sizes of the header that follows "BM" and twelve bytes of file header: many texts begin with these two letters. */
const BITMAP_HEADERS = new Set([12, 16, 40, 52, 56, 64, 108, 124])

/** Brands of ISO base media files (ISO/IEC 23008-12, AV1 image format) that are pictures. */
const PICTURE_BRANDS: Record<string, string> = {
  avif: 'image/avif',
  avis: 'image/avif',
  heic: 'image/heic',
  heix: 'image/heic',
  heim: 'image/heic',
  heis: 'image/heic',
  hevc: 'image/heic',
  hevx: 'image/heic',
  mif1: 'image/heif',
  mif2: 'image/heif',
  msf1: 'image/heif',
}

const SIGNATURES: [signature: RegExp, mediaType: string][] = [
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^\x89PNG\r\n\x1a\n/, 'image/png'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^(II[*+]\0|MM\0[*+])/, 'image/tiff'],
  [/^(\xff\x0a|\0\0\0\x0cJXL \r\n\x87\n)/, 'image/jxl'],
  [/^(\0\0\0\x0cjP {2}\r\n\x87\n|\xff\x4f\xff\x51)/, 'image/jp2'],
]

/**
 * The type of a bitmap by its first bytes (at least {@link PICTURE_HEAD_BYTES}, or all of them); null when it is not a picture. Whether it
 * can be decoded is another question: formats that only browsers support are pictures too. SVG is not: it can run scripts.
 */
export function pictureTypeOf(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(PICTURE_HEAD_BYTES, bytes.byteLength))
  const text = head.toString('latin1')
  const known = SIGNATURES.find(([signature]) => signature.test(text))
  if (known) return known[1]
  if (text.startsWith('BM') && head.length >= 18 && BITMAP_HEADERS.has(head.readUInt32LE(14))) return 'image/bmp'
  if (text.slice(4, 8) !== 'ftyp') return null
  // The major brand, then a version, then the compatible ones: some writers name the format only there.
  for (const at of [8, 16, 20, 24, 28]) {
    const type = PICTURE_BRANDS[text.slice(at, at + 4)]
    if (type) return type
  }
  return null
}
