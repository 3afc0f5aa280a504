import type { LibraryFile, PageImage, PageOutcome, RenderPdfPage, ResizeImage } from '#core/fields/analysis.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import type { PageCache } from '#core/reading/page-cache.ts'
import { renderedName } from '#core/reading/page-variant.ts'

/** One size of one page of a PDF. */
interface RenderedPage {
  file: LibraryFile
  /** Of the content of the file. */
  hash: string
  /** From 0. */
  index: number
  longestSide: number
  /** The larger sizes in which the page is offered, the largest first. */
  larger: readonly number[]
}

/**
 * From here on a page is worth one large picture. Drawing an ordinary page takes a tenth of a second, and shrinking a large picture half of that;
 * a page whose picture has 80 million pixels takes seconds in every size.
 */
const SLOW_MS = 300
/** For the one large picture, after which the size that was asked for must still be drawn if this fails. */
const LARGEST_MS_MAX = 20_000
/** Slow pages that are remembered, some 400 bytes each: some thousand books are read at the same time at most. */
const SLOW_PAGES_BYTES_MAX = 4 * 1024 * 1024

interface RenderedPagesOptions {
  cache: Pick<PageCache, 'find' | 'keep'>
  renderPdfPage: RenderPdfPage
  resizeImage: ResizeImage
}

/**
 * Draws pages of PDFs at the size that was asked for, or shrinks a larger picture of the same page that is in the cache. A page that was slow to
 * draw is drawn once more, in its largest size, when another size of it is requested: all further sizes are made from that picture.
 */
export class RenderedPages {
  readonly #options: RenderedPagesOptions
  // One size at a time, so that the second request knows what the first one took.
  readonly #lanes = new Semaphore(Number.POSITIVE_INFINITY, 1)
  /** `alone`: its largest size cannot be drawn or stored, so each size is drawn on its own. */
  readonly #slow = new BoundedCache<'slow' | 'alone'>({ bytesMax: SLOW_PAGES_BYTES_MAX })

  constructor(options: RenderedPagesOptions) {
    this.#options = options
  }

  /** Makes one size of a page that is not in the cache. */
  make(page: RenderedPage, signal: AbortSignal): Promise<PageOutcome> {
    const key = `${page.hash} ${page.index}`
    return this.#lanes.run(() => this.#make(page, key, signal), signal, { key })
  }

  async #make(page: RenderedPage, key: string, signal: AbortSignal): Promise<PageOutcome> {
    const { renderPdfPage, resizeImage } = this.#options
    const { file, index, longestSide, larger } = page
    const shrink = ({ bytes }: PageImage) => resizeImage({ bytes, width: longestSide, height: longestSide, format: 'jpeg' })
    const kept = await this.#findLarger(page)
    if (kept) return await shrink(kept)
    if (larger.length > 0 && this.#slow.get(key) === 'slow') {
      const largest = await this.#drawLargest(page, signal)
      // A cache that is off keeps nothing, and the next size would cost as much again.
      if (largest === null || (await this.#findLarger(page)) === null) this.#slow.set(key, 'alone')
      if (largest !== null) return await shrink(largest)
    }
    const { drawnMs = 0, ...outcome } = await renderPdfPage({ ...file, index, longestSide }, { signal })
    if (drawnMs > SLOW_MS && !this.#slow.has(key)) this.#slow.set(key, 'slow')
    return outcome
  }

  async #findLarger({ hash, index, longestSide, larger }: RenderedPage): Promise<PageImage | null> {
    for (const side of [...larger, longestSide]) {
      const found = await this.#options.cache.find({ hash, name: `${index}-${renderedName(side)}` })
      if (found) return found
    }
    return null
  }

  async #drawLargest({ file, hash, index, larger }: RenderedPage, signal: AbortSignal): Promise<PageImage | null> {
    const { cache, renderPdfPage } = this.#options
    const limit = AbortSignal.timeout(LARGEST_MS_MAX)
    const longestSide = larger[0] as number
    const drawing = renderPdfPage({ ...file, index, longestSide }, { signal: AbortSignal.any([signal, limit]), isExtra: true })
    const outcome = await drawing.catch((error: unknown) => {
      if (signal.aborted || !limit.aborted) throw error
      return null
    })
    if (outcome === null || 'problem' in outcome) return null
    await cache.keep({ hash, name: `${index}-${renderedName(longestSide)}` }, outcome)
    return outcome
  }
}
