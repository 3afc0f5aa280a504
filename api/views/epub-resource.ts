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

const CONTENT_POLICY = [
  "default-src 'none'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "font-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "script-src 'none'",
  "object-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
]

/**
 * Chapters load the pictures, styles and fonts of their book. They cannot run scripts, contact other sites, submit forms or navigate the
 * frame. `allow-same-origin` lets their requests carry the cookie; without scripts it has no other effect.
 */
const RESOURCE_POLICY = [...CONTENT_POLICY, "frame-ancestors 'self'", "frame-src 'self'", 'sandbox allow-same-origin'].join('; ')

/**
 * No policy keeps browsers from connecting to the hosts that a document names for that (`preconnect`). Web readers show cleaned documents in
 * their frames; a link in one of those must not lead to a document that is not cleaned.
 */
const DOCUMENT_POLICY = [...CONTENT_POLICY, "frame-ancestors 'none'", "frame-src 'self'", 'sandbox allow-same-origin'].join('; ')

/**
 * WebKit passes no events to listeners of the page around a frame without `allow-scripts`, so that taps would turn no page. `script-src` keeps
 * scripts off all the same.
 */
const CLEAN_POLICY = [...CONTENT_POLICY, "frame-ancestors 'self'", "frame-src 'none'", 'sandbox allow-same-origin allow-scripts'].join('; ')
/** Chromium looks up the hosts of links before anybody follows them. */
const NO_LOOK_UPS = { 'X-DNS-Prefetch-Control': 'off' }

/** Changes with what cleaning writes, so that browsers ask for chapters anew. */
const CLEANING_VERSION = 2

/**
 * The reply with a file of an EPUB.
 * @param request.path in the archive @param request.named the file hash of the book that the address contains
 * @param request.clean documents without what could run, send, or contact another site; other files as they are
 * @param request.isFramed whether web readers of this interface show documents in frames as they are
 * @throws the errors of `getResource`
 */
export async function epubResource(
  { services, caller }: { services: Services; caller: Caller },
  request: { bookId: string; path: string; named?: string | undefined; clean?: boolean | undefined; isFramed?: boolean },
): Promise<StreamReply> {
  const resource = await services.publications.getResource({
    caller,
    bookId: request.bookId,
    path: request.path,
  })
  const cacheControl = request.named !== undefined && request.named === resource.fileHash ? IMMUTABLE : CHECKED
  const { openClean } = resource
  if (request.clean && openClean)
    return {
      kind: 'made',
      make: async () => {
        const { close: release, ...content } = await openClean()
        return { ...content, release }
      },
      etag: `${resource.etag}-clean${CLEANING_VERSION}`,
      cacheControl,
      headers: { 'Content-Security-Policy': CLEAN_POLICY, ...NO_LOOK_UPS },
    }
  return {
    kind: 'content',
    mediaType: resource.mediaType,
    bytes: resource.bytes,
    gzipBytes: resource.gzipBytes,
    isAllowed: resource.isAllowed,
    open: resource.open,
    etag: resource.etag,
    cacheControl,
    headers: { 'Content-Security-Policy': openClean && !request.isFramed ? DOCUMENT_POLICY : RESOURCE_POLICY },
  }
}
