import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { namesType } from '#api/http/accept.ts'
import { etagOf } from '#api/http/conditional.ts'
import type { Call } from '#api/http/endpoint.ts'
import type { StreamReply } from '#api/http/reply.ts'
import type { Caller } from '#core/account/caller.ts'
import { type FoundCover, type FoundPicture, findBookThumbnail, findSeriesThumbnail } from '#core/catalog/find-thumbnail.ts'
import { coverVersionOf } from '#core/covers/current-cover.ts'
import { PLACEHOLDER_COVER } from '#core/covers/placeholder.ts'
import { refuse } from '#core/foundation/errors.ts'
import { AnyInteger } from '#core/foundation/schema.ts'
import { checkWidth } from '#core/reading/page-variant.ts'
import { COVER_WIDTHS } from '#core/reading/sized-covers.ts'

type Services = Pick<DataServices, 'database' | 'settings'>
/** What {@link sizedThumbnail} needs. */
export type SizedThumbnailServices = Services & Pick<ContentServices, 'sizedCovers'>

/** Query members of every thumbnail; spread them into the query schema of the route. */
export const thumbnailQuery = {
  placeholder: Type.Optional(
    Type.Boolean({ description: 'Whether a missing cover returns a placeholder (the default) or, with false, 404.' }),
  ),
}

/** The same for routes that offer several sizes. */
export const sizedThumbnailQuery = {
  ...thumbnailQuery,
  width: Type.Optional(
    AnyInteger({
      description: `Width in pixels; a cover is never enlarged. One of ${COVER_WIDTHS.join(', ')}. Without it: 400 pixels on the longer side, JPEG.`,
    }),
  ),
  v: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'The `version` of the cover in its record, which allows caching forever while it is the current one.',
    }),
  ),
}
/** Their media types. WebP is sent to clients that name it in `Accept`, with a `width`. */
export const SIZED_MEDIA_TYPES = ['image/jpeg', 'image/webp']

/** Never `public`: a shared cache does not know who may see what. */
export const CHECKED_COVER = 'private, max-age=600'
const IMMUTABLE = 'private, max-age=31536000, immutable'
/** Short, since the analysis of a new book takes only a second. */
const UNTIL_COVER = 'private, max-age=60'
const PLACEHOLDER_ETAG = `placeholder-${etagOf(PLACEHOLDER_COVER)}`

interface ServiceCall {
  services: Services
  caller: Caller
}
interface CoverOptions {
  /** False: a missing cover is an error. */
  placeholder?: boolean | undefined
}
interface SizedOptions extends CoverOptions {
  width?: number | undefined
  v?: string | undefined
}

/** The reply with the small cover of a book, JPEG. @throws not_found for a hidden or unknown book, and for a missing cover without placeholder */
export async function bookThumbnail({ services, caller }: ServiceCall, bookId: string, options: CoverOptions = {}): Promise<StreamReply> {
  return replyOf(await findBookThumbnail(services, caller, bookId), options)
}

/** The small cover of a series, as {@link bookThumbnail}. */
export async function seriesThumbnail(
  { services, caller }: ServiceCall,
  seriesId: string,
  options: CoverOptions = {},
): Promise<StreamReply> {
  return replyOf(await findSeriesThumbnail(services, caller, seriesId), options)
}

/**
 * The cover of a book or series in the requested width, or the small one without a width.
 * @throws invalid_request for a width that is not offered, and the errors of {@link bookThumbnail}
 */
export async function sizedThumbnail(
  call: Call<SizedThumbnailServices>,
  of: { kind: 'book' | 'series'; id: string },
  options: SizedOptions,
): Promise<StreamReply> {
  checkWidth('Covers', COVER_WIDTHS, options.width)
  const { services, caller } = call
  const cover = await (of.kind === 'book' ? findBookThumbnail : findSeriesThumbnail)(services, caller, of.id)
  if (options.width === undefined || 'missing' in cover) return replyOf(cover, options)
  return await sizedReply(call, cover, { ...options, width: options.width })
}

async function sizedReply(
  call: Call<SizedThumbnailServices>,
  cover: FoundPicture,
  { width, v }: SizedOptions & { width: number },
): Promise<StreamReply> {
  call.setHeader('Vary', 'Accept')
  const format = namesType(call.header('accept'), 'image/webp', 'image/jpeg') ? 'webp' : 'jpeg'
  const { caller, signal } = call
  const { bytes, mediaType, isFinal } = await call.services.sizedCovers.read(cover, { caller, width, format, signal })
  const version = coverVersionOf(cover.hash)
  return {
    kind: 'bytes',
    bytes,
    mediaType,
    etag: isFinal ? `${version}-${width}-${format}` : cover.etag,
    cacheControl: isFinal && v === version ? IMMUTABLE : CHECKED_COVER,
  }
}

function replyOf(cover: FoundCover, { placeholder = true, v }: SizedOptions): StreamReply {
  if (!('missing' in cover)) {
    const { bytes, etag, modifiedAt: lastModified } = cover
    const cacheControl = v === coverVersionOf(cover.hash) ? IMMUTABLE : CHECKED_COVER
    return { kind: 'bytes', bytes, etag, lastModified, mediaType: 'image/jpeg', cacheControl }
  }
  if (!placeholder) refuse('not_found', cover.missing)
  return { kind: 'bytes', bytes: PLACEHOLDER_COVER, mediaType: 'image/jpeg', etag: PLACEHOLDER_ETAG, cacheControl: UNTIL_COVER }
}
