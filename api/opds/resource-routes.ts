import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { type Route, streamOf } from '#api/http/endpoint.ts'
import { ATOM_ROOT, AUTHENTICATION_PATH, COVER_SIZES, OPDS_ROOT, SEARCH_DESCRIPTION_PATH } from '#api/opds/addresses.ts'
import { OPENSEARCH_TYPE } from '#api/opds/atom.ts'
import { AUTHENTICATION_TYPE, authenticationDocument, opdsMount } from '#api/opds/authentication-document.ts'
import { writeSearchDescription } from '#api/opds/open-search.ts'
import { coverImage, FEED_PICTURES, pageImage } from '#api/opds/pictures.ts'
import { documentReply } from '#api/opds/send-document.ts'
import { bookFile } from '#api/views/book-file.ts'
import { seriesThumbnail, thumbnailQuery } from '#api/views/thumbnail.ts'
import { BOOK_MEDIA_TYPES } from '#core/fields/book-format.ts'
import { AnyInteger, OneOf, Uuid } from '#core/foundation/schema.ts'
import { readFreshSetting } from '#core/settings/chosen-setting-store.ts'

type Services = Pick<ContentServices, 'pageReader'> & Pick<DataServices, 'database' | 'settings'>
const stream = streamOf<Services>()

const tag = 'opds'
const mount = opdsMount
const BookId = Type.Object({ bookId: Uuid })
/** No screen is wider. */
const WIDTH_MAX = 100_000
/** What a client sends that does not expand this part of a template. */
const WIDTH_UNKNOWN = '{maxWidth}'

const readName = ({ database }: Pick<DataServices, 'database'>) => readFreshSetting(database, 'application.name')

/** Resources that both versions of the catalog link to. They accept HTTP Basic, which the same resources of REST do not. */
export const resourceRoutes: readonly Route<Services>[] = [
  stream({
    path: OPDS_ROOT,
    summary: 'Redirect to the catalog in OPDS 1.2',
    tag,
    mount,
    allow: { who: 'public' },
    mediaTypes: [],
    run: async () => ({ kind: 'redirect', location: ATOM_ROOT }),
  }),
  stream({
    path: AUTHENTICATION_PATH,
    summary: 'Get the authentication document of the feeds (Authentication for OPDS 1.0)',
    tag,
    mount,
    allow: { who: 'public' },
    mediaTypes: [AUTHENTICATION_TYPE],
    run: async ({ services, origin }) => {
      const document = authenticationDocument(await readName(services), origin)
      return documentReply({ bytes: Buffer.from(JSON.stringify(document)), mediaType: AUTHENTICATION_TYPE })
    },
  }),
  stream({
    path: SEARCH_DESCRIPTION_PATH,
    summary: 'Get the search description of the catalog (OpenSearch 1.1)',
    tag,
    mount,
    allow: { who: 'books-read', basic: true },
    mediaTypes: [OPENSEARCH_TYPE],
    run: async ({ services, origin }) =>
      documentReply({ bytes: writeSearchDescription(await readName(services), origin), mediaType: OPENSEARCH_TYPE }),
  }),
  stream({
    path: '/opds/books/:bookId/file',
    summary: 'Download the file of a book',
    tag,
    mount,
    allow: { who: 'books-read', basic: true },
    params: BookId,
    mediaTypes: BOOK_MEDIA_TYPES,
    run: (call, { params }) => bookFile(call.services, call.caller, params.bookId),
  }),
  stream({
    path: '/opds/books/:bookId/cover',
    summary: 'Get the cover of a book as JPEG, in one of several sizes',
    tag,
    mount,
    allow: { who: 'books-read', basic: true },
    params: BookId,
    query: Type.Object({ ...thumbnailQuery, size: Type.Optional(OneOf([...COVER_SIZES])) }),
    mediaTypes: ['image/jpeg'],
    run: (call, { params, query }) => coverImage(call, { ...params, ...query }),
  }),
  stream({
    path: '/opds/series/:seriesId/cover',
    summary: 'Get the cover of a series as JPEG',
    tag,
    mount,
    allow: { who: 'series-read', basic: true },
    params: Type.Object({ seriesId: Uuid }),
    query: Type.Object(thumbnailQuery),
    mediaTypes: ['image/jpeg'],
    run: (call, { params, query }) => seriesThumbnail(call, params.seriesId, query),
  }),
  stream({
    path: '/opds/books/:bookId/pages/:pageNumber',
    summary: 'Get one page as a picture, for page streaming (OPDS-PSE)',
    tag,
    mount,
    allow: { who: 'pages-read', basic: true },
    params: Type.Object({ bookId: Uuid, pageNumber: AnyInteger({ description: 'From 0.' }) }),
    query: Type.Object({
      width: Type.Optional(
        Type.Union([Type.Integer({ minimum: 1, maximum: WIDTH_MAX }), Type.Literal(WIDTH_UNKNOWN)], {
          description: 'Maximum in pixels. The picture has one of the available widths and is never wider than the page.',
        }),
      ),
    }),
    mediaTypes: [...FEED_PICTURES, 'image/webp'],
    run: (call, { params, query }) => pageImage(call, { ...params, maxWidth: typeof query.width === 'number' ? query.width : undefined }),
  }),
]
