import { readFile } from 'node:fs/promises'
import type { Caller } from '#core/account/caller.ts'
import type { FoundPicture } from '#core/catalog/find-thumbnail.ts'
import { libraryFileOf, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import type { DrawBookCover, PageOutcome, ResizeImage } from '#core/fields/analysis.ts'
import { AppError } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { checkUnchanged } from '#core/reading/file-problems.ts'
import type { StoredPicture } from '#core/reading/page-cache-files.ts'
import { PAGE_WIDTHS } from '#core/reading/page-variant.ts'
import type { PageReader } from '#core/reading/read-page.ts'

/** The widths of covers. A list, as that of pages; the sizes of cards of an interface, also at twice the density of pixels. */
export const COVER_WIDTHS = [160, 240, 320, 480] as const
/** AVIF takes two to four times as long to make as WebP, which every browser that shows AVIF shows too. */
type CoverFormat = 'jpeg' | 'webp'
/** Part of the names in the cache: increase it when drawing or resizing makes different bytes than before. */
const MAKING = 1
/** The widest cover with the proportions of a page. */
const DRAWN_SIDE = 720
/** Sources whose covers are only found by unpacking the whole file, which takes seconds. */
const UNPACKED_WHOLE: readonly string[] = ['rar', 'rar_solid'] satisfies ReadableBook['pageSource'][]

/** A cover in the wanted width, or as wide as there is one. */
interface SizedCover extends StoredPicture {
  /** False if there may be a sharper one, which cannot be read now. */
  isFinal: boolean
}

interface Request {
  caller: Caller
  /** One of {@link COVER_WIDTHS}. */
  width: number
  format: CoverFormat
  signal: AbortSignal
}

interface Dependencies {
  pageReader: PageReader
  resizeImage: ResizeImage
  drawBookCover: DrawBookCover
  log: Log
}

/**
 * Covers in the sizes of cards, made when they are requested and kept in the page cache. Those that are wider than the stored picture are made from the page that
 * it shows, or from the file that it comes from; all others from the stored picture, within a few milliseconds.
 */
export class SizedCovers {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @param cover the stored picture, which the caller may see */
  async read(cover: FoundPicture, request: Request): Promise<SizedCover> {
    const { larger } = cover
    if (request.width <= larger.above) return await this.#smaller(cover, request)
    try {
      const sharp = 'bookId' in larger ? await this.#readPage(larger, request) : await this.#readLarger(cover, request)
      if (sharp !== null) return { ...sharp, isFinal: true }
    } catch (error) {
      if (request.signal.aborted) throw error
      if (!(error instanceof AppError))
        this.#dependencies.log.warn({ err: error, larger }, 'Could not read a large cover; a small one is sent')
    }
    // The file may be gone, or its disk asleep; somebody who browses still sees the cover.
    return { ...(await this.#smaller(cover, request)), isFinal: false }
  }

  async #smaller(cover: FoundPicture, request: Request): Promise<SizedCover> {
    const made = await this.#resized(cover, { ...request, width: Math.min(request.width, cover.larger.above) }, async () => cover.bytes)
    return { ...(made ?? { bytes: cover.bytes, mediaType: 'image/jpeg' }), isFinal: true }
  }

  async #readPage(page: { bookId: string; pageNumber: number }, { caller, width, format, signal }: Request): Promise<StoredPicture> {
    const [narrowest] = PAGE_WIDTHS
    const found = await this.#dependencies.pageReader.getPage({ caller, ...page, width: Math.max(width, narrowest), format, signal })
    const { bytes, mediaType, release } = await found.read()
    if (release === undefined) return { bytes, mediaType }
    // A page that is as small as requested lies in memory that is given back.
    const copy = Uint8Array.from(bytes)
    release()
    return { bytes: copy, mediaType }
  }

  /** Null if there is none. */
  async #readLarger(cover: FoundPicture, request: Request): Promise<StoredPicture | null> {
    const { larger } = cover
    if ('path' in larger) return await this.#resized(cover, request, () => readFile(larger.path))
    if (!('book' in larger) || UNPACKED_WHOLE.includes(larger.book.pageSource)) return null
    const { book } = larger
    return await this.#resized(cover, request, async () => {
      const drawn = await this.#make(cover, 'drawn', request.signal, async (signal) => {
        const { cover: found } = await this.#dependencies.drawBookCover({ ...libraryFileOf(book), coverSide: DRAWN_SIDE }, { signal })
        await checkUnchanged(book)
        return found ? { bytes: found.jpeg, mediaType: 'image/jpeg' } : null
      })
      return drawn?.bytes ?? null
    })
  }

  /** @param read null if there is no picture */
  async #resized(
    cover: FoundPicture,
    { width, format, signal }: Request,
    read: () => Promise<Uint8Array | null>,
  ): Promise<StoredPicture | null> {
    return await this.#make(cover, `${width}-${format}`, signal, async () => {
      const bytes = await read()
      return bytes && (await this.#dependencies.resizeImage({ bytes, width, format }))
    })
  }

  async #make(
    { hash }: FoundPicture,
    name: string,
    signal: AbortSignal,
    make: (signal: AbortSignal) => Promise<PageOutcome | null>,
  ): Promise<StoredPicture | null> {
    const made = await this.#dependencies.pageReader.cache.picture({ hash, name: `cover${MAKING}-${name}` }, signal, make)
    return made === null || 'problem' in made ? null : made
  }
}
