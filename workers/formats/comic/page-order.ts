import { isForeignFolder } from '#core/foundation/foreign-folder.ts'
import { normalizeText } from '#core/foundation/text.ts'
import { NAME_CHARACTERS_MAX } from '../../limits.ts'

/** Decides which entries of an archive are pages, and sorts them as people expect. */

const PAGE_TYPES = new Map(
  Object.entries({
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    jpe: 'image/jpeg',
    jfif: 'image/jpeg',
    png: 'image/png',
    gif: 'image/gif',
    webp: 'image/webp',
    avif: 'image/avif',
    jxl: 'image/jxl',
    heic: 'image/heic',
    bmp: 'image/bmp',
    tif: 'image/tiff',
    tiff: 'image/tiff',
  }),
)

/**
 * The media type of the extension, or null when the entry is not a page: another extension, a hidden file or folder, or
 * a folder of the operating system. SVG is not a page: it is a document with scripts, and no comic consists of it.
 */
export function pageTypeOf(name: string): string | null {
  const type = PAGE_TYPES.get(extensionOf(name).toLowerCase())
  if (type === undefined) return null
  for (const part of name.split('/')) {
    // "." and ".." are not hidden files: some tools write every name as "./001.jpg".
    if (part !== '.' && part !== '..' && isForeignFolder(part)) return null
  }
  return type
}

/** Without the dot; empty without one. */
const extensionOf = (name: string) => name.slice(name.lastIndexOf('.') + 1 || name.length)

/**
 * Sorts entries in natural order of their full names without the extension: numbers by value, ignoring case and accents, "p003" and a folder before longer
 * names with the same beginning. Equal names keep their order.
 */
export function inPageOrder<Entry extends { name: string }>(entries: readonly Entry[]): Entry[] {
  const keyed = entries.map((entry) => ({ entry, key: sortKey(entry.name) }))
  keyed.sort((a, b) => compareNatural(a.key, b.key) || compareText(a.entry.name, b.entry.name))
  return keyed.map(({ entry }) => entry)
}

const NON_ASCII = /[^\x00-\x7f]/

/**
 * The key to compare: plain lower-case letters, wide digits as digits. `/` becomes the lowest character, so that the pages of a folder stay together; the
 * extension becomes the next one, so that it does not count.
 */
function sortKey(name: string): string {
  const plain = NON_ASCII.test(name) ? normalizeText(name, NAME_CHARACTERS_MAX, 'NFKD').replace(/\p{M}/gu, '') : name
  const key = plain.toLowerCase().replaceAll('/', '\u0001')
  const extension = extensionOf(key)
  return PAGE_TYPES.has(extension) ? `${key.slice(0, -extension.length - 1)}\u0002` : key
}

/** Compares two keys, runs of digits by value at any length. Written by hand because Intl.Collator takes seconds for 70,000 names. */
function compareNatural(a: string, b: string): number {
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(j)
    if (isDigit(x) && isDigit(y)) {
      const endA = endOfDigits(a, i)
      const endB = endOfDigits(b, j)
      const startA = skipZeros(a, i, endA)
      const startB = skipZeros(b, j, endB)
      const longer = endA - startA - (endB - startB)
      if (longer !== 0) return longer
      for (let k = 0; k < endA - startA; k++) {
        const difference = a.charCodeAt(startA + k) - b.charCodeAt(startB + k)
        if (difference !== 0) return difference
      }
      i = endA
      j = endB
    } else if (x !== y) {
      return x - y
    } else {
      i++
      j++
    }
  }
  return a.length - i - (b.length - j)
}

const isDigit = (code: number) => code >= 0x30 && code <= 0x39

function endOfDigits(text: string, at: number): number {
  let end = at
  while (end < text.length && isDigit(text.charCodeAt(end))) end++
  return end
}

function skipZeros(text: string, at: number, end: number): number {
  let start = at
  while (start < end - 1 && text.charCodeAt(start) === 0x30) start++
  return start
}

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Normalizes an entry name: `/` as separator, no NUL (databases refuse it), no half characters, limited length. */
export function tidyName(name: string): string {
  const slashed = name.includes('\\') ? name.replaceAll('\\', '/') : name
  const whole = slashed.includes('\0') ? slashed.replaceAll('\0', '\ufffd') : slashed
  // Cut from the front: the extension at the end decides whether the entry is a page.
  const short = whole.length > NAME_CHARACTERS_MAX ? whole.slice(-NAME_CHARACTERS_MAX) : whole
  return short.isWellFormed() ? short : short.toWellFormed()
}
