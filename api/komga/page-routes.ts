import type { Static } from 'typebox'
import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { Call } from '#api/http/endpoint.ts'
import { streamedList } from '#api/http/json-chunks.ts'
import type { StreamReply } from '#api/http/reply.ts'
import { komgaEndpointOf, komgaStreamOf } from '#api/komga/route.ts'
import { sizeText } from '#api/komga/values.ts'
import { PAGE_MEDIA_TYPES, pagePicture } from '#api/views/page-picture.ts'
import type { BookPage } from '#core/catalog/book.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Nullable, Uuid } from '#core/foundation/schema.ts'
import { type PageFormat, readPageFormat } from '#core/reading/page-variant.ts'
import { NoSuchPage } from '#core/reading/read-page.ts'

type Services = Pick<ContentServices, 'pageReader' | 'publications'>
const komgaEndpoint = komgaEndpointOf<Services>()
const komgaStream = komgaStreamOf<Services>()

const KomgaPage = Type.Object(
  {
    number: Type.Integer(),
    fileName: Type.String(),
    mediaType: Type.String(),
    width: Nullable(Type.Integer()),
    height: Nullable(Type.Integer()),
    sizeBytes: Nullable(Type.Integer()),
    size: Type.String(),
  },
  { title: 'KomgaPage' },
)
const params = Type.Object({
  bookId: Uuid,
  pageNumber: Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'From 1, unless `zero_based` is true.' }),
})
/** Komga's width of page thumbnails. */
const THUMBNAIL_WIDTH = 320

const PAGES_AT_ONCE = 1_000
/** Clients revalidate each time, by the ETag. */
const CHECKED = 'private, no-cache'

const shownPage = (page: BookPage): Static<typeof KomgaPage> => ({
  number: page.pageNumber,
  fileName: page.fileName,
  mediaType: `image/${page.fileFormat}`,
  width: page.width,
  height: page.height,
  // Rendered pages (PDF) have no file size.
  sizeBytes: page.fileSize || null,
  size: page.fileSize ? sizeText(page.fileSize) : '',
})

type PageServices = Pick<ContentServices, 'pageReader'>

/** The picture of a page; a number that the book does not have is a bad request in this API. */
async function pictureOf(call: Call<PageServices>, request: Parameters<typeof pagePicture>[1]): Promise<StreamReply> {
  try {
    return await pagePicture(call, request, CHECKED)
  } catch (error) {
    if (!(error instanceof NoSuchPage)) throw error
    return refuse('invalid_request', error.message, { details: [{ path: '/pageNumber', message: 'is no page of this book' }] })
  }
}

/** `jpeg` and `png`, case-insensitive; some apps write `jpg`. */
const readConvert = (text: string | undefined): PageFormat | undefined => {
  const format = text?.toLowerCase()
  return readPageFormat(format === 'jpg' ? 'jpeg' : format || undefined)
}

export const komgaPageRoutes = [
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/books/:bookId/pages',
    summary: 'The pages of a book, in order',
    who: 'pages-read',
    params: Type.Object({ bookId: Uuid }),
    reply: Type.Array(KomgaPage),
    run: async (call, { params }) => {
      const pages = await call.services.pageReader.listPages({ caller: call.caller, ...params })
      // A book may have 100,000 of them.
      return streamedList(pages, PAGES_AT_ONCE, async (part) => part.map(shownPage))
    },
  }),
  komgaStream({
    path: '/api/v1/books/:bookId/pages/:pageNumber',
    summary: 'The picture of one page',
    who: 'pages-read',
    params,
    query: Type.Object({
      convert: Type.Optional(Type.String({ maxLength: 20, description: 'jpeg or png, if the app cannot show the format in the file.' })),
      zero_based: Type.Optional(Type.Boolean({ description: 'Pages are counted from 0.' })),
    }),
    mediaTypes: PAGE_MEDIA_TYPES,
    run: async (call, { params, query }) => {
      const pageNumber = query.zero_based ? params.pageNumber + 1 : params.pageNumber
      if (pageNumber < 1)
        refuse('invalid_request', 'Pages are counted from 1.', { details: [{ path: '/pageNumber', message: 'must be at least 1' }] })
      const format = readConvert(query.convert)
      return await pictureOf(call, { bookId: params.bookId, pageNumber, format, byAccept: format === undefined })
    },
  }),
  komgaStream({
    path: '/api/v1/books/:bookId/pages/:pageNumber/thumbnail',
    summary: 'The thumbnail of one page',
    who: 'pages-read',
    params,
    mediaTypes: ['image/jpeg'],
    run: (call, { params }) => pictureOf(call, { ...params, width: THUMBNAIL_WIDTH, format: 'jpeg', byAccept: false }),
  }),
  komgaStream({
    path: '/api/v1/books/:bookId/pages/:pageNumber/raw',
    summary: 'One page as it is in the file',
    who: 'pages-read',
    params,
    mediaTypes: PAGE_MEDIA_TYPES,
    run: async (call, { params }) => {
      const { format } = await call.services.publications.getReadable({ caller: call.caller, ...params })
      if (format === 'pdf')
        refuse('invalid_value', 'A page of a PDF has no file of its own; get the whole file, or the picture of the page without "/raw".')
      return await pictureOf(call, { ...params, byAccept: false })
    },
  }),
]
