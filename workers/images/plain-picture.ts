import { createHash } from 'node:crypto'
import type { Problem } from '#core/fields/analysis.ts'
import { bufferOf } from '#core/foundation/byte-view.ts'
import { pictureTypeOf } from '#core/reading/picture-type.ts'
import { BookProblem } from '../book-problem.ts'
import type { DrawingRequest, DrawPdfPage } from '../drawing.ts'
import { ENTRY_BYTES_MAX, HEAD_BYTES_RETRY } from '../limits.ts'
import { measurePicture } from './image.ts'

/** Each scan of a JPEG covers the whole picture before its first row is available. Ordinary writers make ten, the most thorough twenty. */
const SCANS_MAX = 24
/** A JPEG cannot have a longer side; strips for scrolling come near it. */
export const SIDE_MAX = 65_500
/** Pictures that cannot be decoded row by row are unpacked whole: at eight bytes a pixel, as in some PNGs, this takes a third of a gigabyte. */
const WHOLE_PIXELS_MAX = 40_000_000
/** Texts and profiles of a PNG are unpacked before its first row, each up to some megabytes. Ordinary writers add fewer than ten. */
const PACKED_CHUNKS_MAX = 50
/** Beginning and end of a picture, from which its key is computed. */
const KNOWN_BY_BYTES = 65_536

/** The picture to decode, or why there is none. */
type PlainPicture = { bytes: Uint8Array } | { problem: Problem }

/**
 * Whether the pixels of a picture bound the time and memory of decoding it. The others may keep native code busy for hours without checking
 * a timeout: drawings (SVG), pictures composed of others (HEIF, AVIF), thousands of scans, frames or directories. Large ones that cannot be
 * decoded row by row would take gigabytes of the server's memory. Bitmaps are decoded in JavaScript, which would block the server's thread.
 */
export function isPlainPicture(bytes: Uint8Array): boolean {
  switch (pictureTypeOf(bytes)) {
    case 'image/jpeg': {
      const scans = countMarks(bytes, '\xff\xda', SCANS_MAX)
      return scans <= SCANS_MAX && (scans <= 1 || isSmall(bytes))
    }
    case 'image/webp':
      return !isMovingWebp(bytes) && isSmall(bytes)
    case 'image/png':
      return hasFewPackedChunks(bytes) && (!isInterlaced(bytes) || isSmall(bytes))
    case 'image/gif':
      return isSmall(bytes)
    default:
      return false
  }
}

/**
 * A picture that is safe to decode here: itself, or a JPEG of it drawn by another process, which ends at a deadline.
 * @param fit.width in pixels, never enlarged
 */
export async function makePlain(
  bytes: Uint8Array,
  fit: { width: number; height?: number; purpose: DrawingRequest['purpose'] },
  draw: DrawPdfPage | undefined,
): Promise<PlainPicture> {
  if (draw === undefined || isPlainPicture(bytes)) return { bytes }
  if (bytes.length > ENTRY_BYTES_MAX) return { problem: { type: 'thumbnail', message: 'The picture is too large to draw.', fatal: false } }
  const { width, height = SIDE_MAX, purpose } = fit
  const outcome = await draw({ path: nameOf(bytes), index: 0, longestSide: width, purpose, picture: { bytes, width, height } })
  return 'problem' in outcome ? outcome : { bytes: outcome.jpeg }
}

/** The same for a cover while its book is analyzed. @throws BookProblem (`thumbnail`) */
export async function makePlainCover(bytes: Uint8Array, side: number, draw: DrawPdfPage | undefined): Promise<Uint8Array> {
  const plain = await makePlain(bytes, { width: side, height: side, purpose: 'cover' }, draw)
  if ('bytes' in plain) return plain.bytes
  throw new BookProblem('thumbnail', plain.problem.message, plain.problem.details)
}

/** Replaces the path of a file as the key for refused drawings. */
function nameOf(bytes: Uint8Array): string {
  const hash = createHash('sha256').update(String(bytes.length)).update(bytes.subarray(0, KNOWN_BY_BYTES))
  return `picture ${hash.update(bytes.subarray(-KNOWN_BY_BYTES)).digest('hex')}`
}

/** Counts a mark, up to one more than `max`. Marks in metadata count too: such a picture is drawn in another process without need, which does no harm. */
function countMarks(bytes: Uint8Array, mark: string, max: number): number {
  const file = bufferOf(bytes)
  let count = 0
  for (let at = file.indexOf(mark, 0, 'latin1'); at >= 0 && count <= max; at = file.indexOf(mark, at + 2, 'latin1')) count++
  return count
}

/** A picture without a size, or whose size is far behind its beginning, counts as large and is decoded in another process. */
function isSmall(bytes: Uint8Array): boolean {
  const picture = measurePicture(bytes.subarray(0, HEAD_BYTES_RETRY)) ?? measurePicture(bytes)
  return picture !== null && picture.width * picture.height <= WHOLE_PIXELS_MAX
}

/** From the last byte of its header chunk, which must come first (PNG, section 11.2.1). */
const isInterlaced = (bytes: Uint8Array) => bytes[28] !== 0

const hasFewPackedChunks = (bytes: Uint8Array) =>
  ['zTXt', 'iTXt', 'iCCP'].every((type) => countMarks(bytes, type, PACKED_CHUNKS_MAX) <= PACKED_CHUNKS_MAX)

/** From the flag of its extended header (RFC 9649, section 2.7). */
function isMovingWebp(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(12, 16)).toString('latin1') === 'VP8X' && (bytes[20]! & 2) !== 0
}
