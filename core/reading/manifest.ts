import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { BookPage } from '#core/catalog/book.ts'
import { type FullBook, fullBooks, getBook } from '#core/catalog/book-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { manifestMetadata } from '#core/reading/manifest-metadata.ts'
import type { Publication, PublicationResource, SpineItem, TocEntry } from '#core/reading/publication.ts'
import type { Publications } from '#core/reading/publications.ts'
import type { PageReader } from '#core/reading/read-page.ts'
import {
  DIVINA_TYPE,
  POSITIONS_TYPE,
  PROGRESSION_TYPE,
  type PublicationAddresses,
  WEBPUB_TYPE,
  type WebLink,
  type WebPublication,
} from '#core/reading/web-publication.ts'

/** The services that manifests need. */
export interface ReadingDependencies {
  database: Knex
  publications: Pick<Publications, 'get' | 'getReadable'>
  pageReader: Pick<PageReader, 'listPages'>
}

export interface BookRequest {
  caller: Caller
  bookId: string
  signal?: AbortSignal
}

const PROFILES = 'https://readium.org/webpub-manifest/profiles'
/** The profiles of Readium in which a client may request a manifest. */
type Profile = 'epub' | 'divina' | 'pdf'
/** Picture formats that every client can show. */
const KNOWN_PICTURES = new Set(['jpeg', 'png', 'gif', 'webp'])

/**
 * The web-publication manifest of a book: its chapters for a text, its pages for pictures (Divina), its file for a PDF.
 * @param requestedProfile the profile that the client requests; by default the one that fits the book
 * @throws not_found, not_analyzed, page_unreadable, conflict, unavailable; invalid_value for a profile that does not fit the book
 */
export async function getManifest(
  dependencies: ReadingDependencies,
  request: BookRequest,
  addresses: PublicationAddresses,
  requestedProfile?: Profile,
): Promise<{ mediaType: string; manifest: WebPublication }> {
  const { database, publications, pageReader } = dependencies
  const readable = await publications.getReadable(request)
  const hasPages = readable.pageSource !== 'none'
  const nearest = readable.format === 'pdf' ? 'pdf' : hasPages ? 'divina' : 'epub'
  const profile = requestedProfile ?? nearest
  if (profile !== nearest && !(profile === 'divina' && readable.format === 'pdf') && !(profile === 'epub' && readable.format === 'epub'))
    refuse('invalid_value', `The profile ${profile} does not fit this book, which is a ${readable.format}.`)
  const [book] = (await fullBooks(database, request.caller, [await getBook(database, request.caller, request.bookId)])) as [FullBook]
  const metadata = manifestMetadata(book)
  if (profile === 'pdf') return pdfManifest(book, metadata, addresses)
  if (profile === 'divina') return divinaManifest(book, metadata, { addresses, pages: await pageReader.listPages(request) })
  const { publication } = await publications.get(request)
  return await epubManifest(book, metadata, { addresses, publication })
}

interface Made {
  mediaType: string
  manifest: WebPublication
}
type Metadata = Record<string, unknown>

const CONTEXT = 'https://readium.org/webpub-manifest/context.jsonld'

interface ManifestContent extends Omit<WebPublication, '@context' | 'links' | 'resources'>, Partial<Pick<WebPublication, 'resources'>> {
  mediaType: string
  /** See {@link linksOf}. */
  fileType?: string
}

/** A manifest: the members that all profiles have, and those of one profile. */
function manifestOf(addresses: PublicationAddresses, { mediaType, fileType, metadata, readingOrder, ...rest }: ManifestContent): Made {
  const links = linksOf(addresses, mediaType, fileType ?? null)
  return { mediaType, manifest: { '@context': CONTEXT, metadata, links, readingOrder, resources: [coverLink(addresses)], ...rest } }
}

async function epubManifest(
  book: FullBook,
  metadata: Metadata,
  { addresses, publication }: { addresses: PublicationAddresses; publication: Publication },
): Promise<Made> {
  const { isFixedLayout, readingProgression, spine, resources } = publication
  const items = (list: readonly (SpineItem | PublicationResource)[]) =>
    inRuns(list, (some) => some.map((item) => itemLink(item, addresses)))
  const contents = (entries: readonly TocEntry[]) => inRuns(entries, (some) => contentLinks(some, addresses))
  const cover: WebLink[] = resources.some(({ rel }) => rel === 'cover') ? [] : [coverLink(addresses)]
  return manifestOf(addresses, {
    mediaType: WEBPUB_TYPE,
    fileType: 'application/epub+zip',
    metadata: {
      ...metadata,
      conformsTo: `${PROFILES}/epub`,
      layout: isFixedLayout ? 'fixed' : 'reflowable',
      ...progressionOf(readingProgression ?? book.readingDirection),
      ...(isFixedLayout && { numberOfPages: spine.length }),
    },
    readingOrder: await items(spine),
    resources: [...cover, ...(await items(resources))],
    toc: await contents(publication.toc),
    ...(publication.landmarks.length > 0 && { landmarks: await contents(publication.landmarks) }),
    ...(publication.pageList.length > 0 && { pageList: await contents(publication.pageList) }),
  })
}

function divinaManifest(
  book: FullBook,
  metadata: Metadata,
  { addresses, pages }: { addresses: PublicationAddresses; pages: readonly BookPage[] },
): Made {
  const isScrolled = book.readingDirection === 'webtoon'
  return manifestOf(addresses, {
    mediaType: DIVINA_TYPE,
    metadata: {
      ...metadata,
      conformsTo: `${PROFILES}/divina`,
      layout: isScrolled ? 'scrolled' : 'fixed',
      ...progressionOf(book.readingDirection),
      ...(pages.length > 0 && { numberOfPages: pages.length }),
    },
    readingOrder: pages.map((page) => pageLink(page, addresses)),
  })
}

function pdfManifest(book: FullBook, metadata: Metadata, addresses: PublicationAddresses): Made {
  return manifestOf(addresses, {
    mediaType: WEBPUB_TYPE,
    metadata: {
      ...metadata,
      conformsTo: `${PROFILES}/pdf`,
      ...progressionOf(book.readingDirection),
      ...(book.pageCount > 0 && { numberOfPages: book.pageCount }),
    },
    readingOrder: [{ href: addresses.file, type: 'application/pdf', title: book.title }],
  })
}

/** Manifests have no other directions; clients show pages that do not turn from top to bottom anyway. */
const progressionOf = (direction: string | null) => (direction === 'rtl' || direction === 'ltr' ? { readingProgression: direction } : {})

/** @param fileType of the book's file; null if the reading order of the manifest contains the same link */
function linksOf(addresses: PublicationAddresses, type: string, fileType: string | null): WebLink[] {
  return [
    { rel: 'self', href: addresses.manifest, type },
    { rel: 'http://readium.org/position-list', href: addresses.positions, type: POSITIONS_TYPE },
    { rel: 'http://www.cantook.com/api/progression', href: addresses.progression, type: PROGRESSION_TYPE },
    ...(fileType === null ? [] : [{ rel: 'http://opds-spec.org/acquisition', href: addresses.file, type: fileType }]),
  ]
}

const coverLink = (addresses: PublicationAddresses): WebLink => ({ rel: 'cover', href: addresses.cover, type: 'image/jpeg' })

function itemLink(item: SpineItem | PublicationResource, addresses: PublicationAddresses): WebLink {
  const side = 'side' in item ? item.side : undefined
  const properties = { ...(side && { page: side }), ...(item.contains && { contains: item.contains }) }
  return {
    href: addresses.resource(item.href ?? item.path),
    type: item.mediaType,
    ...('rel' in item && item.rel && { rel: item.rel }),
    ...(Object.keys(properties).length > 0 && { properties }),
  }
}

function pageLink(page: BookPage, addresses: PublicationAddresses): WebLink {
  const { pageNumber, fileFormat, width, height } = page
  return {
    href: addresses.page(pageNumber),
    type: `image/${fileFormat}`,
    ...(width && height && { width, height }),
    ...(!KNOWN_PICTURES.has(fileFormat) && { alternate: [{ href: addresses.pageAsJpeg(pageNumber), type: 'image/jpeg' }] }),
  }
}

/** An entry without a target gets the target of the first entry below it; entries without any are omitted. */
function contentLinks(entries: readonly TocEntry[], addresses: PublicationAddresses): WebLink[] {
  return entries.flatMap(({ title, href, children }) => {
    const below = contentLinks(children, addresses)
    const target = href === '' ? below[0]?.href : addresses.resource(href)
    if (target === undefined) return []
    return { href: target, ...(title !== '' && { title }), ...(below.length > 0 && { children: below }) }
  })
}

/** Links made in one turn of the event loop: a millisecond or two. */
const LINKS_PER_TURN = 2_000

/** Makes links of a list, with turns of the event loop in between: packages may list a hundred thousand files. */
async function inRuns<Item>(list: readonly Item[], links: (some: readonly Item[]) => WebLink[]): Promise<WebLink[]> {
  const made: WebLink[] = []
  for (let start = 0; start < list.length; start += LINKS_PER_TURN) {
    if (start > 0) await nextTurn()
    made.push(...links(list.slice(start, start + LINKS_PER_TURN)))
  }
  return made
}
