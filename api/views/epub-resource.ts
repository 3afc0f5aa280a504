import type { ContentServices } from '#api/areas/content.ts'
import type { StreamReply } from '#api/http/reply.ts'
import type { Caller } from '#core/account/caller.ts'

type Services = Pick<ContentServices, 'publications'>

export const RESOURCE_MEDIA_TYPES = [
  'application/xhtml+xml',
  'text/css',
  'image/jpeg',
  'image/png',
  'image/svg+xml',
  'application/octet-stream',
]

/** As for pages: an address with the hash of the content is cached forever, the plain one is revalidated by ETag. Never `public`. */
const IMMUTABLE = 'private, max-age=31536000, immutable'
const CHECKED = 'private, max-age=600'

/**
 * Chapters load the pictures, styles and fonts of their book, in a frame of a web reader on this origin, which may turn their pages. They
 * cannot run scripts, contact other sites, submit forms or navigate the frame. `allow-same-origin` lets their requests carry the cookie;
 * without scripts it has no other effect.
 */
const RESOURCE_POLICY = [
  "default-src 'none'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "font-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "frame-src 'self'",
  "script-src 'none'",
  "object-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
  'sandbox allow-same-origin',
].join('; ')

/**
 * The reply with a file of an EPUB.
 * @param request.path in the archive @param request.named the file hash of the book that the address contains
 * @throws the errors of `getResource`
 */
export async function epubResource(
  { services, caller }: { services: Services; caller: Caller },
  request: { bookId: string; path: string; named?: string | undefined },
): Promise<StreamReply> {
  const resource = await services.publications.getResource({
    caller,
    bookId: request.bookId,
    path: request.path,
  })
  return {
    kind: 'content',
    mediaType: resource.mediaType,
    bytes: resource.bytes,
    gzipBytes: resource.gzipBytes,
    isAllowed: resource.isAllowed,
    open: resource.open,
    etag: resource.etag,
    cacheControl: request.named !== undefined && request.named === resource.fileHash ? IMMUTABLE : CHECKED,
    headers: { 'Content-Security-Policy': RESOURCE_POLICY },
  }
}
