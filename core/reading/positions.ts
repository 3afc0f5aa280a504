import { refuse } from '#core/foundation/errors.ts'
import type { BookRequest, ReadingDependencies } from '#core/reading/manifest.ts'
import type { Locator } from '#core/reading/progression.ts'
import { normalizeArchivePath, type Publication, type TocEntry } from '#core/reading/publication.ts'
import type { PublicationAddresses } from '#core/reading/web-publication.ts'

/** A text of a hundred megabytes; longer lists are megabytes of JSON that no client can use. */
const POSITIONS_MAX = 100_000

/**
 * Every position of a book, in order: a kilobyte of compressed text, a page of pictures, a page of a PDF. Their number is the page count of the book.
 * @throws like `getManifest`, and invalid_value for a book with too many positions
 */
export async function getPositions(
  dependencies: Pick<ReadingDependencies, 'publications' | 'pageReader'>,
  request: BookRequest,
  addresses: PublicationAddresses,
): Promise<{ total: number; locators: Iterable<Locator> }> {
  const readable = await dependencies.publications.getReadable(request)
  if (readable.format === 'pdf') {
    const total = readable.pageCount
    refuseTooMany(total)
    return { total, locators: pdfLocators(total, addresses) }
  }
  if (readable.pageSource !== 'none') {
    const pages = await dependencies.pageReader.listPages(request)
    return { total: pages.length, locators: pages.map((page) => pageLocator(page, pages.length, addresses)) }
  }
  const { publication } = await dependencies.publications.get(request)
  const total = countPositions(publication)
  refuseTooMany(total)
  return { total, locators: textLocators(publication, total, addresses) }
}

function refuseTooMany(total: number): void {
  if (total > POSITIONS_MAX) refuse('invalid_value', `This book has ${total} positions; lists have at most ${POSITIONS_MAX}.`)
}

export const countPositions = ({ spine }: Pick<Publication, 'spine'>): number => spine.reduce((sum, { positions }) => sum + positions, 0)

function* pdfLocators(total: number, addresses: PublicationAddresses): Generator<Locator> {
  for (let position = 1; position <= total; position++) yield pdfLocator(position, total, addresses)
}

const pdfLocator = (position: number, total: number, addresses: PublicationAddresses): Locator => ({
  href: addresses.file,
  type: 'application/pdf',
  locations: { fragments: [`page=${position}`], position, progression: (position - 1) / total, totalProgression: (position - 1) / total },
})

const pageLocator = (page: { pageNumber: number; fileFormat: string }, total: number, addresses: PublicationAddresses): Locator => ({
  href: addresses.page(page.pageNumber),
  type: `image/${page.fileFormat}`,
  locations: { position: page.pageNumber, progression: 0, totalProgression: (page.pageNumber - 1) / total },
})

function* textLocators(publication: Publication, total: number, addresses: PublicationAddresses): Generator<Locator> {
  const titles = titlesOf(publication.toc)
  let before = 0
  for (const { path, href: encoded = path, mediaType, positions } of publication.spine) {
    const href = addresses.resource(encoded)
    const title = titles.get(encoded)
    for (let index = 0; index < positions; index++) {
      yield {
        href,
        type: mediaType,
        ...(title !== undefined && { title }),
        locations: { position: before + index + 1, progression: index / positions, totalProgression: (before + index) / total },
      }
    }
    before += positions
  }
}

/** The first heading of each file, by its encoded path. */
function titlesOf(entries: readonly TocEntry[], titles = new Map<string, string>()): Map<string, string> {
  for (const { href, title, children } of entries) {
    const path = href.split('#', 1)[0] as string
    if (path !== '' && title !== '' && !titles.has(path)) titles.set(path, title)
    titlesOf(children, titles)
  }
  return titles
}

/** The locator of a position of a text; positions past the end count as the last one. */
export function locateText(publication: Publication, position: number, addresses: PublicationAddresses): Locator {
  const total = countPositions(publication)
  let before = 0
  for (const { path, href = path, mediaType, positions } of publication.spine) {
    if (position <= before + positions || before + positions === total) {
      const within = Math.min(position, total) - before - 1
      return {
        href: addresses.resource(href),
        type: mediaType,
        locations: { position: before + within + 1, progression: within / positions, totalProgression: (before + within) / total },
      }
    }
    before += positions
  }
  throw new Error('A publication without a reading order')
}

/**
 * The position for a part of the text and a progression within it. Null if the book has no such part.
 * @param within.item a path in the archive, or the number of the part from 0
 */
export function positionWithin(publication: Publication, within: { item: string | number; progression: number }): number | null {
  let before = 0
  for (const [index, { path, positions }] of publication.spine.entries()) {
    if (within.item === index || within.item === path) return before + Math.min(positions, Math.floor(within.progression * positions) + 1)
    before += positions
  }
  return null
}

/** The part of a text, counted from 0, that contains a position, and its first and last position. */
export function partAt(publication: Publication, position: number): { index: number; first: number; last: number } {
  let before = 0
  for (const [index, { positions }] of publication.spine.entries()) {
    if (position <= before + positions) return { index, first: before + 1, last: before + positions }
    before += positions
  }
  return { index: Math.max(0, publication.spine.length - 1), first: 1, last: Math.max(1, before) }
}

/**
 * The paths in the archive that clients may mean by an address of a file: absolute or relative, encoded or not, with a fragment or without. A folder
 * of the archive may have the same name as the segment before the path in our addresses.
 */
export function pathsOfHref(href: string): string[] {
  const bare = decoded(href.split(/[?#]/, 1)[0] as string)
  const at = bare.startsWith('resource/') ? 0 : bare.indexOf('/resource/') + 1
  const isAddress = at > 0 || bare.startsWith('resource/')
  return [...(isAddress ? [bare.slice(at + 'resource/'.length)] : []), bare].map(normalizeArchivePath)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
