import { createHash } from 'node:crypto'
import { buildZip, type ZipPart } from '#test/support/zip-builder.ts'

/** What a file of a random walk contains. */
export interface Content {
  /** Makes the size of the file unlike that of every other content. */
  serial: number
  /** The number of its first picture; the next pages have the next numbers. */
  picture: number
  pages: number
  /** Whether a program has added a ComicInfo.xml: other bytes, the same pages. */
  isTagged: boolean
}

/** Larger than every content of the walk before its padding. */
const BYTES_MIN = 3_000

/** As many as tell a picture from a blank one, see workers/formats/pages-hash.ts. */
const PICTURE_BYTES = 80

/** A GIF of one pixel, whose colors are the number. */
function picture(number: number): Buffer {
  const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
  gif.writeUInt32BE(number, 13)
  return Buffer.concat([gif], PICTURE_BYTES)
}

const built = new Map<string, { bytes: Buffer; hash: string }>()

/** The file of a content, and its SHA-256. */
export function fileOf(content: Content): { bytes: Buffer; hash: string } {
  const { serial, picture: first, pages, isTagged } = content
  const key = JSON.stringify([serial, first, pages, isTagged])
  const known = built.get(key)
  if (known) return known
  const parts: ZipPart[] = Array.from({ length: pages }, (_, index) => ({ name: `${index + 1}.gif`, data: picture(first + index) }))
  if (isTagged) parts.push({ name: 'ComicInfo.xml', data: Buffer.from(`<ComicInfo><Writer>Writer ${serial}</Writer></ComicInfo>`) })
  const padding = Buffer.alloc(BYTES_MIN + serial - buildZip(parts).length, 32)
  const bytes = buildZip(parts, { comment: padding })
  const file = { bytes, hash: createHash('sha256').update(bytes).digest('hex') }
  built.set(key, file)
  return file
}

export const isEqual = (one: Content, other: Content): boolean => fileOf(one).hash === fileOf(other).hash

/** Whether two contents have the same pages. */
export const hasSamePages = (one: Content, other: Content): boolean => one.picture === other.picture && one.pages === other.pages
