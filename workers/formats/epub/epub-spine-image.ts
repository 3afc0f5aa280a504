import { BookProblem } from '../../book-problem.ts'
import { findDescendant, isElement, parseXml, type XmlElement, XmlError } from '../../metadata/xml.ts'
import type { ZipArchive, ZipEntry } from '../zip/zip.ts'
import { mayBeStyled } from './epub-blank.ts'
import type { EpubPackage, ManifestItem } from './epub-package.ts'

/** A page with one picture is a kilobyte of markup; the rest of this limit is for inlined styles. Larger pages are text. */
const PICTURE_PAGE_BYTES_MAX = 64 * 1024

/** A cover page may come with a whole inlined style sheet. */
const COVER_PAGE_BYTES_MAX = 1024 * 1024

/** Bitmaps only: an SVG can run scripts, so it is never served as a page image. */
const BITMAP = /^image\/(?!svg)/

/** Visible elements that are neither text nor a picture: a page with one of these is more than its picture. */
const SHOWN_ELEMENTS = new Set(
  'audio button canvas circle ellipse embed foreignobject hr iframe input line math object path polygon polyline rect select textarea use video'.split(
    ' ',
  ),
)

/** The picture of one spine item. `name` is its archive path; `entry` is undefined when the archive lacks it or the page that shows it. */
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
 * one without any picture: otherwise a blank page would make a comic a text.
 */
export function findSpineImages(archive: ZipArchive, book: EpubPackage): SpineImage[] | null {
  const images: SpineImage[] = []
  for (const item of book.spine.items) {
    const image = findOnlyImage(archive, book, item)
    if (image === undefined) return null
    images.push(image)
  }
  const pictures = images.filter((image) => image.entry !== undefined).length
  const words = images.filter((image) => image.instead === 'words').length
  return pictures > 0 && words * PICTURES_PER_WORDS <= pictures ? images : null
}

/** Undefined when the item has anything besides one picture, or in a book that is not fixed-layout has none. */
function findOnlyImage(archive: ZipArchive, book: EpubPackage, item: ManifestItem): SpineImage | undefined {
  if (BITMAP.test(item.mediaType)) return { name: item.path, entry: item.entry }
  if (item.entry === undefined) return { name: item.path, entry: undefined }
  if (item.entry.bytes > PICTURE_PAGE_BYTES_MAX) return undefined
  const root = readPage(archive, item.entry, PICTURE_PAGE_BYTES_MAX)
  if (root === undefined) return undefined
  const [href, ...others] = imageHrefs(root)
  const body = findDescendant(root, 'body') ?? root
  if (href === undefined) {
    const from = item.entry.name
    if (!book.fixedLayout || showsElements(body) || mayBeStyled(archive, book, { root, from })) return undefined
    return { name: from, entry: undefined, instead: showsMore(body) ? 'words' : 'nothing' }
  }
  if (others.length > 0 || showsMore(body)) return undefined
  const found = book.resolve(href, item.entry.name)
  return found === undefined || isSvgName(found.path) ? undefined : { name: found.path, entry: found.entry }
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

function showsMore(element: XmlElement): boolean {
  return element.children.some((child) => {
    if (!isElement(child)) return /[^\s\u200B-\u200D\uFEFF]/.test(child)
    const name = child.name.toLowerCase()
    // Titles, descriptions and styles are not visible.
    if (name === 'title' || name === 'desc' || name === 'style' || name === 'script' || name === 'defs' || name === 'metadata') return false
    return SHOWN_ELEMENTS.has(name) || showsMore(child)
  })
}

/** Whether it shows anything besides words. */
function showsElements(element: XmlElement): boolean {
  return element.children.some((child) => isElement(child) && (SHOWN_ELEMENTS.has(child.name.toLowerCase()) || showsElements(child)))
}

function isSvgName(path: string): boolean {
  return /\.svgz?$/i.test(path)
}
