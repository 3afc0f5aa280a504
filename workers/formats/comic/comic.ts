import type { Analysis, LibraryFile, Page, Problem } from '#core/fields/analysis.ts'
import { freeMemory } from '#core/foundation/buffer-pool.ts'
import { BookProblem } from '../../book-problem.ts'
import type { DrawPdfPage } from '../../drawing.ts'
import { measureEntry, type Picture } from '../../images/image.ts'
import { ENTRY_BYTES_MAX, PAGE_NAMES_LENGTH_MAX } from '../../limits.ts'
import { type ComicInfo, findComicInfo, NO_COMIC_INFO, readComicInfo, unreadable } from '../../metadata/comic-info.ts'
import { XML_BYTES_MAX } from '../../metadata/xml.ts'
import { pagesHashOf } from '../pages-hash.ts'
import { extractRar, listRar, type RarEntry, type RarListing } from '../rar/rar.ts'
import { refuseTooLarge, type ZipArchive, type ZipEntry } from '../zip/zip.ts'
import { makeCover } from './comic-cover.ts'
import { PageProblems } from './comic-problems.ts'
import { inPageOrder, pageTypeOf } from './page-order.ts'

/** The result of analyzing a comic, besides its file and format. */
export type Contents = Omit<Analysis, 'file' | 'format'>

/**
 * Pages and cover of a zip of pictures: reads the directory, the heads of the pages, and one page in full.
 * Throws {@link BookProblem} only when the whole book cannot be read.
 */
export async function analyzeZipComic(
  archive: ZipArchive,
  options: { verifyPages: boolean; coverSide?: number | undefined; draw?: DrawPdfPage | undefined },
): Promise<Contents> {
  const all = pagesAmong(archive.entries)
  if (all.length === 0) return zeroPages('zip')
  const info = zipComicInfo(archive)
  const { kept, first } = choosePages(info, all.length)
  const entries = kept.map((index) => all[index]!)
  const problems = new PageProblems(entries.map((entry) => entry.name))
  const pages = entries.map((entry, index) => zipPage(archive, entry, index, problems))
  if (options.verifyPages) {
    for (const [index, entry] of entries.entries()) {
      if (!problems.has(index)) problems.watch(index, () => freeMemory(archive.read(entry, ENTRY_BYTES_MAX)))
    }
  }
  const read = async (index: number) => archive.read(entries[index]!, ENTRY_BYTES_MAX)
  const { cover, problem } = await makeCover({ pages, first, side: options.coverSide }, problems, read, options.draw)
  return { ...contents('zip', pages, cover, info, [problems.problem(), problem]), ...pagesHashOf(entries) }
}

/** The entries that are pages, in their order. @throws BookProblem (`parser`) if their names are too long together */
function pagesAmong<Entry extends { name: string }>(entries: readonly Entry[]): Entry[] {
  const pages = entries.filter((entry) => pageTypeOf(entry.name) !== null)
  if (pages.reduce((sum, { name }) => sum + name.length, 0) <= PAGE_NAMES_LENGTH_MAX) return inPageOrder(pages)
  throw new BookProblem(
    'parser',
    `The names of the ${pages.length} pages in this archive have more than ${PAGE_NAMES_LENGTH_MAX} characters together. Pack them again with shorter names.`,
    { pages: pages.length, charactersMax: PAGE_NAMES_LENGTH_MAX },
  )
}

/** The pages that ComicInfo.xml leaves, by index, and the place of the cover among them. A file that deletes every page means another one. */
function choosePages({ pages }: ComicInfo, count: number): { kept: number[]; first: number } {
  const all = Array.from({ length: count }, (_, index) => index)
  const left = all.filter((index) => !pages.deleted.has(index))
  const kept = left.length === 0 ? all : left
  const places = new Map(kept.map((index, place) => [index, place]))
  const first = pages.frontCovers.map((index) => places.get(index)).find((place) => place !== undefined)
  return { kept, first: first ?? 0 }
}

function zipComicInfo(archive: ZipArchive): ComicInfo {
  const entry = findComicInfo(archive.entries)
  if (!entry) return NO_COMIC_INFO
  try {
    return readComicInfo(entry.name, archive.read(entry, XML_BYTES_MAX))
  } catch (error) {
    if (error instanceof BookProblem) return unreadable(entry.name, error.message)
    throw error
  }
}

function zipPage(archive: ZipArchive, entry: ZipEntry, index: number, problems: PageProblems): Page {
  const picture = problems.watch(index, () => {
    refuseTooLarge(entry, ENTRY_BYTES_MAX)
    let whole: Uint8Array | null = null
    const found = measureEntry(entry.bytes, (bytes) => {
      if (bytes < entry.bytes) return archive.head(entry, bytes)
      whole = archive.read(entry, ENTRY_BYTES_MAX)
      return whole
    })
    // A book whose pages have to be read whole would leave all of them behind.
    if (whole) freeMemory(whole)
    return found ?? notPicture(entry.name)
  })
  const page = pageOf(entry, picture)
  // An unreadable entry has no offset; it still counts as a page, so that page numbers stay the same.
  return entry.dataOffset < 0 ? page : { ...page, zip: archive.locate(entry) }
}

/**
 * Pages and cover of a RAR. Only unpacking shows the head of a picture, so one pass unpacks every page and checks
 * its CRC as well; it holds one page at a time in memory.
 */
export async function analyzeRarComic(file: LibraryFile, draw?: DrawPdfPage): Promise<Contents> {
  const listing = await listRar(file)
  const source = listing.solid ? 'rar_solid' : 'rar'
  const entries = pagesAmong(listing.entries)
  if (entries.length === 0) {
    if (listing.incomplete) throw listing.incomplete
    return zeroPages(source)
  }
  const watched = new PageProblems(entries.map((entry) => entry.name))
  const all: Page[] = []
  const place = new Map(entries.map((entry, index) => [entry, index]))
  let firstContent: Uint8Array | null = null
  const infoEntry = findComicInfo(listing.entries)
  let info = NO_COMIC_INFO
  await extractRar(file, infoEntry ? [...entries, infoEntry] : entries, (entry, content, problem) => {
    const index = place.get(entry)
    if (index === undefined) {
      info = problem ? unreadable(entry.name, problem.message) : readComicInfo(entry.name, content)
      return true
    }
    if (problem) watched.add(index, problem)
    else if (index === 0) firstContent = Uint8Array.from(content)
    // Even half an entry may contain the head of a picture.
    const picture = watched.watch(
      index,
      () => measureEntry(content.length, (bytes) => content.subarray(0, bytes)) ?? notPicture(entry.name),
    )
    all[index] = pageOf(entry, picture)
    return true
  })
  const { kept, first } = choosePages(info, entries.length)
  const [pages, problems] = [kept.map((index) => all[index]!), watched.ofPages(kept)]
  const read = async (index: number) => (kept[index] === 0 && firstContent ? firstContent : extractOne(file, entries[kept[index]!]!))
  const { cover, problem } = await makeCover({ pages, first }, problems, read, draw)
  const found = contents(source, pages, cover, info, [incompleteProblem(listing), problems.problem(), problem])
  return listing.incomplete ? found : { ...found, ...pagesHashOf(kept.map((index) => entries[index]!)) }
}

/** One whole entry of a RAR. Throws {@link BookProblem} when it cannot be unpacked. */
export async function extractOne(file: LibraryFile, entry: RarEntry): Promise<Uint8Array<ArrayBuffer>> {
  const found: { content?: Uint8Array<ArrayBuffer>; problem: BookProblem | null } = { problem: null }
  await extractRar(file, [entry], (_, content, problem) => {
    found.problem = problem
    if (!problem) found.content = Uint8Array.from(content)
    return false
  })
  if (found.content) return found.content
  throw found.problem ?? new BookProblem('page_extraction', `"${entry.name}" is no longer in the archive.`, { entry: entry.name })
}

function incompleteProblem(listing: RarListing): Problem | null {
  return listing.incomplete ? { ...listing.incomplete.problem, fatal: false } : null
}

function pageOf(entry: { name: string; bytes: number }, picture: Picture | null): Page {
  return {
    name: entry.name,
    mediaType: picture?.mediaType ?? pageTypeOf(entry.name) ?? 'application/octet-stream',
    width: picture?.width ?? null,
    height: picture?.height ?? null,
    bytes: entry.bytes,
  }
}

function notPicture(name: string): never {
  throw new BookProblem('page_extraction', `"${name}" is not a picture.`, { entry: name })
}

function zeroPages(pageSource: Contents['pageSource']): Contents {
  // The list of the files of a ZIP is at its end, so its copy is complete. A RAR has none.
  const isFinal = pageSource === 'zip'
  const problem: Problem = { type: 'zero_pages', message: 'This archive contains no pictures, so it has no pages.', fatal: true, isFinal }
  return { pageCount: 0, pageSource, pages: [], embedded: {}, cover: null, problems: [problem] }
}

function contents(
  pageSource: Contents['pageSource'],
  pages: Page[],
  cover: Contents['cover'],
  info: ComicInfo,
  problems: (Problem | null)[],
): Contents {
  const found = [...problems, info.problem].filter((problem) => problem !== null)
  return { pageCount: pages.length, pageSource, pages, embedded: info.embedded, cover, problems: found }
}
