import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { etagOf } from '#api/http/conditional.ts'
import type { StreamReply } from '#api/http/reply.ts'
import type { Caller } from '#core/account/caller.ts'
import { type FoundCover, findBookThumbnail, findSeriesThumbnail } from '#core/catalog/find-thumbnail.ts'
import { PLACEHOLDER_COVER } from '#core/covers/placeholder.ts'
import { refuse } from '#core/foundation/errors.ts'

type Services = Pick<DataServices, 'database' | 'settings'>

/** Query members of every thumbnail; spread them into the query schema of the route. */
export const thumbnailQuery = {
  placeholder: Type.Optional(
    Type.Boolean({ description: 'Whether a missing cover returns a placeholder (the default) or, with false, 404.' }),
  ),
}

/** Never `public`: a shared cache does not know who may see what. */
export const CHECKED_COVER = 'private, max-age=600'
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

function replyOf(cover: FoundCover, { placeholder = true }: CoverOptions): StreamReply {
  if (!('missing' in cover)) {
    const { bytes, etag, modifiedAt: lastModified } = cover
    return { kind: 'bytes', bytes, etag, lastModified, mediaType: 'image/jpeg', cacheControl: CHECKED_COVER }
  }
  if (!placeholder) refuse('not_found', cover.missing)
  return { kind: 'bytes', bytes: PLACEHOLDER_COVER, mediaType: 'image/jpeg', etag: PLACEHOLDER_ETAG, cacheControl: UNTIL_COVER }
}
