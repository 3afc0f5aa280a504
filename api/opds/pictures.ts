import { readFile } from 'node:fs/promises'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import type { Call } from '#api/http/endpoint.ts'
import type { StreamReply } from '#api/http/reply.ts'
import type { CoverSize } from '#api/opds/addresses.ts'
import { pagePicture } from '#api/views/page-picture.ts'
import { bookThumbnail } from '#api/views/thumbnail.ts'
import { findChosenCover } from '#core/catalog/edit-covers.ts'
import { AppError, type ErrorCode } from '#core/foundation/errors.ts'
import { checkVisible } from '#core/metadata/visible-records-query.ts'
import { PAGE_WIDTHS } from '#core/reading/page-variant.ts'

type Services = Pick<ContentServices, 'pageReader'> & Pick<DataServices, 'database' | 'settings'>

/** Never `public`: a shared cache does not know who may see what. Revalidated by ETag after ten minutes. */
const CHECKED = 'private, max-age=600'
/**
 * The picture formats that OPDS and OPDS-PSE allow. Pages in other formats are sent as JPEG, and so are all pages of a book that has several formats: a
 * link states one type for all of its pages.
 */
export const FEED_PICTURES = ['image/jpeg', 'image/png', 'image/gif']
const COVER_WIDTHS: Record<Exclude<CoverSize, 'small'>, (typeof PAGE_WIDTHS)[number]> = { medium: 640, large: 1280 }
/** Errors of a book without a usable first page: it has the small cover or a placeholder. */
const NO_PAGE = new Set<ErrorCode>(['not_found', 'not_analyzed', 'not_paged', 'page_unreadable'])

/**
 * The cover of a book, JPEG: small as in lists, or larger from the chosen cover, else from its first page.
 * @throws not_found for a hidden or unknown book, and for a missing cover if no placeholder is wanted
 */
export async function coverImage(
  call: Call<Services>,
  { bookId, size = 'small', ...options }: { bookId: string; size?: CoverSize; placeholder?: boolean },
): Promise<StreamReply> {
  if (size === 'small') return await bookThumbnail(call, bookId, options)
  await checkVisible(call.services.database, call.caller, 'book', bookId)
  const chosen = await findChosenCover(call.services, { kind: 'book', id: bookId.toLowerCase() }, 'large')
  if (chosen) return { kind: 'file', ...chosen, mediaType: 'image/jpeg', cacheControl: CHECKED }
  const smallInstead = async (error: unknown): Promise<StreamReply> => {
    if (!(error instanceof AppError && NO_PAGE.has(error.code))) throw error
    return await bookThumbnail(call, bookId, options)
  }
  try {
    const page = await pagePicture(call, { bookId, pageNumber: 1, width: COVER_WIDTHS[size], format: 'jpeg', byAccept: false }, CHECKED)
    if (page.kind !== 'made') return page
    // Only rendering shows whether a page can be rendered.
    return { ...page, make: () => page.make().catch(async (error: unknown) => await pictureOf(await smallInstead(error))) }
  } catch (error) {
    return await smallInstead(error)
  }
}

/** The bytes of a small reply. */
async function pictureOf(reply: StreamReply): Promise<{ bytes: Uint8Array; mediaType: string }> {
  if (reply.kind === 'bytes') return reply
  if (reply.kind === 'file') return { bytes: await readFile(reply.path), mediaType: reply.mediaType }
  throw new Error(`Cannot read the bytes of a reply of kind ${reply.kind}`)
}

/**
 * A page as OPDS-PSE requests it. Records no progress: apps prefetch pages and load thumbnails of all of them.
 * @param page.pageNumber from 0
 * @param page.maxWidth in pixels; selects the widest available width up to this, or else the smallest
 * @throws not_found, not_analyzed, not_paged
 */
export async function pageImage(
  call: Call<Services>,
  page: { bookId: string; pageNumber: number; maxWidth: number | undefined },
): Promise<StreamReply> {
  const width = page.maxWidth === undefined ? undefined : offeredWidth(page.maxWidth)
  const { bookId, pageNumber } = page
  const request = { bookId, pageNumber: pageNumber + 1, width, format: 'jpeg', keeps: FEED_PICTURES, byAccept: true } as const
  return await pagePicture(call, request, CHECKED)
}

/** There are only a few widths, because each one is a picture to render and cache. */
function offeredWidth(maxWidth: number): number {
  return PAGE_WIDTHS.findLast((width) => width <= maxWidth) ?? PAGE_WIDTHS[0]
}
