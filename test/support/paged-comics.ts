import { createHash } from 'node:crypto'
import { buildZip } from '#test/support/zip-builder.ts'

/** A GIF of one pixel, whose palette begins at byte 13. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

function pageOf(seed: string): Buffer {
  const page = Buffer.from(PIXEL)
  createHash('sha256').update(seed).digest().copy(page, 13, 0, 6)
  return page
}

/**
 * A comic whose pages are those of no other name: `one` has three, `one:5` has five, and `one+tag` the same ones with ComicInfo.
 * @param options.isPadded gives each name another size; otherwise comics with as many pages have the same
 */
export function comicOfPages(content: string, { isPadded = false } = {}): Buffer {
  const [described = '', tag] = content.split('+')
  const [name, count = '3'] = described.split(':')
  const entries = Array.from({ length: Number(count) }, (_, index) => ({ name: `${index + 1}.gif`, data: pageOf(`${name} ${index}`) }))
  const info = `<ComicInfo><Summary>${name} ${tag}</Summary></ComicInfo>`
  const comment = Buffer.alloc(isPadded ? (createHash('sha256').update(described).digest()[0] as number) : 0)
  return buildZip(tag === undefined ? entries : [...entries, { name: 'ComicInfo.xml', data: Buffer.from(info) }], { comment })
}
