import Type from 'typebox'
import { endpoint, stream } from '#api/routes/route.ts'
import { refuse } from '#core/errors.ts'
import { getManifest } from '#core/reading/manifest.ts'
import { getPositions } from '#core/reading/positions.ts'
import { DIVINA_TYPE, POSITIONS_TYPE, PositionList, relativeAddresses, WEBPUB_TYPE, WebPublication } from '#core/reading/web-publication.ts'
import { Uuid } from '#core/schema.ts'

const BookId = Type.Object({ bookId: Uuid })

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

export const readingRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/books/:bookId/manifest',
    summary: 'The web-publication manifest of a book, by which Readium readers read it',
    tag: 'readium',
    allow: { who: 'pages-read' },
    params: BookId,
    reply: WebPublication,
    mediaTypes: [WEBPUB_TYPE, DIVINA_TYPE],
    run: async (call, { params }) => {
      const addresses = relativeAddresses(`${call.origin ?? ''}${call.path}`)
      const { mediaType, manifest } = await getManifest(
        call.services,
        { caller: call.caller ?? refuse('unauthorized'), ...params },
        addresses,
      )
      call.sendAs(mediaType)
      return manifest
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/books/:bookId/positions',
    summary: 'The positions of a book, in order',
    tag: 'readium',
    allow: { who: 'pages-read' },
    params: BookId,
    reply: PositionList,
    mediaTypes: [POSITIONS_TYPE],
    run: (call, { params }) =>
      getPositions(call.services, { caller: call.caller ?? refuse('unauthorized'), ...params }, relativeAddresses('manifest')),
  }),
  stream({
    path: '/api/v1/books/:bookId/resource/:resourcePath*',
    summary: 'A file in an EPUB: a chapter, a picture, a style',
    tag: 'readium',
    allow: { who: 'pages-read', cookie: true },
    params: Type.Object({
      bookId: Uuid,
      resourcePath: Type.String({ maxLength: 4_096, description: 'Path in the archive, with its slashes.' }),
    }),
    query: Type.Object({
      v: Type.Optional(Type.String({ maxLength: 200, description: 'The fileHash of the book: lets the answer be kept for good.' })),
    }),
    mediaTypes: ['application/xhtml+xml', 'text/css', 'image/jpeg', 'image/png', 'image/svg+xml', 'application/octet-stream'],
    run: async (call, { params, query }) => {
      const resource = await call.services.publications.getResource({
        caller: call.caller ?? refuse('unauthorized'),
        bookId: params.bookId,
        path: params.resourcePath,
      })
      return {
        kind: 'content',
        mediaType: resource.mediaType,
        bytes: resource.bytes,
        gzipBytes: resource.gzipBytes,
        open: resource.open,
        etag: resource.etag,
        cacheControl: query.v !== undefined && query.v === resource.fileHash ? IMMUTABLE : CHECKED,
        headers: { 'Content-Security-Policy': RESOURCE_POLICY },
      }
    },
  }),
]
