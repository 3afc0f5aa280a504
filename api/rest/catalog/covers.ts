import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { type Call, endpointOf, streamOf } from '#api/http/endpoint.ts'
import {
  bookCoverOf,
  chooseCover,
  chooseSource,
  deleteCover,
  dropChoice,
  getCoverFile,
  listCovers,
  seriesCoverOf,
  uploadCover,
} from '#core/catalog/edit-covers.ts'
import { BookCover, type RecordOwner, SeriesCover } from '#core/covers/cover.ts'
import { COVER_BYTES_MAX } from '#core/fields/limits.ts'
import { Noun, Uuid } from '#core/foundation/schema.ts'

type Services = Pick<ContentServices, 'drawCover'> & Pick<DataServices, 'database' | 'settings'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

const BookId = Type.Object({ bookId: Uuid })
const BookCoverId = Type.Object({ bookId: Uuid, coverId: Uuid })
const SeriesId = Type.Object({ seriesId: Uuid })
const SeriesCoverId = Type.Object({ seriesId: Uuid, coverId: Uuid })
const SeriesCovers = Noun('SeriesCovers')({ covers: Type.Array(SeriesCover) })
/** A form is a little larger than its file. */
const bodyBytesMax = COVER_BYTES_MAX + 65_536
const upload = { description: 'JPEG, PNG, WebP, AVIF or GIF, at most 20 MB.' }
const tag = 'covers'

const book = (id: string): RecordOwner => ({ kind: 'book', id: id.toLowerCase() })
const series = (id: string): RecordOwner => ({ kind: 'series', id: id.toLowerCase() })

/** The cover at an address never changes. Never `public`: a shared cache does not know who may see what. */
const cacheControl = 'private, max-age=600'

async function seriesCovers(call: Call<Services>, seriesId: string) {
  const rows = await listCovers(call.services, call.caller, series(seriesId))
  return { covers: rows.map((row) => seriesCoverOf(seriesId, row)) }
}

export const coverRoutes = [
  endpoint({
    name: 'uploadBookCover',
    method: 'POST',
    path: '/api/v1/books/:bookId/cover',
    summary: 'Upload and select a cover for a book; only users can change the selection',
    tag,
    allow: { who: 'books-write' },
    params: BookId,
    upload,
    bodyBytesMax,
    reply: BookCover,
    run: async (call, { params: { bookId }, upload: { bytes } }) =>
      bookCoverOf(bookId, await uploadCover(call.services, call.caller, { owner: book(bookId), bytes })),
  }),
  endpoint({
    name: 'listBookCovers',
    method: 'GET',
    path: '/api/v1/books/:bookId/covers',
    summary: 'List the covers of a book, without the one from its file',
    tag,
    allow: { who: 'books-read' },
    params: BookId,
    reply: Type.Object({ covers: Type.Array(BookCover) }),
    run: async (call, { params: { bookId } }) => {
      const rows = await listCovers(call.services, call.caller, book(bookId))
      return { covers: rows.map((row) => bookCoverOf(bookId, row)) }
    },
  }),
  endpoint({
    name: 'unselectBookCover',
    method: 'DELETE',
    path: '/api/v1/books/:bookId/covers/selected',
    summary: 'Select the cover from the file of a book',
    tag,
    allow: { who: 'books-write' },
    status: 204,
    params: BookId,
    run: async (call, { params }) => {
      await dropChoice(call.services, call.caller, book(params.bookId))
    },
  }),
  endpoint({
    name: 'deleteBookCover',
    method: 'DELETE',
    path: '/api/v1/books/:bookId/covers/:coverId',
    summary: 'Delete a cover of a book',
    tag,
    allow: { who: 'books-write' },
    status: 204,
    params: BookCoverId,
    run: async (call, { params: { bookId, coverId } }) => {
      await deleteCover(call.services, call.caller, { owner: book(bookId), coverId })
    },
  }),
  stream({
    name: 'getBookCoverImage',
    path: '/api/v1/books/:bookId/covers/:coverId/image',
    summary: 'Get the picture of a cover of a book',
    tag,
    allow: { who: 'books-read', cookie: true },
    rate: 'pictures',
    params: BookCoverId,
    mediaTypes: ['image/jpeg'],
    ranges: true,
    run: async (call, { params: { bookId, coverId } }) => {
      const file = await getCoverFile(call.services, call.caller, { owner: book(bookId), coverId })
      return { kind: 'file', ...file, mediaType: 'image/jpeg', cacheControl }
    },
  }),
  endpoint({
    name: 'selectBookCover',
    method: 'PUT',
    path: '/api/v1/books/:bookId/covers/:coverId/select',
    summary: 'Select a cover of a book',
    tag,
    allow: { who: 'books-write' },
    params: BookCoverId,
    reply: BookCover,
    run: async (call, { params: { bookId, coverId } }) =>
      bookCoverOf(bookId, await chooseCover(call.services, call.caller, { owner: book(bookId), coverId })),
  }),
  endpoint({
    name: 'uploadSeriesCover',
    method: 'POST',
    path: '/api/v1/series/:seriesId/cover',
    summary: 'Upload and select a cover for a series; only users can change the selection',
    tag,
    allow: { who: 'series-write' },
    params: SeriesId,
    upload,
    bodyBytesMax,
    reply: SeriesCover,
    run: async (call, { params: { seriesId }, upload: { bytes } }) =>
      seriesCoverOf(seriesId, await uploadCover(call.services, call.caller, { owner: series(seriesId), bytes })),
  }),
  endpoint({
    name: 'patchSeriesCoverSource',
    method: 'PATCH',
    path: '/api/v1/series/:seriesId/cover/source',
    summary: 'Set the source of the cover of a series: default, custom, book:<id> or plugin:<name>; only users can change it',
    tag,
    allow: { who: 'series-write' },
    params: SeriesId,
    body: Type.Object({
      source: Type.String({
        maxLength: 200,
        pattern: '^(default|custom|book:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|plugin:.+)$',
      }),
    }),
    reply: SeriesCovers,
    run: async (call, { params, body }) => {
      await chooseSource(call.services, call.caller, { ...params, ...body })
      return await seriesCovers(call, params.seriesId)
    },
  }),
  endpoint({
    name: 'listSeriesCovers',
    method: 'GET',
    path: '/api/v1/series/:seriesId/covers',
    summary: 'List the covers of a series, without that of its first book',
    tag,
    allow: { who: 'series-read' },
    params: SeriesId,
    reply: SeriesCovers,
    run: (call, { params }) => seriesCovers(call, params.seriesId),
  }),
  endpoint({
    name: 'unselectSeriesCover',
    method: 'DELETE',
    path: '/api/v1/series/:seriesId/covers/selected',
    summary: 'Select the cover of the first book of a series',
    tag,
    allow: { who: 'series-write' },
    status: 204,
    params: SeriesId,
    run: async (call, { params }) => {
      await dropChoice(call.services, call.caller, series(params.seriesId))
    },
  }),
  endpoint({
    name: 'deleteSeriesCover',
    method: 'DELETE',
    path: '/api/v1/series/:seriesId/covers/:coverId',
    summary: 'Delete a cover of a series',
    tag,
    allow: { who: 'series-write' },
    status: 204,
    params: SeriesCoverId,
    run: async (call, { params: { seriesId, coverId } }) => {
      await deleteCover(call.services, call.caller, { owner: series(seriesId), coverId })
    },
  }),
  stream({
    name: 'getSeriesCoverImage',
    path: '/api/v1/series/:seriesId/covers/:coverId/image',
    summary: 'Get the picture of a cover of a series',
    tag,
    allow: { who: 'series-read', cookie: true },
    rate: 'pictures',
    params: SeriesCoverId,
    mediaTypes: ['image/jpeg'],
    ranges: true,
    run: async (call, { params: { seriesId, coverId } }) => {
      const file = await getCoverFile(call.services, call.caller, { owner: series(seriesId), coverId })
      return { kind: 'file', ...file, mediaType: 'image/jpeg', cacheControl }
    },
  }),
  endpoint({
    name: 'selectSeriesCover',
    method: 'PUT',
    path: '/api/v1/series/:seriesId/covers/:coverId/select',
    summary: 'Select a cover of a series',
    tag,
    allow: { who: 'series-write' },
    params: SeriesCoverId,
    reply: SeriesCover,
    run: async (call, { params: { seriesId, coverId } }) =>
      seriesCoverOf(seriesId, await chooseCover(call.services, call.caller, { owner: series(seriesId), coverId })),
  }),
]
