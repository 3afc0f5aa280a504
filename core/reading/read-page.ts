import { setImmediate as yieldTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import { LRUCache } from 'lru-cache'
import type { Caller } from '#core/account/caller.ts'
import { type BookPage, fileHashOf, formatOfMediaType, pageIdsOf } from '#core/catalog/book.ts'
import { openBookLookup } from '#core/catalog/book-lookup.ts'
import { findPages, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import { CarrelError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import type {
  ExtractRar,
  LibraryFile,
  Page,
  PageImage,
  PageOutcome,
  Problem,
  ReadRarPage,
  ReadZipPage,
  RenderPdfPage,
  ResizeImage,
} from '#core/metadata/analysis.ts'
import { checkReadable, checkUnchanged, isPassing, refuseForNow } from '#core/reading/file-faults.ts'
import { openPageCache, type PageCache } from '#core/reading/page-cache.ts'
import { checkPageWidth, chooseVariant, type PageFormat, type PageVariant } from '#core/reading/page-variant.ts'
import { pictureTypeOf } from '#core/reading/picture-type.ts'

export interface PageAsk {
  caller: Caller
  bookId: string
  /** From 1. */
  pageNumber: number
  /** One of PAGE_WIDTHS; the page is made narrower, never wider. */
  width?: number | undefined
  /** One of PAGE_FORMATS; without it the page stays as the file holds it, where it can. */
  format?: PageFormat | undefined
  /** Media types of pages that stay in their own format, whatever `format` says. */
  keeps?: readonly string[] | undefined
  /** Looked at only where work can be given up on the way. */
  readonly signal: AbortSignal
}

/** A page that the caller may see. Nothing of its file has been touched yet. */
export interface FoundPage {
  /** Names content, page and variant; without quotes. */
  etag: string
  fileHash: string
  /**
   * Reads, renders or resizes it.
   * @throws page_unreadable, not_found (the file has gone), conflict (it is no longer the one that was analysed), unavailable (the
   *   disk, the rights or the time do not allow it now)
   */
  read(): Promise<PageImage>
}

/** Serves the pages of books to callers who may see them. */
export interface PageReader {
  /**
   * @throws not_found (no such book or page, or hidden), not_analyzed, not_paged (text EPUB), conflict (analysed again at this very
   *   moment), invalid_request (a width that is not offered)
   */
  getPage(ask: PageAsk): Promise<FoundPage>
  /** The pages of a book in order; empty for a text EPUB. @throws not_found, not_analyzed, conflict */
  listPages(ask: { caller: Caller; bookId: string }): Promise<BookPage[]>
  /** Where rendered, resized and extracted pages are kept. */
  cache: Pick<PageCache, 'count' | 'drop'>
  /** Stops what runs. */
  close(): Promise<void>
}

/** What reading pages needs of the workers and the disk. */
export interface PageReaderParts {
  database: Knex
  readZipPage: ReadZipPage
  readRarPage: ReadRarPage
  extractRar: ExtractRar
  renderPdfPage: RenderPdfPage
  resizeImage: ResizeImage
  /** Folder of the cache of rendered, resized and extracted pages; belongs to it alone. */
  cacheFolder: string
  cacheBytesMax: number
  /** Puts what is wrong with a page into the errors of its book. */
  recordPageProblem: (bookId: string, problem: Problem) => Promise<void>
  log: Log
  /** How long an answer on who may see a book is believed; a fifth of a second unless said. */
  rightsFreshMs?: number
}

/** A parsed page takes about this much memory, without its name. */
const PAGE_MEMORY_BYTES = 400
/** Page lists of about 800 books of 200 pages: more readers at once than one server feeds. */
const PAGE_LISTS_BYTES_MAX = 64 * 1024 * 1024

/** Opens the reader; takes over the page cache of an earlier run. */
export async function openPageReader(parts: PageReaderParts): Promise<PageReader> {
  const cache = await openPageCache({ folder: parts.cacheFolder, bytesMax: parts.cacheBytesMax, log: parts.log })
  return new CachedPageReader(parts, cache)
}

class CachedPageReader implements PageReader {
  readonly #parts: PageReaderParts
  readonly #lookup
  readonly cache: PageCache
  readonly #pageLists = new LRUCache<string, { version: string; pages: Page[] }>({
    maxSize: PAGE_LISTS_BYTES_MAX,
    // Names may have some thousand characters, two bytes each beyond Latin-1.
    sizeCalculation: ({ pages }) => pages.reduce((sum, { name }) => sum + PAGE_MEMORY_BYTES + 2 * name.length, PAGE_MEMORY_BYTES),
  })

  constructor(parts: PageReaderParts, cache: PageCache) {
    this.#parts = parts
    this.#lookup = openBookLookup(parts.database, { freshMs: parts.rightsFreshMs })
    this.cache = cache
  }

  /** The book and the pages of the same analysis: with the pages of one and the ETag of another a wrong picture would be kept for good. */
  async #getPagedBook(ask: { caller: Caller; bookId: string }): Promise<{ book: ReadableBook; pages: Page[] }> {
    const book = await this.#lookup.getAnalysed(ask)
    const known = this.#pageLists.get(book.id)
    if (known?.version === book.version) return { book, pages: known.pages }
    const found = (await findPages(this.#parts.database, book.id)) ?? { version: book.version, pages: [] }
    this.#pageLists.set(book.id, found)
    if (found.version === book.version) return { book, pages: found.pages }
    // It was analysed again after it was looked up.
    this.#lookup.forget()
    const present = await this.#lookup.getAnalysed(ask)
    if (found.version === present.version) return { book: present, pages: found.pages }
    refuse('conflict', `"${present.fileName}" is just being analysed again; try again in a moment.`)
  }

  /** The bytes of one variant of a page, from the cache where they are kept. */
  async #produce(book: ReadableBook, target: Target, variant: PageVariant): Promise<PageOutcome> {
    if (variant.kind === 'original') return asPicture(target.page, await this.#readOriginal(book, target))
    const key = { hash: fileHashOf(book), name: `${target.index}-${variant.name}` }
    return await this.cache.picture(key, target.ask.signal, async (signal): Promise<PageOutcome> => {
      if (variant.kind === 'rendered') {
        await checkUnchanged(book)
        return await this.#parts.renderPdfPage({ ...fileOf(book), index: target.index, longestSide: variant.longestSide }, { signal })
      }
      const source = await this.#produce(book, { ...target, ask: { signal } }, variant.from)
      if ('problem' in source) return source
      const resized = await this.#parts.resizeImage({ bytes: source.bytes, width: variant.width, format: variant.format })
      if ('bytes' in resized) return resized
      // The page itself was read and checked: a kind of picture that we cannot convert is no damage of the book.
      refuse(
        'page_unreadable',
        `Page ${target.index + 1} of "${book.fileName}" cannot be converted: ask for it without width and format.`,
        {
          details: resized.problem.details,
        },
      )
    })
  }

  async #readOriginal(book: ReadableBook, { page, index, pages, ask }: Target): Promise<PageOutcome> {
    const request = { ...fileOf(book), index, page }
    if (book.pageSource === 'zip') return await this.#parts.readZipPage(request)
    // Only a zip page is checked against what analysis noted; of other files we make sure that they are still the analysed ones.
    await checkUnchanged(book)
    if (book.pageSource === 'rar') return await this.#parts.readRarPage(request, { signal: ask.signal })
    const bytes = pages.reduce((sum, { bytes }) => sum + bytes, 0)
    const key = { hash: fileHashOf(book), index, count: pages.length, bytes }
    let partial: Problem | null = null
    const extracted = await this.cache.extracted(key, ask.signal, async (folder, running) => {
      const problem = await this.#parts.extractRar({ ...fileOf(book), pages, folder }, { signal: running })
      if (problem?.fatal) return { problem }
      partial = problem
      return null
    })
    if (extracted instanceof Uint8Array) return { bytes: extracted, mediaType: page.mediaType }
    return extracted ?? { problem: partial ?? leftOut(page) }
  }

  /**
   * Says why a page cannot be had: because of the file as a whole, of this machine, or else of this page, and only that is remembered.
   */
  async #refusePage(book: ReadableBook, problem: Problem, pageNumber: number): Promise<never> {
    await checkUnchanged(book)
    if (isPassing(problem)) {
      refuse('unavailable', `Page ${pageNumber} of "${book.fileName}" cannot be shown at the moment: ${problem.message}`, {
        details: problem.details,
      })
    }
    await checkReadable(book)
    await this.#parts.recordPageProblem(book.id, problem).catch((cause) => {
      this.#parts.log.error({ err: cause, bookId: book.id }, 'The problem of a page could not be recorded.')
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
      if (cause instanceof CarrelError) {
        // Nobody else would tell whoever runs this server: the reader is only told to try again.
        if (cause.code === 'unavailable')
          this.#parts.log.warn({ err: cause, bookId: book.id, path: book.path }, 'A page could not be read.')
        throw cause
      }
      if (target.ask.signal.aborted) throw cause
      await checkUnchanged(book)
      refuseForNow(book, cause)
    }
  }

  async getPage(ask: PageAsk): Promise<FoundPage> {
    checkPageWidth(ask.width)
    const { book, pages } = await this.#getPagedBook(ask)
    const page = pages[ask.pageNumber - 1]
    if (!page) refuseAbsent(book, { pageNumber: ask.pageNumber, count: pages.length })
    const variant = chooseVariant(page, { isPdf: book.pageSource === 'pdf', width: ask.width, format: ask.format, keeps: ask.keeps })
    const fileHash = fileHashOf(book)
    return {
      etag: `${fileHash.slice(0, ETAG_HASH_DIGITS)}-${ask.pageNumber}-${variant.name}`,
      fileHash,
      read: () => this.#readVariant(book, { page, index: ask.pageNumber - 1, pages, ask }, variant),
    }
  }

  async listPages(ask: { caller: Caller; bookId: string }): Promise<BookPage[]> {
    const { book, pages } = await this.#getPagedBook(ask)
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

  close(): Promise<void> {
    return this.cache.close()
  }
}

const fileOf = (book: ReadableBook): LibraryFile => ({ root: book.libraryPath, path: book.path })

/** A page that an earlier extraction could not unpack. */
function leftOut(page: Page): Problem {
  return { type: 'page_extraction', message: `"${page.name}" cannot be unpacked from its archive.`, fatal: false }
}

/**
 * What is no picture by its first bytes is not served as one, whatever the archive calls it: browsers would guess what else it is. Pictures are
 * served as what they are.
 */
function asPicture(page: Page, outcome: PageOutcome): PageOutcome {
  if ('problem' in outcome) return outcome
  const mediaType = pictureTypeOf(outcome.bytes)
  if (mediaType !== null) return { bytes: outcome.bytes, mediaType }
  const message = outcome.bytes.length === 0 ? `"${page.name}" is empty.` : `"${page.name}" is not a picture by its first bytes.`
  return { problem: { type: 'page_extraction', message, details: { entry: page.name }, fatal: false } }
}

interface Target {
  page: Page
  index: number
  pages: Page[]
  /** Its signal is made when it is first looked at, which a page of a zip never does. */
  ask: { signal: AbortSignal }
}

/** A list of 100,000 pages takes a third of a second: others get their turn every ten milliseconds. */
const LIST_SLICE = 3_000
/** 128 bits tell contents apart. */
const ETAG_HASH_DIGITS = 32

function refuseAbsent(book: ReadableBook, asked: { pageNumber: number; count: number }): never {
  if (asked.count === 0 && book.format === 'epub') {
    refuse('not_paged', `"${book.fileName}" is text without page images: read it by its web-publication manifest.`, {
      details: { manifest: `/api/v1/books/${book.id}/manifest` },
    })
  }
  refuse('not_found', `"${book.fileName}" has ${asked.count} pages; there is no page ${asked.pageNumber}.`)
}
