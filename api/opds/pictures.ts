import { readFile } from 'node:fs/promises'
import type { Call, StreamReply } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import type { CoverSize } from '#api/opds/addresses.ts'
import { pagePicture } from '#api/views/page-picture.ts'
import { bookThumbnail } from '#api/views/thumbnail.ts'
import { findChosenCover } from '#core/catalog/choose-cover.ts'
import { CarrelError, type ErrorCode } from '#core/foundation/errors.ts'
import { checkOwner } from '#core/metadata/chosen-cover-store.ts'
import { PAGE_WIDTHS } from '#core/reading/page-variant.ts'

type Services = Needs<'database' | 'pageReader' | 'settings'>

/** Never `public`: a shared cache knows nothing of who may see what. Asked again after ten minutes, by the name of the content. */
const CHECKED = 'private, max-age=600'
/** The kinds of picture that OPDS and OPDS-PSE let an image be; pages of others are sent as JPEG. */
export const FEED_PICTURES = ['image/jpeg', 'image/png', 'image/gif']
const COVER_WIDTHS: Record<Exclude<CoverSize, 'small'>, (typeof PAGE_WIDTHS)[number]> = { medium: 640, large: 1280 }
/** A book without a first page that could be drawn larger has its small cover, or a placeholder. */
const NO_PAGE = new Set<ErrorCode>(['not_found', 'not_analyzed', 'not_paged', 'page_unreadable'])

/**
 * The cover of a book, JPEG: the small one as lists have it, the larger ones of what a person chose, else of its first page.
 * @throws not_found for a hidden or unknown book, and where no placeholder is wanted
 */
export async function coverImage(
  call: Call<Services>,
  { bookId, size = 'small', ...wanted }: { bookId: string; size?: CoverSize; placeholder?: boolean },
): Promise<StreamReply> {
  if (size === 'small') return await bookThumbnail(call, bookId, wanted)
  const caller = call.caller
  await checkOwner(call.services.database, caller, { kind: 'book', id: bookId })
  const chosen = await findChosenCover(call.services, { kind: 'book', id: bookId.toLowerCase() }, 'large')
  if (chosen) return { kind: 'file', ...chosen, mediaType: 'image/jpeg', cacheControl: CHECKED }
  const smallInstead = async (error: unknown): Promise<StreamReply> => {
    if (!(error instanceof CarrelError && NO_PAGE.has(error.code))) throw error
    return await bookThumbnail(call, bookId, wanted)
  }
  try {
    const page = await pagePicture(call, { bookId, pageNumber: 1, width: COVER_WIDTHS[size], format: 'jpeg' }, CHECKED)
    if (page.kind !== 'made') return page
    // Whether a page can be drawn shows when it is.
    return { ...page, make: () => page.make().catch(async (error: unknown) => await pictureOf(await smallInstead(error))) }
  } catch (error) {
    return await smallInstead(error)
  }
}

/** The picture that a reply would send, which is small. */
async function pictureOf(reply: StreamReply): Promise<{ bytes: Uint8Array; mediaType: string }> {
  if (reply.kind === 'bytes') return reply
  if (reply.kind === 'file') return { bytes: await readFile(reply.path), mediaType: reply.mediaType }
  throw new Error(`A cover came as ${reply.kind}`)
}

/**
 * A page as OPDS-PSE asks for it. That it was sent does not mean that it was read: readers fetch ahead, and thumbnails of all pages, so no progress is
 * recorded.
 * @param page.pageNumber from 0
 * @param page.maxWidth in pixels; the widest that is offered and not wider is sent, or the narrowest of all
 * @throws not_found, not_analyzed, not_paged
 */
export async function pageImage(
  call: Call<Services>,
  page: { bookId: string; pageNumber: number; maxWidth: number | undefined },
): Promise<StreamReply> {
  const width = page.maxWidth === undefined ? undefined : offeredWidth(page.maxWidth)
  const asked = { bookId: page.bookId, pageNumber: page.pageNumber + 1, width, format: 'jpeg', keeps: FEED_PICTURES } as const
  return await pagePicture(call, asked, CHECKED)
}

/** Every width is a picture to make and keep, so there are a few of them only. */
function offeredWidth(maxWidth: number): number {
  return PAGE_WIDTHS.findLast((width) => width <= maxWidth) ?? PAGE_WIDTHS[0]
}
