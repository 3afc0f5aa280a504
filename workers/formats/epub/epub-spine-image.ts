import { BookProblem } from '../../book-problem.ts'
import { findDescendant, isElement, parseXml, type XmlElement, XmlError } from '../../metadata/xml.ts'
import type { ZipArchive, ZipEntry } from '../zip/zip.ts'
import { shownBesidesPictures, showsMore } from './epub-blank.ts'
import type { EpubPackage } from './epub-package.ts'
import type { ManifestItem } from './epub-spine.ts'
import { BookStyles } from './page-styles.ts'

/** A page with one picture is a kilobyte of markup; the rest of this limit is for inlined styles. Larger pages are text. */
const PICTURE_PAGE_BYTES_MAX = 64 * 1024

/** A cover page may come with a whole inlined style sheet. */
const COVER_PAGE_BYTES_MAX = 1024 * 1024

/** Bitmaps only: an SVG can run scripts, so it is never served as a page image. */
const BITMAP = /^image\/(?!svg)/

/** A picture without an address, with one of the page itself, or inside its address: converters leave these where there is nothing to show. */
const NO_PICTURE = /^\s*(?:$|[#?]|(?:data|about|blob|javascript):)/i

/** The picture of one spine item. `name` is its archive path, or its address on another host; `entry` is undefined when the archive lacks it or the page that shows it. */
export interface SpineImage {
  name: string
  entry: ZipEntry | undefined
  /** Why there is no picture to show: the page shows nothing at all, or words only. */
  instead?: 'nothing' | 'words'
}

/** A book of pictures may have an imprint; one with more pages of words than one in five is not read by its pictures. */
const PICTURES_PER_WORDS = 4

/**
 * The picture of each spine item when *every* item is exactly one picture, else null. A missing picture is still a page, and in a fixed-layout book so is
 * a picture on another host, and a page without any picture: otherwise a blank page would make a comic a text.
 * @throws BookProblem (`parser`) if the names of the pages make the texts of the book too long together
 */
export function findSpineImages(archive: ZipArchive, book: EpubPackage): SpineImage[] | null {
  const images: SpineImage[] = []
  const styles = new BookStyles(archive, book)
  for (const item of book.spine.items) {
    const image = findOnlyImage(archive, book, item, styles)
    if (image === undefined) return null
    // Many pages may show one picture, whose name is then as often in the list of pages.
    book.texts.addPath(image.name)
    images.push(image)
  }
  const pictures = images.filter((image) => image.entry !== undefined).length
  const words = images.filter((image) => image.instead === 'words').length
  return pictures > 0 && words * PICTURES_PER_WORDS <= pictures ? images : null
}

/** Undefined when the item has anything besides one picture, or in a book that is not fixed-layout has none. */
function findOnlyImage(archive: ZipArchive, book: EpubPackage, item: ManifestItem, styles: BookStyles): SpineImage | undefined {
  if (BITMAP.test(item.mediaType)) return { name: item.path, entry: item.entry }
  if (item.entry === undefined) return { name: item.path, entry: undefined }
  if (item.entry.bytes > PICTURE_PAGE_BYTES_MAX) return undefined
  const root = readPage(archive, item.entry, PICTURE_PAGE_BYTES_MAX)
  if (root === undefined) return undefined
  const from = item.entry.name
  const [href, ...others] = imageHrefs(root).filter((address) => !book.fixedLayout || !isNothing(book, address, from))
  const body = findDescendant(root, 'body') ?? root
  if (href === undefined) {
    const instead = book.fixedLayout ? shownBesidesPictures(body, styles.of(root, from)) : undefined
    return instead && { name: from, entry: undefined, instead }
  }
  if (others.length > 0 || showsMore(body)) return undefined
  const found = book.resolve(href, from)
  if (found === undefined) return book.fixedLayout ? { name: href.trim(), entry: undefined } : undefined
  return found.entry !== undefined && isSvgName(found.path) ? undefined : { name: found.path, entry: found.entry }
}

/** A name may begin with `#` or `?` as well: then the file is there. */
function isNothing(book: EpubPackage, address: string, from: string): boolean {
  return NO_PICTURE.test(address) && book.resolve(address, from)?.entry === undefined
}

/** The first picture in a page, for covers; undefined when there is none or the page cannot be read. */
export function findFirstImage(archive: ZipArchive, book: EpubPackage, page: ZipEntry): ZipEntry | undefined {
  const root = readPage(archive, page, COVER_PAGE_BYTES_MAX)
  if (root === undefined) return undefined
  for (const href of imageHrefs(root)) {
    const entry = book.resolve(href, page.name)?.entry
    if (entry !== undefined) return entry
  }
  return undefined
}

/** Undefined when the page is too large, damaged or not well formed. */
export function readPage(archive: ZipArchive, entry: ZipEntry, bytesMax: number): XmlElement | undefined {
  if (entry.bytes > bytesMax) return undefined
  try {
    return parseXml(archive.read(entry, bytesMax)).root
  } catch (error) {
    // The page cannot be inspected; the caller decides whether that is a problem.
    if (error instanceof XmlError || error instanceof BookProblem) return undefined
    throw error
  }
}

/** `src` of img and `href` (once `xlink:href`) of SVG's image, in document order. */
function imageHrefs(element: XmlElement): string[] {
  const hrefs: string[] = []
  for (const child of element.children.filter(isElement)) {
    const name = child.name.toLowerCase()
    if (name === 'img') hrefs.push(child.attributes.get('src') ?? '')
    else if (name === 'image') hrefs.push(child.attributes.get('href') ?? '')
    hrefs.push(...imageHrefs(child))
  }
  return hrefs
}

function isSvgName(path: string): boolean {
  return /\.svgz?$/i.test(path)
}
