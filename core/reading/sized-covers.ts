import { readFile } from 'node:fs/promises'
import type { Caller } from '#core/account/caller.ts'
import type { FoundPicture } from '#core/catalog/find-thumbnail.ts'
import type { ResizeImage } from '#core/fields/analysis.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import type { PageCache } from '#core/reading/page-cache.ts'
import { PAGE_WIDTHS } from '#core/reading/page-variant.ts'
import type { PageReader } from '#core/reading/read-page.ts'

/** The widths of covers. A list, as that of pages; the sizes of cards of an interface, also at twice the density of pixels. */
export const COVER_WIDTHS = [160, 240, 320, 480] as const
/** Formats that are made within the time of a frame. AVIF takes two to four times as long as WebP, which every browser that shows AVIF shows too. */
export type CoverFormat = 'jpeg' | 'webp'
/** Part of the names in the cache: increase it when resizing makes different bytes than before. */
const RESIZING = 1

/** @throws invalid_request for a width that is not offered */
export function checkCoverWidth(width: number | undefined): void {
  if (width === undefined || COVER_WIDTHS.some((known) => known === width)) return
  refuse('invalid_request', `Covers are not offered in a width of ${width} pixels. Known widths: ${COVER_WIDTHS.join(', ')}.`)
}

/** A cover in the wanted width, or as wide as there is one. */
export interface SizedCover {
  bytes: Uint8Array
  mediaType: string
  /** False if a sharper one exists that cannot be read now. */
  isFinal: boolean
}

interface Request {
  caller: Caller
  /** One of {@link COVER_WIDTHS}. */
  width: number
  format: CoverFormat
  signal: AbortSignal
}

/**
 * Covers in the sizes of cards, made when they are requested and kept in the page cache. Those that are wider than the stored picture come from the page that it
 * shows, or from the file of a chosen cover; all others from the stored picture, which takes no more than a few milliseconds.
 */
export class SizedCovers {
  readonly #pageReader: PageReader
  readonly #resizeImage: ResizeImage
  readonly #log: Log

  constructor(dependencies: { pageReader: PageReader; resizeImage: ResizeImage; log: Log }) {
    this.#pageReader = dependencies.pageReader
    this.#resizeImage = dependencies.resizeImage
    this.#log = dependencies.log
  }

  /** @param cover the stored picture, which the caller may see */
  async read(cover: FoundPicture, request: Request): Promise<SizedCover> {
    const { larger } = cover
    if (larger === null || request.width <= larger.above)
      return { ...(await this.#resized(cover, request, async () => cover.bytes)), isFinal: true }
    try {
      const sharp =
        'path' in larger ? await this.#resized(cover, request, () => readFile(larger.path)) : await this.#readPage(larger, request)
      return { ...sharp, isFinal: true }
    } catch (error) {
      if (request.signal.aborted) throw error
      // The file may be gone, or its disk asleep; somebody who browses still sees the cover.
      if (!(error instanceof AppError))
        this.#log.warn({ err: error }, 'Could not read the file of a cover; the stored picture is shown instead')
      return { bytes: cover.bytes, mediaType: 'image/jpeg', isFinal: false }
    }
  }

  async #readPage(page: { bookId: string; pageNumber: number }, { caller, width, format, signal }: Request) {
    const [narrowest] = PAGE_WIDTHS
    const found = await this.#pageReader.getPage({ caller, ...page, width: Math.max(width, narrowest), format, signal })
    const { bytes, mediaType, release } = await found.read()
    if (release === undefined) return { bytes, mediaType }
    // A page that is as small as requested lies in memory that is given back.
    const copy = Uint8Array.from(bytes)
    release()
    return { bytes: copy, mediaType }
  }

  async #resized(cover: FoundPicture, { width, format, signal }: Request, read: () => Promise<Uint8Array>) {
    const key = { hash: cover.hash, name: `cover${RESIZING}-${width}-${format}` }
    const made = await this.#cache.picture(key, signal, async () => this.#resizeImage({ bytes: await read(), width, format }))
    return 'problem' in made ? { bytes: cover.bytes, mediaType: 'image/jpeg' } : made
  }

  get #cache(): PageCache {
    return this.#pageReader.cache
  }
}
