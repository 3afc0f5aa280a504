import { type Analysis, type Page, type Problem, uniqueByType } from '#core/fields/analysis.ts'
import { cutText } from '#core/foundation/text.ts'
import { BookProblem } from '../../book-problem.ts'
import type { DrawPdfPage } from '../../drawing.ts'
import { measureEntry } from '../../images/image.ts'
import { ENTRY_BYTES_MAX, NAMES_IN_PROBLEM_MAX, PIXELS_MAX } from '../../limits.ts'
import { pagesHashOf } from '../pages-hash.ts'
import type { ZipArchive } from '../zip/zip.ts'
import { makeEpubCover } from './epub-cover.ts'
import { findEncryptedPaths } from './epub-encryption.ts'
import { type EpubPackage, readEpubPackage } from './epub-package.ts'
import type { ManifestItem } from './epub-spine.ts'
import { findSpineImages, type SpineImage } from './epub-spine-image.ts'
import { checkContents } from './publication-toc.ts'

/** Where no picture could be measured. */
const BLANK_SIZE: Pick<Page, 'width' | 'height'> = { width: 600, height: 800 }

/** Names of missing parts in the message itself: people see at once which chapters they lack. */
const NAMES_IN_MESSAGE_MAX = 3
const NAME_IN_MESSAGE_LENGTH_MAX = 200

/** Readium's length of a position in a reflowable book, in bytes of the compressed resource. */
const POSITION_BYTES = 1024

interface EpubOptions {
  verifyPages: boolean
  /** Longer side of the cover; by default that of a thumbnail. */
  coverSide?: number | undefined
  /** Draws covers that are not plain pictures; without it they are drawn in this thread. */
  draw?: DrawPdfPage | undefined
}

/**
 * Title, page count, cover and, for a comic EPUB, pages. `verifyPages` reads every spine item and picture in full.
 * Returns everything wrong with the book as `problems`.
 */
export async function analyzeEpub(archive: ZipArchive, options: EpubOptions): Promise<Omit<Analysis, 'file' | 'format'>> {
  try {
    return await analyzePackage(archive, readEpubPackage(archive), options)
  } catch (error) {
    if (!(error instanceof BookProblem)) throw error
    return { pageCount: 0, pageSource: 'none', pages: [], embedded: {}, cover: null, problems: [error.problem] }
  }
}

async function analyzePackage(
  archive: ZipArchive,
  book: EpubPackage,
  { verifyPages, ...covers }: EpubOptions,
): Promise<Omit<Analysis, 'file' | 'format'>> {
  const encrypted = findEncryptedPaths(archive, book)
  checkContents(archive, book)
  const images = findSpineImages(archive, book)
  const { pages, problem: pageProblem } = readPages(archive, images ?? [], verifyPages)
  const { cover, problem: coverProblem } = await makeEpubCover(archive, book, encrypted, covers)
  const problems = [
    entityProblem(book),
    book.metadataProblem,
    spineProblem(book),
    encryptionProblem(book, images ?? [], encrypted),
    verifyPages && images === null ? textProblem(archive, book, encrypted) : null,
    pageProblem,
    coverProblem,
  ]
  return {
    pageCount: images === null ? book.spine.items.reduce((sum, item) => sum + positionsIn(book, item), 0) : book.spine.items.length,
    pageSource: images === null ? 'none' : 'zip',
    pages,
    ...pagesHashOf([...book.spine.items, ...(images ?? [])].flatMap(({ entry }) => entry ?? [])),
    embedded: book.embedded,
    cover,
    problems: uniqueByType(problems.filter((problem) => problem !== null)),
  }
}

/** The number of positions in a spine item: one in a fixed-layout book, at least one in a reflowable one. */
export function positionsIn(book: EpubPackage, item: ManifestItem): number {
  return book.fixedLayout ? 1 : Math.max(1, Math.ceil((item.entry?.compressedBytes ?? 0) / POSITION_BYTES))
}

function readPages(archive: ZipArchive, images: SpineImage[], verifyPages: boolean): { pages: Page[]; problem: Problem | null } {
  const failures: Failure[] = []
  const pages = images.map(({ name, entry, instead }): Page => {
    if (instead) return { name, mediaType: 'image/png', width: null, height: null, bytes: 0, isBlank: true }
    const page: Page = { name, mediaType: mediaTypeByName(name), width: null, height: null, bytes: entry?.bytes ?? 0 }
    try {
      if (entry === undefined) throw new BookProblem('page_extraction', 'it is not in the file')
      page.zip = archive.locate(entry)
      const picture = measureEntry(entry.bytes, (bytes) => archive.head(entry, bytes))
      if (picture === null) throw new BookProblem('page_extraction', 'it is not a picture')
      if (verifyPages) archive.read(entry, ENTRY_BYTES_MAX)
      return { ...page, ...picture }
    } catch (error) {
      if (!(error instanceof BookProblem)) throw error
      failures.push({ name, reason: error.message })
      return page
    }
  })
  return { pages: withBlankSizes(pages), problem: unreadable('pages', failures, pages.length) }
}

/** A blank page has the size of the page before it, or of the first one after it: that of its spread. */
function withBlankSizes(pages: readonly Page[]): Page[] {
  let { width, height } = pages.find((page) => isMeasured(page)) ?? BLANK_SIZE
  return pages.map((page) => {
    if (isMeasured(page)) ({ width, height } = page)
    return page.isBlank ? { ...page, width, height } : page
  })
}

/** Pages that claim more pixels are not shown either. */
const isMeasured = ({ width, height }: Page) => width !== null && height !== null && width * height <= PIXELS_MAX

/** Analysis does not read text otherwise, so this is where damage to it shows. */
function textProblem(archive: ZipArchive, book: EpubPackage, encrypted: ReadonlySet<string>): Problem | null {
  const failures: Failure[] = []
  for (const { entry } of book.spine.items) {
    if (entry === undefined || encrypted.has(entry.name)) continue
    try {
      archive.read(entry, ENTRY_BYTES_MAX)
    } catch (error) {
      if (!(error instanceof BookProblem)) throw error
      failures.push({ name: entry.name, reason: error.message })
    }
  }
  return unreadable('chapters', failures, book.spine.items.length)
}

interface Failure {
  name: string
  reason: string
}

function unreadable(what: 'pages' | 'chapters', failures: Failure[], total: number): Problem | null {
  const [first] = failures
  if (first === undefined) return null
  return {
    type: 'page_extraction',
    message: `${failures.length} of ${total} ${what} cannot be read; the first is "${first.name}": ${first.reason}.`.replace('..', '.'),
    details: { count: failures.length, entries: failures.slice(0, NAMES_IN_PROBLEM_MAX) },
    fatal: failures.length === total,
  }
}

function entityProblem(book: EpubPackage): Problem | null {
  if (book.unknownEntities.length === 0) return null
  return {
    type: 'metadata',
    message: 'The package document declares its own entities. Carrel does not expand them, so some metadata may be missing.',
    details: { entities: book.unknownEntities },
    fatal: false,
  }
}

/** What is missing is left out of the reading order, so the book says what it is. */
function spineProblem(book: EpubPackage): Problem | null {
  const { items, missing, references } = book.spine
  if (missing.length === 0 && items.length > 0) return null
  const lacks = new Set(missing)
  if (items.length === 0 && !book.manifest.some(({ path }) => lacks.has(path))) {
    const cause = missing.length > 0 ? 'refers only to items that are missing from its manifest' : 'is empty'
    return { type: 'zero_pages', message: `This EPUB has nothing to read: its spine ${cause}.`, fatal: true }
  }
  const named = missing.slice(0, NAMES_IN_MESSAGE_MAX).map((name) => `"${cutText(name, NAME_IN_MESSAGE_LENGTH_MAX)}"`)
  const more = missing.length > named.length ? ` and ${missing.length - named.length} more` : ''
  const total = missing.length + references.length
  return {
    type: 'page_extraction',
    message: `${missing.length} of ${total} parts of this EPUB are not in the file and are left out: ${named.join(', ')}${more}.`,
    details: { count: missing.length, entries: missing.slice(0, NAMES_IN_PROBLEM_MAX) },
    fatal: items.length === 0,
  }
}

function encryptionProblem(book: EpubPackage, images: SpineImage[], encrypted: ReadonlySet<string>): Problem | null {
  if (encrypted.size === 0) return null
  const read = [...book.spine.items.map((item) => item.entry?.name), ...images.map((image) => image.name)]
  const locked = read.filter((name) => name !== undefined && encrypted.has(name))
  if (locked.length === 0) return null
  return {
    type: 'page_extraction',
    message: 'This EPUB is protected by DRM: its content is encrypted, and only the app that it was bought for can read it.',
    details: { encrypted: locked.length, entries: locked.slice(0, NAMES_IN_PROBLEM_MAX) },
    fatal: true,
    isFinal: true,
  }
}

/** Only for pages that cannot be measured. */
function mediaTypeByName(name: string): string {
  const extension = /\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''
  return ['png', 'gif', 'webp', 'avif'].includes(extension) ? `image/${extension}` : 'image/jpeg'
}
