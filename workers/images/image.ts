import { disableTypes, imageSize } from 'image-size'
import sharp, { type Sharp } from 'sharp'
import type { DrawCover } from '#core/covers/cover.ts'
import type { Cover, DescribedCover, PageOutcome } from '#core/fields/analysis.ts'
import { bufferOf } from '#core/foundation/byte-view.ts'
import { pictureTypeOf } from '#core/reading/picture-type.ts'
import { BookProblem } from '../book-problem.ts'
import { DECODE_SECONDS_MAX, HEAD_BYTES, HEAD_BYTES_RETRY, JPEG_QUALITY, PIXELS_MAX, THUMBNAIL_LONGEST_SIDE } from '../limits.ts'
import { decodeBmp } from './bmp.ts'
import { colorOf } from './cover-color.ts'

// Our pool assigns threads; libvips' own would compete for the same cores. Its cache never hits here, but without any, each operation is removed at once under a
// lock of the whole process, which makes small pictures take an eighth longer; with more than a megabyte in use it keeps none.
sharp.concurrency(1)
sharp.cache({ items: 20, memory: 1, files: 0 })

/** Formats that pages never have; the signatures of some are so short that text matches them. */
disableTypes(['cur', 'dds', 'icns', 'ico', 'j2c', 'jp2', 'ktx', 'pnm', 'psd', 'svg', 'tga'])

export interface Picture {
  mediaType: string
  /** Pixels as shown, EXIF orientation applied. */
  width: number
  height: number
}

const MEDIA_TYPES: Record<string, string> = {
  jpg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  heic: 'image/heic',
  heif: 'image/heif',
  bmp: 'image/bmp',
  tiff: 'image/tiff',
  bigtiff: 'image/tiff',
  jxl: 'image/jxl',
  'jxl-stream': 'image/jxl',
}

/** Measures a picture by its first bytes; null when they are too few or not of a picture. */
export function measurePicture(bytes: Uint8Array): Picture | null {
  try {
    const view = ownMemory(bytes)
    const size = imageSize(view)
    const mediaType = MEDIA_TYPES[size.type ?? '']
    if (mediaType === undefined || !(size.width > 0 && size.height > 0)) return null
    const turned = (size.orientation ?? 1) >= 5 || (isHeif(mediaType) && turnsSideways(view))
    return { mediaType, width: turned ? size.height : size.width, height: turned ? size.width : size.height }
  } catch {
    // image-size throws on anything it does not know or that ends too early.
    return null
  }
}

/**
 * image-size reads through the view into the memory behind it, where it finds sizes outside the picture. A Buffer,
 * because its slices share memory and those of a plain Uint8Array are copies.
 */
function ownMemory(bytes: Uint8Array): Buffer {
  const whole = bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : new Uint8Array(bytes).buffer
  return Buffer.from(whole)
}

const isHeif = (mediaType: string) => mediaType === 'image/avif' || mediaType === 'image/heic' || mediaType === 'image/heif'

/** HEIF rotates pictures with the property box "irot" (ISO 23008-12), one quarter turn per unit. */
function turnsSideways(bytes: Buffer): boolean {
  const at = bytes.subarray(0, HEAD_BYTES).indexOf('irot', 0, 'latin1')
  return at >= 0 && at + 4 < bytes.length && (bytes[at + 4]! & 1) === 1
}

/**
 * Measures an entry by reading as little of it as possible: 2 KiB, else 64 KiB (long metadata before the size), else all
 * of it (TIFF has its directory at the end), the last only for data that begins like a picture. `read` returns at least
 * `bytes` bytes when the entry has them, and may throw {@link BookProblem}.
 */
export function measureEntry(entryBytes: number, read: (bytes: number) => Uint8Array): Picture | null {
  const head = read(HEAD_BYTES)
  const picture = measurePicture(head)
  if (picture || entryBytes <= HEAD_BYTES || pictureTypeOf(head) === null) return picture
  const more = measurePicture(read(HEAD_BYTES_RETRY))
  if (more || entryBytes <= HEAD_BYTES_RETRY) return more
  return measurePicture(read(entryBytes))
}

/** A JPEG whose longest side is at most 400 pixels, or another length, never enlarged. Throws {@link BookProblem} (`thumbnail`) when the picture cannot be decoded. */
export async function makeThumbnail(bytes: Uint8Array, side: number = THUMBNAIL_LONGEST_SIDE): Promise<DescribedCover> {
  const cover = await decoding(bytes, (picture) => drawInside(picture, { width: side, height: side }, JPEG_QUALITY))
  return { ...cover, color: await colorOf(cover.jpeg) }
}

/** A JPEG of any picture, fit into these sides. Only for a process that ends at a deadline. Throws {@link BookProblem} (`thumbnail`). */
export async function drawPlain(bytes: Uint8Array, fit: { width: number; height: number }): Promise<Cover> {
  return decoding(bytes, (picture) => drawInside(picture, fit, PLAIN_QUALITY))
}

async function drawInside(picture: Sharp, fit: { width: number; height: number }, quality: number): Promise<Cover> {
  const { data, info } = await picture
    .resize({ ...fit, fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .jpeg({ quality })
    .toBuffer({ resolveWithObject: true })
  return { jpeg: data, width: info.width, height: info.height }
}

/** The picture is compressed once more afterwards, which must not be visible. */
const PLAIN_QUALITY = 95

/** The kinds of picture that users may upload as a cover; converted to JPEG, every client shows them. */
const COVER_TYPES = ['image/jpeg', 'image/png', 'image/webp', 'image/avif', 'image/gif']
/** Fills the screen of a tablet in portrait orientation; larger covers cost disk space and look the same. */
export const COVER_LONGEST_SIDE = 1600

/** By its first bytes. */
export const isCoverKind = (bytes: Uint8Array): boolean => COVER_TYPES.includes(pictureTypeOf(bytes) ?? '')

/** The kinds of picture that browsers show and libvips does not decode. */
const NOT_DRAWN = ['image/jxl', 'image/heic', 'image/heif', 'image/jp2']

/** Whether a picture may be whole although it cannot be drawn here. */
export const isNotDrawn = (bytes: Uint8Array): boolean => NOT_DRAWN.includes(pictureTypeOf(bytes) ?? '')

/** Makes both sizes of a cover from an uploaded picture; from the first frame of an animation. */
export const drawCover: DrawCover = async (bytes) => {
  if (!isCoverKind(bytes)) return { refused: 'kind' }
  try {
    const fit = { width: COVER_LONGEST_SIDE, height: COVER_LONGEST_SIDE }
    const large = await decoding(bytes, (picture) => drawInside(picture, fit, JPEG_QUALITY))
    return { large, small: await makeThumbnail(large.jpeg) }
  } catch (error) {
    if (!(error instanceof BookProblem)) throw error
    return { refused: 'damaged' }
  }
}

/** A copy at most `width` wide, never enlarged; `format` null keeps jpeg, png and webp, and converts the rest to jpeg. */
export async function resizePicture(request: {
  bytes: Uint8Array
  width: number
  height?: number
  format: 'jpeg' | 'png' | 'webp' | null
}): Promise<PageOutcome> {
  const own = pictureTypeOf(request.bytes)
  const format = request.format ?? (own === 'image/png' ? 'png' : own === 'image/webp' ? 'webp' : 'jpeg')
  try {
    const bytes = await decoding(request.bytes, (picture) => {
      const { width, height } = request
      const resized = picture.resize({ width, ...(height !== undefined && { height }), fit: 'inside', withoutEnlargement: true })
      if (format === 'png') return resized.png().toBuffer()
      // effort 1: half the CPU of the default for a few per cent more bytes.
      if (format === 'webp') return resized.webp({ quality: 80, effort: 1 }).toBuffer()
      return resized.flatten({ background: 'white' }).jpeg({ quality: JPEG_QUALITY }).toBuffer()
    })
    return { bytes, mediaType: `image/${format}` }
  } catch (error) {
    if (!(error instanceof BookProblem)) throw error
    return { problem: { ...error.problem, type: 'page_extraction', fatal: false } }
  }
}

/** Opens a picture for `use`; converts every error of libvips to a {@link BookProblem} (`thumbnail`). */
async function decoding<Result>(bytes: Uint8Array, use: (picture: Sharp) => Promise<Result>): Promise<Result> {
  try {
    if (bytes[0] === 0x42 && bytes[1] === 0x4d) {
      const { rgb, width, height } = decodeBmp(bytes)
      return await use(sharp(rgb, { raw: { width, height, channels: 3 } }).timeout({ seconds: DECODE_SECONDS_MAX }))
    }
    return await use(pictureFrom(bytes, 'truncated')).catch((error: unknown) => {
      // Every viewer shows a complete picture with a flaw (a wrong checksum, say); an incomplete one is refused.
      if (!isWhole(bytes)) throw error
      return use(pictureFrom(bytes, 'none'))
    })
  } catch (error) {
    if (error instanceof BookProblem) throw error
    throw new BookProblem('thumbnail', 'The picture cannot be decoded.', { reason: (error as Error).message })
  }
}

function pictureFrom(bytes: Uint8Array, failOn: 'truncated' | 'none'): Sharp {
  return sharp(bytes, { limitInputPixels: PIXELS_MAX, failOn, sequentialRead: true }).autoOrient().timeout({ seconds: DECODE_SECONDS_MAX })
}

/** Whether a JPEG or PNG has its end mark; a few extra bytes after it are common. */
function isWhole(bytes: Uint8Array): boolean {
  const end = bufferOf(bytes).subarray(-1024)
  return bytes[0] === 0xff ? end.includes('\xff\xd9', 0, 'latin1') : bytes[0] === 0x89 && end.includes('IEND', 0, 'latin1')
}
