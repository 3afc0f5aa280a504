import type { StreamReply } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import type { Caller } from '#core/account/caller.ts'

type Services = Needs<'publications'>

export const RESOURCE_MEDIA_TYPES = [
  'application/xhtml+xml',
  'text/css',
  'image/jpeg',
  'image/png',
  'image/svg+xml',
  'application/octet-stream',
]

/** As for pages: an address that names the content lasts, the plain one is checked by its ETag. Never `public`. */
const IMMUTABLE = 'private, max-age=31536000, immutable'
const CHECKED = 'private, max-age=600'

/**
 * Chapters are shown with the pictures, styles and fonts of their book, in a frame of a reader of this origin, which may turn their pages from outside. Nothing
 * in them runs, asks elsewhere, sends a form or leads the frame away. `allow-same-origin` lets what they load carry the cookie; without scripts it gives
 * them nothing else.
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
 * A file in an EPUB as a stream route answers it.
 * @param asked.path in the archive @param asked.named the hash of the book's file that the address names
 * @throws what `getResource` throws
 */
export async function epubResource(
  { services, caller }: { services: Services; caller: Caller },
  asked: { bookId: string; path: string; named?: string | undefined },
): Promise<StreamReply> {
  const resource = await services.publications.getResource({
    caller: caller,
    bookId: asked.bookId,
    path: asked.path,
  })
  return {
    kind: 'content',
    mediaType: resource.mediaType,
    bytes: resource.bytes,
    gzipBytes: resource.gzipBytes,
    open: resource.open,
    etag: resource.etag,
    cacheControl: asked.named !== undefined && asked.named === resource.fileHash ? IMMUTABLE : CHECKED,
    headers: { 'Content-Security-Policy': RESOURCE_POLICY },
  }
}
