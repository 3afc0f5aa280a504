import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import type { Page, PageImage } from '#core/fields/analysis.ts'

/** Runs in the thread pool. */
const pack = promisify(deflate)

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const WHITE = 0xff

/** A white picture of the page's size, at one bit a pixel: the page of a fixed-layout book that shows nothing. */
export async function blankPicture({ width, height }: Pick<Page, 'width' | 'height'>): Promise<PageImage> {
  const [columns, rows] = [width ?? 1, height ?? 1]
  const header = Buffer.alloc(13)
  header.writeUInt32BE(columns, 0)
  header.writeUInt32BE(rows, 4)
  // One bit of gray; the other members are 0 for the only methods that there are.
  header[8] = 1
  // Each row begins with its filter: none.
  const row = Buffer.alloc(1 + Math.ceil(columns / 8), WHITE).fill(0, 0, 1)
  const pixels = Buffer.alloc(row.length * rows, row)
  const data = await pack(pixels)
  return {
    bytes: Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]),
    mediaType: 'image/png',
  }
}

/** Length, type, data and checksum (PNG, section 5.3). */
function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
