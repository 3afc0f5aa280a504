import { setImmediate as yieldTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { type BookPage, fileHashOf, formatOfMediaType, pageIdsOf } from '#core/catalog/book.ts'
import { BookLookup } from '#core/catalog/book-lookup.ts'
import { findPages, libraryFileOf, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import type {
  ExtractRar,
  Page,
  PageImage,
  PageOutcome,
  Problem,
  ReadRarPage,
  ReadZipPage,
  RenderPdfPage,
  ResizeImage,
} from '#core/fields/analysis.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { blankPicture } from '#core/reading/blank-page.ts'
import { checkReadable, checkUnchanged, isTemporary, refuseForNow } from '#core/reading/file-problems.ts'
import { openPageCache, type PageCache } from '#core/reading/page-cache.ts'
import {
  checkWidth,
  chooseVariant,
  largerSides,
  PAGE_WIDTHS,
  type PageFormat,
  type PageVariant,
  type PreferFormat,
} from '#core/reading/page-variant.ts'
import { pictureTypeOf } from '#core/reading/picture-type.ts'
import { RenderedPages } from '#core/reading/rendered-page.ts'

export interface BookPageRequest {
  caller: Caller
  bookId: string
  /** From 1. */
  pageNumber: number
  /** One of PAGE_WIDTHS; the page may become narrower, never wider. */
  width?: number | undefined
  /** One of PAGE_FORMATS; without it the page keeps the format of its file, if possible. */
  format?: PageFormat | undefined
  /** If all pages of the book have one of these media types, and the same, they keep it, whatever `format` says: a catalog states one type for all. */
  keeps?: readonly string[] | undefined
  prefer?: PreferFormat | undefined
  /** Used only by work that can be canceled. */
  readonly signal: AbortSignal
}

/** A page that the caller may see. Nothing of its file has been read yet. */
export interface ReadablePage {
  /** Identifies content, page and variant; without quotes. */
  etag: string
  fileHash: string
  /** When its content last changed, or was last analyzed. */
  modifiedAt: Date
  /**
   * Reads, renders or resizes it. The caller gives its memory back by `release`, if the picture has that.
   * @throws page_unreadable, not_found (the file is missing), conflict (it has changed since its analysis), unavailable (the
   *   disk, its permissions or a deadline prevent it now)
   */
  read(): Promise<PageImage>
}

/** The services that reading pages needs. */
export interface PageReaderDependencies {
  database: Knex
  readZipPage: ReadZipPage
  readRarPage: ReadRarPage
  extractRar: ExtractRar
  renderPdfPage: RenderPdfPage
  resizeImage: ResizeImage
  /** Folder of the cache of rendered, resized and extracted pages; belongs to it alone. */
  cacheFolder: string
  cacheBytesMax: number
  /** Records a problem of a page as an error of its book. */
  recordPageProblem: (bookId: string, problem: Problem) => Promise<void>
  log: Log
  /** How long permissions are cached; a fifth of a second by default. */
  rightsFreshMs?: number
}

/** A parsed page takes about this much memory, without its name. */
const PAGE_MEMORY_BYTES = 400
/** Page lists of about 800 books of 200 pages: more than one server's users read at the same time. */
const PAGE_LISTS_BYTES_MAX = 64 * 1024 * 1024

/** Opens the page reader with the page cache of an earlier run. */
export async function openPageReader(dependencies: PageReaderDependencies): Promise<PageReader> {
  const cache = await openPageCache({ folder: dependencies.cacheFolder, bytesMax: dependencies.cacheBytesMax, log: dependencies.log })
  return new PageReader(dependencies, cache)
}

/** Serves the pages of books to callers who may see them. */
export class PageReader {
  readonly #dependencies: PageReaderDependencies
  readonly #lookup
  /** The cache of rendered, resized and extracted pages. */
  readonly cache: PageCache
  readonly #rendered: RenderedPages
  readonly #pageLists = new BoundedCache<{ version: string; pages: Page[] }>({
    bytesMax: PAGE_LISTS_BYTES_MAX,
    // Names may have some thousand characters, two bytes each beyond Latin-1.
    bytesOf: ({ pages }) => pages.reduce((sum, { name }) => sum + PAGE_MEMORY_BYTES + 2 * name.length, PAGE_MEMORY_BYTES),
    // That of a comic whose analysis did not limit the names yet.
    keepsLargest: true,
  })

  constructor(dependencies: PageReaderDependencies, cache: PageCache) {
    this.#dependencies = dependencies
    this.#lookup = new BookLookup(dependencies.database, { freshMs: dependencies.rightsFreshMs })
    this.cache = cache
    this.#rendered = new RenderedPages({ ...dependencies, cache })
  }

  /** The book and the pages of the same analysis: pages of one analysis under the ETag of another would stay in the caches of clients permanently. */
  async #getPagedBook(requested: { caller: Caller; bookId: string }): Promise<{ book: ReadableBook; pages: Page[] }> {
    const book = await this.#lookup.getAnalyzed(requested)
    const known = this.#pageLists.get(book.id)
    if (known?.version === book.version) return { book, pages: known.pages }
    const found = (await findPages(this.#dependencies.database, book.id)) ?? { version: book.version, pages: [] }
    this.#pageLists.set(book.id, found)
    if (found.version === book.version) return { book, pages: found.pages }
    // It was analyzed again since the look-up.
    this.#lookup.clear()
    const present = await this.#lookup.getAnalyzed(requested)
    if (found.version === present.version) return { book: present, pages: found.pages }
    refuse('conflict', `"${present.fileName}" is being analyzed again; try again in a moment.`)
  }

  /** The bytes of one variant of a page, cached if the variant is costly. */
  async #produce(book: ReadableBook, target: Target, variant: PageVariant): Promise<PageOutcome> {
    if (variant.kind === 'original') return asPicture(target.page, await this.#readOriginal(book, target))
    const key = { hash: fileHashOf(book), name: `${target.index}-${variant.name}` }
    return await this.cache.picture(key, target.requested.signal, async (signal): Promise<PageOutcome> => {
      if (variant.kind === 'rendered') {
        await checkUnchanged(book)
        const { longestSide } = variant
        const larger = largerSides(target.page, longestSide)
        return await this.#rendered.make({ file: libraryFileOf(book), hash: key.hash, index: target.index, longestSide, larger }, signal)
      }
      const source = await this.#produce(book, { ...target, requested: { signal }, isSent: false }, variant.from)
      if ('problem' in source) return source
      const resized = await this.#dependencies.resizeImage({ bytes: source.bytes, width: variant.width, format: variant.format })
      if ('bytes' in resized) return resized
      // The page itself was read and verified: a picture format that we cannot convert does not make the book damaged.
      refuse(
        'page_unreadable',
        `Page ${target.index + 1} of "${book.fileName}" cannot be converted: request it without width and format.`,
        {
          details: resized.problem.details,
        },
      )
    })
  }

  async #readOriginal(book: ReadableBook, { page, index, pages, requested, isSent }: Target): Promise<PageOutcome> {
    if (page.isBlank) return await blankPicture(page)
    const request = { ...libraryFileOf(book), index, page }
    // A picture that is resized may still be on its way to another process when its outcome is known.
    if (book.pageSource === 'zip') return await this.#dependencies.readZipPage(request, { isLent: isSent })
    // Only zip pages are verified against the analysis; of other files this checks that they are still the analyzed version.
    await checkUnchanged(book)
    if (book.pageSource === 'rar') return await this.#dependencies.readRarPage(request, { signal: requested.signal })
    const bytes = pages.reduce((sum, { bytes }) => sum + bytes, 0)
    const key = { hash: fileHashOf(book), index, count: pages.length, bytes }
    let partial: Problem | null = null
    const extracted = await this.cache.extracted(key, requested.signal, async (folder, running) => {
      const problem = await this.#dependencies.extractRar({ ...libraryFileOf(book), pages, folder }, { signal: running })
      if (problem?.fatal) return { problem }
      partial = problem
      return null
    })
    if (extracted instanceof Uint8Array) return { bytes: extracted, mediaType: page.mediaType }
    return extracted ?? { problem: partial ?? skippedProblem(page) }
  }

  /**
   * Refuses with the cause: the file as a whole, this machine, or else this page; only a problem of the page is recorded.
   */
  async #refusePage(book: ReadableBook, problem: Problem, pageNumber: number): Promise<never> {
    await checkUnchanged(book)
    if (isTemporary(problem)) {
      refuse('unavailable', `Page ${pageNumber} of "${book.fileName}" cannot be shown at the moment: ${problem.message}`, {
        details: problem.details,
      })
    }
    await checkReadable(book)
    await this.#dependencies.recordPageProblem(book.id, problem).catch((cause) => {
      this.#dependencies.log.error({ err: cause, bookId: book.id }, 'Could not record the problem of a page.')
    })
    refuse('page_unreadable', `Page ${pageNumber} of "${book.fileName}" cannot be shown: ${problem.message}`, {
      details: { errorType: problem.type, ...problem.details },
    })
  }

  async #readVariant(book: ReadableBook, target: Target, variant: PageVariant): Promise<PageImage> {
    try {
      const outcome = await this.#produce(book, target, variant)
      return 'problem' in outcome ? await this.#refusePage(book, outcome.problem, target.index + 1) : outcome
    } catch (cause) {
      if (cause instanceof AppError) {
        // Only this log line informs the operator: the user reads only that they should try again.
        if (cause.code === 'unavailable')
          this.#dependencies.log.warn({ err: cause, bookId: book.id, path: book.path }, 'Could not read a page.')
        throw cause
      }
      if (target.requested.signal.aborted) throw cause
      await checkUnchanged(book)
      refuseForNow(book, cause)
    }
  }

  /**
   * @throws not_found (no such book or page, or hidden), not_analyzed, not_paged (text EPUB), conflict (being analyzed again at this
   *   moment), invalid_request (a width that is not offered)
   */
  async getPage(requested: BookPageRequest): Promise<ReadablePage> {
    checkWidth('Pages', PAGE_WIDTHS, requested.width)
    const { book, pages } = await this.#getPagedBook(requested)
    const page = pages[requested.pageNumber - 1]
    if (!page) refuseAbsent(book, { pageNumber: requested.pageNumber, count: pages.length })
    const variant = chooseVariant(page, {
      isPdf: book.pageSource === 'pdf',
      width: requested.width,
      format: requested.format,
      keeps: requested.keeps && pages.every(({ mediaType }) => mediaType === page.mediaType) ? requested.keeps : undefined,
      prefer: requested.prefer,
    })
    const fileHash = fileHashOf(book)
    return {
      etag: `${fileHash.slice(0, ETAG_HASH_DIGITS)}-${requested.pageNumber}-${variant.name}`,
      fileHash,
      modifiedAt: book.modifiedAt,
      read: () => this.#readVariant(book, { page, index: requested.pageNumber - 1, pages, requested, isSent: true }, variant),
    }
  }

  /** The pages of a book in order; empty for a text EPUB. @throws not_found, not_analyzed, conflict */
  async listPages(requested: { caller: Caller; bookId: string }): Promise<BookPage[]> {
    const { book, pages } = await this.#getPagedBook(requested)
    const idOf = pageIdsOf(book.id)
    const listed: BookPage[] = []
    for (const [index, page] of pages.entries()) {
      if (index % LIST_SLICE === LIST_SLICE - 1) await yieldTurn()
      listed.push({
        id: idOf(index + 1),
        bookId: book.id,
        pageNumber: index + 1,
        fileName: page.name,
        fileFormat: formatOfMediaType(page.mediaType),
        fileSize: page.bytes,
        width: page.width,
        height: page.height,
      })
    }
    return listed
  }

  /** Cancels running work. */
  close(): Promise<void> {
    return this.cache.close()
  }
}

/** A page that an earlier extraction skipped as damaged. */
function skippedProblem(page: Page): Problem {
  return { type: 'page_extraction', message: `"${page.name}" cannot be extracted from its archive.`, fatal: false }
}

/**
 * A page whose first bytes are not those of a picture is not served as one, whatever the archive calls it: browsers would guess its type. Pictures
 * are served with their true type.
 */
function asPicture(page: Page, outcome: PageOutcome): PageOutcome {
  if ('problem' in outcome) return outcome
  const mediaType = pictureTypeOf(outcome.bytes)
  if (mediaType !== null) return { ...outcome, mediaType }
  const message = outcome.bytes.length === 0 ? `"${page.name}" is empty.` : `"${page.name}" is not a picture by its first bytes.`
  outcome.release?.()
  return { problem: { type: 'page_extraction', message, details: { entry: page.name }, fatal: false } }
}

interface Target {
  page: Page
  index: number
  pages: Page[]
  /** Its signal is created on first access, which a page of a zip never needs. */
  requested: { signal: AbortSignal }
  /** Whether the bytes of the page are sent as they are, and are needed for nothing else. */
  isSent: boolean
}

/** A list of 100,000 pages takes a third of a second: it pauses every ten milliseconds for other requests. */
const LIST_SLICE = 3_000
/** 128 bits distinguish contents. */
const ETAG_HASH_DIGITS = 32

/** The book has pages, but none with this number. */
export class NoSuchPage extends AppError {
  constructor(message: string) {
    super('not_found', message)
  }
}

function refuseAbsent(book: ReadableBook, absent: { pageNumber: number; count: number }): never {
  if (absent.count === 0 && book.format === 'epub') {
    refuse('not_paged', `"${book.fileName}" is text without page images: read it by its web-publication manifest.`, {
      details: { manifest: `/api/v1/books/${book.id}/manifest` },
    })
  }
  throw new NoSuchPage(`"${book.fileName}" has ${absent.count} pages; there is no page ${absent.pageNumber}.`)
}
