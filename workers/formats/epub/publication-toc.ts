import { cutText } from '#core/foundation/text.ts'
import { encodeHref, encodePath, type TocEntry } from '#core/reading/publication.ts'
import { CONTENTS_DEPTH_MAX, CONTENTS_ENTRIES_MAX, CONTENTS_TITLE_LENGTH_MAX } from '../../limits.ts'
import {
  childrenNamed,
  descendantsNamed,
  findDescendant,
  foldSpace,
  isElement,
  textOf,
  XML_BYTES_MAX,
  type XmlElement,
} from '../../metadata/xml.ts'
import type { ZipArchive } from '../zip/zip.ts'
import type { EpubPackage } from './epub-package.ts'
import type { ManifestItem } from './epub-spine.ts'
import { readPage } from './epub-spine-image.ts'

/** The navigation lists of a book. */
interface Contents {
  toc: TocEntry[]
  landmarks: TocEntry[]
  pageList: TocEntry[]
}

const NONE: Contents = { toc: [], landmarks: [], pageList: [] }

/**
 * Reads EPUB 3's navigation document, else EPUB 2's NCX. An unreadable list is empty: a book is readable without it.
 * @throws BookProblem (`parser`) for contents that are too long together with the names in the book
 */
export function readContents(archive: ZipArchive, book: EpubPackage): Contents {
  const navigation = navigationOf(book)
  const found = navigation && readNavigation(archive, book, navigation)
  if (found && found.toc.length > 0) return found
  let old: Partial<Contents> = {}
  for (const ncx of ncxOf(book)) {
    old = readNcx(archive, book, ncx)
    if (old.toc && old.toc.length > 0) break
  }
  return { ...NONE, ...old, ...(found && { landmarks: found.landmarks, ...(found.pageList.length > 0 && { pageList: found.pageList }) }) }
}

/** Analysis needs no contents, so it reads only those that may be too long. @throws what `readContents` throws */
export function checkContents(archive: ZipArchive, book: EpubPackage): void {
  const bytes = [navigationOf(book), ...ncxOf(book)].reduce((sum, item) => sum + (item?.entry?.bytes ?? 0), 0)
  if (book.texts.mayExceed(bytes)) readContents(archive, book)
}

const navigationOf = ({ manifest }: EpubPackage) => manifest.find(({ properties }) => properties.includes('nav'))

/** The item that the spine names, whatever its media type; else the first with the type, then with the extension of an NCX. */
function ncxOf({ manifest, ncxId }: EpubPackage): ManifestItem[] {
  const found = [
    manifest.find(({ id }) => id !== '' && id === ncxId),
    manifest.find(({ mediaType }) => mediaType === 'application/x-dtbncx+xml'),
    manifest.find(({ path }) => /\.ncx$/i.test(path)),
  ]
  return [...new Set(found.filter((item) => item !== undefined))]
}

/** Limits the entries of one document, whose lists can be endless. */
class EntryLimits {
  entriesLeft = CONTENTS_ENTRIES_MAX
  readonly #book: EpubPackage
  readonly #from: string

  constructor(book: EpubPackage, { entry, path }: ManifestItem) {
    this.#book = book
    this.#from = entry?.name ?? path
  }

  /** Resolves a link of the document to its target in the book, encoded, with its fragment; empty for links elsewhere and to files that the book lacks. */
  link(href = ''): string {
    const found = this.#book.resolve(href, this.#from)
    if (found?.entry !== undefined) return this.#linkTo(found)
    return href.startsWith('#') ? this.#linkTo({ path: this.#from, fragment: href }) : ''
  }

  /** Encodes the path apart from the fragment: a path may contain `#` itself. */
  #linkTo({ path, fragment }: { path: string; fragment: string }): string {
    const link = cutText(path + fragment, CONTENTS_TITLE_LENGTH_MAX)
    return this.#counted(encodePath(link.slice(0, path.length)) + encodeHref(link.slice(path.length)))
  }

  title(label: XmlElement | undefined): string {
    return label ? this.#counted(cutText(foldSpace(textOf(label)), CONTENTS_TITLE_LENGTH_MAX)) : ''
  }

  #counted(text: string): string {
    this.#book.texts.add(text)
    return text
  }
}

function readNavigation(archive: ZipArchive, book: EpubPackage, item: ManifestItem): Contents | undefined {
  const root = item.entry && readPage(archive, item.entry, XML_BYTES_MAX)
  if (!root) return undefined
  const limits = new EntryLimits(book, item)
  const contents: Contents = { toc: [], landmarks: [], pageList: [] }
  for (const nav of descendantsNamed(root, 'nav')) {
    const types = (nav.attributes.get('type') ?? '').split(/\s+/)
    const list = childrenNamed(nav, 'ol')[0] ?? findDescendant(nav, 'ol')
    if (!list) continue
    if (types.includes('toc') && contents.toc.length === 0) contents.toc = entriesOfList(list, limits, 0)
    if (types.includes('landmarks')) contents.landmarks = entriesOfList(list, limits, 0)
    if (types.includes('page-list')) contents.pageList = entriesOfList(list, limits, 0)
  }
  return contents
}

function entriesOfList(list: XmlElement, limits: EntryLimits, depth: number): TocEntry[] {
  const entries: TocEntry[] = []
  for (const line of childrenNamed(list, 'li')) {
    if (limits.entriesLeft <= 0) break
    const label = line.children.filter(isElement).find(({ name }) => /^(a|span)$/i.test(name))
    const below = childrenNamed(line, 'ol')[0]
    limits.entriesLeft--
    const [title, href] = [limits.title(label), limits.link(label?.attributes.get('href'))]
    addEntry(entries, { title, href, depth }, (next) => (below ? entriesOfList(below, limits, next) : []))
  }
  return entries
}

/** Entries below the deepest level follow those of that level: none is lost. */
function addEntry(
  entries: TocEntry[],
  { title, href, depth }: { title: string; href: string; depth: number },
  below: (depth: number) => TocEntry[],
): void {
  const isDeepest = depth >= CONTENTS_DEPTH_MAX
  const children = below(isDeepest ? depth : depth + 1)
  entries.push({ title, href, children: isDeepest ? [] : children })
  if (isDeepest) for (const child of children) entries.push(child)
}

function readNcx(archive: ZipArchive, book: EpubPackage, item: ManifestItem): Partial<Contents> {
  const root = item.entry && readPage(archive, item.entry, XML_BYTES_MAX)
  if (!root) return {}
  const limits = new EntryLimits(book, item)
  const map = findDescendant(root, 'navMap')
  const pages = findDescendant(root, 'pageList')
  return {
    toc: map ? entriesOfPoints(map, 'navPoint', limits, 0) : [],
    pageList: pages ? entriesOfPoints(pages, 'pageTarget', limits, 0) : [],
  }
}

function entriesOfPoints(parent: XmlElement, name: 'navPoint' | 'pageTarget', limits: EntryLimits, depth: number): TocEntry[] {
  const entries: TocEntry[] = []
  for (const point of childrenNamed(parent, name)) {
    if (limits.entriesLeft <= 0) break
    limits.entriesLeft--
    const title = limits.title(childrenNamed(point, 'navLabel')[0])
    const href = limits.link(childrenNamed(point, 'content')[0]?.attributes.get('src'))
    addEntry(entries, { title, href, depth }, (next) => entriesOfPoints(point, name, limits, next))
  }
  return entries
}
