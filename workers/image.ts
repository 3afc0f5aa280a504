import { disableTypes, imageSize } from 'image-size'
import sharp from 'sharp'
import type { Cover, PageOutcome } from '#core/book/analysis.ts'
import { BookFault } from './fault.ts'
import { HEAD_BYTES, HEAD_BYTES_RETRY, PIXELS_MAX, THUMBNAIL_JPEG_QUALITY, THUMBNAIL_LONGEST_SIDE } from './limits.ts'

// Threads are ours to give out; libvips' own would fight them for the same cores, and its cache never hits here.
sharp.concurrency(1)
sharp.cache(false)

/** Formats that are no pages: some are told by so little that text passes for them. */
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

/** Measures from the picture's first bytes; null when they are too few or no picture at all. */
export function measurePicture(bytes: Uint8Array): Picture | null {
  try {
    // A Buffer's slice shares memory, a plain Uint8Array's copies it, and image-size slices at every marker.
    const view = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const size = imageSize(view)
    const mediaType = MEDIA_TYPES[size.type ?? '']
    if (mediaType === undefined || !(size.width > 0 && size.height > 0)) return null
    const lying = (size.orientation ?? 1) >= 5 || (isHeif(mediaType) && turnsSideways(view))
    return { mediaType, width: lying ? size.height : size.width, height: lying ? size.width : size.height }
  } catch {
    // image-size throws on anything it does not know or that ends too early.
    return null
  }
}

const isHeif = (mediaType: string) => mediaType === 'image/avif' || mediaType === 'image/heic' || mediaType === 'image/heif'

/** HEIF turns pictures by a property box "irot" (ISO 23008-12): a quarter turn per unit. */
function turnsSideways(bytes: Buffer): boolean {
  const at = bytes.subarray(0, HEAD_BYTES).indexOf('irot', 0, 'latin1')
  return at >= 0 && at + 4 < bytes.length && (bytes[at + 4]! & 1) === 1
}

/**
 * Measures an entry by reading as little of it as will do: 2 KiB, else 64 KiB (long metadata before the size), else all
 * of it (TIFF keeps its directory at the end), the last only for what begins like a picture. `read` gives at least
 * `bytes` bytes when the entry has them, and may throw {@link BookFault}.
 */
export function measureEntry(entryBytes: number, read: (bytes: number) => Uint8Array): Picture | null {
  const head = read(HEAD_BYTES)
  const picture = measurePicture(head)
  if (picture || entryBytes <= HEAD_BYTES || !beginsLikePicture(head)) return picture
  const more = measurePicture(read(HEAD_BYTES_RETRY))
  if (more || entryBytes <= HEAD_BYTES_RETRY) return more
  return measurePicture(read(entryBytes))
}

/** The signatures of the formats in {@link MEDIA_TYPES}. */
const SIGNATURES = /^(\xff\xd8|\x89PNG|GIF8|RIFF....WEBP|BM|II[*+]\0|MM\0[*+]|....ftyp|\xff\x0a|\0\0\0\x0cJXL )/s

function beginsLikePicture(bytes: Uint8Array): boolean {
  return SIGNATURES.test(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(16, bytes.byteLength)).toString('latin1'))
}

/** A JPEG whose longest side is 400 pixels at most, never enlarged. Throws {@link BookFault} (`thumbnail`) when the picture cannot be decoded. */
export async function makeThumbnail(bytes: Uint8Array): Promise<Cover> {
  try {
    const { data, info } = await open(bytes)
      .resize({ width: THUMBNAIL_LONGEST_SIDE, height: THUMBNAIL_LONGEST_SIDE, fit: 'inside', withoutEnlargement: true })
      .flatten({ background: 'white' })
      .jpeg({ quality: THUMBNAIL_JPEG_QUALITY })
      .toBuffer({ resolveWithObject: true })
    return { jpeg: data, width: info.width, height: info.height }
  } catch (error) {
    throw new BookFault('thumbnail', 'The picture cannot be decoded.', { reason: (error as Error).message })
  }
}

/** A copy no wider than `width`, never enlarged; `format` null keeps jpeg, png and webp, and turns the rest into jpeg. */
export async function resizePicture(request: {
  bytes: Uint8Array
  width: number
  format: 'jpeg' | 'png' | 'webp' | null
}): Promise<PageOutcome> {
  const own = measurePicture(request.bytes)?.mediaType
  const format = request.format ?? (own === 'image/png' ? 'png' : own === 'image/webp' ? 'webp' : 'jpeg')
  try {
    const resized = open(request.bytes).resize({ width: request.width, withoutEnlargement: true })
    const flat = format === 'jpeg' ? resized.flatten({ background: 'white' }) : resized
    // effort 1: half the CPU of the default for a few per cent more bytes.
    const encoded = format === 'jpeg' ? flat.jpeg({ quality: 85 }) : format === 'png' ? flat.png() : flat.webp({ quality: 80, effort: 1 })
    return { bytes: await encoded.toBuffer(), mediaType: `image/${format}` }
  } catch (error) {
    return {
      problem: {
        type: 'page_extraction',
        message: 'The picture of this page cannot be decoded.',
        details: { reason: (error as Error).message },
        fatal: false,
      },
    }
  }
}

/** `truncated`: half a picture is refused, small flaws that every viewer overlooks are not. */
function open(bytes: Uint8Array) {
  return sharp(bytes, { limitInputPixels: PIXELS_MAX, failOn: 'truncated', sequentialRead: true }).autoOrient()
}
