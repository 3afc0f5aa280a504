import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf, streamOf } from '#api/http/endpoint.ts'
import { bookFile } from '#api/views/book-file.ts'
import { PAGE_MEDIA_TYPES, pagePicture } from '#api/views/page-picture.ts'
import { SIZED_MEDIA_TYPES, sizedThumbnail, sizedThumbnailQuery } from '#api/views/thumbnail.ts'
import { BookPage } from '#core/catalog/book.ts'
import { BOOK_MEDIA_TYPES } from '#core/fields/book-format.ts'
import { AnyInteger, Uuid } from '#core/foundation/schema.ts'
import { PAGE_FORMATS, PAGE_WIDTHS, readPageFormat } from '#core/reading/page-variant.ts'

type Services = Pick<ContentServices, 'pageReader' | 'sizedCovers'> & Pick<DataServices, 'database' | 'settings'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

const BookId = Type.Object({ bookId: Uuid })

/**
 * An address with the hash of the content (`?v=<fileHash>`) never changes its meaning, so browsers may cache it forever. The plain address
 * changes when the file is replaced: a copy is current for ten minutes, then revalidated by ETag, which reads and renders nothing. Never
 * `public`: a shared cache does not know who may see what.
 */
const IMMUTABLE = 'private, max-age=31536000, immutable'
const CHECKED = 'private, max-age=600'

export const bookContentRoutes = [
  endpoint({
    name: 'listBookPages',
    method: 'GET',
    path: '/api/v1/books/:bookId/pages',
    summary: 'List the pages of a book in order',
    tag: 'books',
    allow: { who: 'pages-read' },
    params: BookId,
    reply: Type.Array(BookPage),
    run: (call, { params }) => call.services.pageReader.listPages({ caller: call.caller, ...params }),
  }),
  stream({
    name: 'getBookPage',
    path: '/api/v1/books/:bookId/pages/:pageNumber',
    summary: 'Get the picture of a page',
    tag: 'books',
    allow: { who: 'pages-read', cookie: true },
    rate: 'pictures',
    params: Type.Object({ bookId: Uuid, pageNumber: AnyInteger({ description: 'From 1.' }) }),
    query: Type.Object({
      width: Type.Optional(AnyInteger({ description: `Width in pixels; a page is never enlarged. One of ${PAGE_WIDTHS.join(', ')}.` })),
      format: Type.Optional(Type.String({ maxLength: 100, description: `Format to convert to. One of ${PAGE_FORMATS.join(', ')}.` })),
      v: Type.Optional(Type.String({ maxLength: 200, description: 'The fileHash of the book, which allows caching forever.' })),
    }),
    mediaTypes: PAGE_MEDIA_TYPES,
    run: (call, { params, query: { width, format, v } }) =>
      pagePicture(call, { ...params, width, format: readPageFormat(format), byAccept: format === undefined }, ({ fileHash }) =>
        v === fileHash ? IMMUTABLE : CHECKED,
      ),
  }),
  stream({
    name: 'getBookThumbnail',
    path: '/api/v1/books/:bookId/thumbnail',
    summary: 'Get the cover of a book, small or in a given width',
    tag: 'books',
    allow: { who: 'books-read', cookie: true },
    rate: 'pictures',
    params: BookId,
    query: Type.Object(sizedThumbnailQuery),
    mediaTypes: SIZED_MEDIA_TYPES,
    run: (call, { params, query }) => sizedThumbnail(call, { kind: 'book', id: params.bookId }, query),
  }),
  stream({
    name: 'getBookFile',
    path: '/api/v1/books/:bookId/file',
    summary: 'Download the file of a book',
    tag: 'books',
    allow: { who: 'books-read', cookie: true },
    params: BookId,
    mediaTypes: BOOK_MEDIA_TYPES,
    ranges: true,
    run: (call, { params }) => bookFile(call.services, call.caller, params.bookId),
  }),
]
