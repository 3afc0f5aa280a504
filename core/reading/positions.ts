import { refuse } from '#core/foundation/errors.ts'
import type { BookRequest, ReadingDependencies } from '#core/reading/manifest.ts'
import type { Locator } from '#core/reading/progression.ts'
import { normalizeArchivePath, type Publication, type SpineItem, type TocEntry } from '#core/reading/publication.ts'
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

/** The parts of a text, each with its number from 0 and how many positions come before it. */
function partsOf({ spine }: Publication): (SpineItem & { index: number; before: number })[] {
  let end = 0
  return spine.map((part, index) => {
    end += part.positions
    return { ...part, index, before: end - part.positions }
  })
}

function* textLocators(publication: Publication, total: number, addresses: PublicationAddresses): Generator<Locator> {
  const titles = titlesOf(publication.toc)
  for (const { path, href: encoded = path, mediaType, positions, before } of partsOf(publication)) {
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
  const part = partAt(publication, position)
  if (part === undefined) throw new Error('A publication without a reading order')
  const { path, href = path, mediaType, positions, before } = part
  const total = countPositions(publication)
  const within = Math.min(position, total) - before - 1
  return {
    href: addresses.resource(href),
    type: mediaType,
    locations: { position: before + within + 1, progression: within / positions, totalProgression: (before + within) / total },
  }
}

/**
 * The position for a part of the text and a progression within it. Null if the book has no such part.
 * @param within.item a path in the archive
 */
export function positionWithin(publication: Publication, within: { item: string; progression: number }): number | null {
  const part = partsOf(publication).find(({ path }) => path === within.item)
  return part ? part.before + Math.min(part.positions, Math.floor(within.progression * part.positions) + 1) : null
}

/** The part of a text that contains a position: the last one past the end, undefined only without a reading order. */
export function partAt(publication: Publication, position: number) {
  const parts = partsOf(publication)
  return parts.find(({ before, positions }) => position <= before + positions) ?? parts.at(-1)
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
