import { randomBytes } from 'node:crypto'
import sharp from 'sharp'
import { largePlugin } from '#bench/stall/plugin.ts'
import { READING_LIST_ENTRIES_MAX } from '#core/shelves/reading-list.ts'

/** Files for every route that accepts one: valid, and as large as allowed. */

const COVER_BYTES_MAX = 20 * 1_048_576
/** No format compresses noise; a pixel of it takes three bytes of a PNG. */
const NOISE_SIDE = 2_600
const LIST_BYTES_MAX = 2 * 1_048_576
const MAP_BYTES = 8 * 1_048_576 - 1_000
/** The comment beside the code, which is compressed to three quarters. */
const COMMENT_BYTES = 1_700_000

let pictures: Promise<Record<'PNG' | 'JPEG', Buffer>> | null = null

/** Pictures just below the limit of covers; made once. */
export function largePictures(): Promise<Record<'PNG' | 'JPEG', Buffer>> {
  pictures ??= (async () => {
    const noise = (side: number) => sharp(randomBytes(side * side * 3), { raw: { width: side, height: side, channels: 3 } })
    const [png, jpeg] = await Promise.all([
      noise(NOISE_SIDE).png({ compressionLevel: 0 }).toBuffer(),
      noise(NOISE_SIDE).jpeg({ quality: 100, chromaSubsampling: '4:4:4' }).toBuffer(),
    ])
    for (const file of [png, jpeg]) if (file.length > COVER_BYTES_MAX) throw new Error(`A cover of ${file.length} bytes is too large.`)
    return { PNG: png, JPEG: jpeg }
  })()
  return pictures
}

/** A reading list with as many books and bytes as allowed. Some of the books are in the library, whose series all have the same title. */
export function largeReadingList(title: string): Buffer {
  const escaped = title.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`)
  const known = Math.min(READING_LIST_ENTRIES_MAX / 2, Math.floor(LIST_BYTES_MAX / 2 / (Buffer.byteLength(escaped) + 80)))
  const entries = Array.from({ length: READING_LIST_ENTRIES_MAX }, (_, index) => {
    const series = index < known ? escaped : `Élan ${index} vital – ß `.repeat(10).slice(0, 120)
    return `<Book Series="${series}" Number="${index < known ? 1 : index}" Volume="2020" Year="2020"/>`
  })
  return Buffer.from(`<ReadingList><Name>Large</Name><Books>${entries.join('')}</Books></ReadingList>`)
}

/** A package of nearly 10 MB unpacked, and three quarters of that packed: unpacking costs more than sending. */
export function largePackage(version: string): Buffer {
  return largePlugin(version, {
    comment: randomBytes((COMMENT_BYTES * 3) / 4).toString('base64'),
    map: Buffer.from(randomBytes((MAP_BYTES * 3) / 4).toString('base64')),
  })
}
