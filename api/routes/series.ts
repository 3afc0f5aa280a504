import Type from 'typebox'
import { Paginated, pageQuery, paginate, readPage } from '#api/http/pagination.ts'
import { endpoint, stream } from '#api/routes/route.ts'
import { FULL, ShownBook, shownBooks } from '#api/routes/shown-books.ts'
import type { Services } from '#api/services.ts'
import type { Caller } from '#core/account/caller.ts'
import { findCover } from '#core/book/book-file.ts'
import { checkLibrary, listSeriesBooks } from '#core/book/book-query.ts'
import { refuse } from '#core/errors.ts'
import { Uuid } from '#core/schema.ts'
import { Series } from '#core/series/series.ts'
import { findSeriesCoverBook, getSeries, listSeries, readSeriesSort } from '#core/series/series-query.ts'

const SeriesId = Type.Object({ seriesId: Uuid })
const seriesQuery = {
  ...pageQuery,
  sort: Type.Optional(
    Type.String({
      description: '`<field>,<asc|desc>`; fields: name, date_added (created_at), date_updated (updated_at), book_count. Name unless said.',
    }),
  ),
}

interface ListAsk {
  call: { caller: Caller | null; services: Services; path: string; rawQuery: string }
  query: { page?: number; pageSize?: number; sort?: string }
  filter: { libraryId?: string | undefined }
}

async function answerSeries({ call, query, filter }: ListAsk) {
  const { page, pageSize, offset, limit } = readPage(query)
  const list = { filter, sort: readSeriesSort(query.sort), offset, limit }
  const { items, total } = await listSeries(call.services.database, call.caller ?? refuse('unauthorized'), list)
  return paginate({ call, page, pageSize, total, data: items })
}

export const seriesRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/series',
    summary: 'List series',
    tag: 'series',
    allow: { who: 'series-read' },
    query: Type.Object({ ...seriesQuery, libraryId: Type.Optional(Uuid) }),
    reply: Paginated(Series),
    run: (call, { query }) => answerSeries({ call, query, filter: { libraryId: query.libraryId } }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/libraries/:libraryId/series',
    summary: 'List the series of a library',
    tag: 'series',
    allow: { who: 'series-read' },
    params: Type.Object({ libraryId: Uuid }),
    query: Type.Object(seriesQuery),
    reply: Paginated(Series),
    run: async (call, { params, query }) => {
      await checkLibrary(call.services.database, params.libraryId)
      return await answerSeries({ call, query, filter: params })
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/series/:seriesId',
    summary: 'One series',
    tag: 'series',
    allow: { who: 'series-read' },
    params: SeriesId,
    reply: Series,
    run: (call, { params }) => getSeries(call.services.database, call.caller ?? refuse('unauthorized'), params.seriesId),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/series/:seriesId/books',
    summary: 'The books of a series, in reading order',
    tag: 'series',
    allow: { who: 'books-read' },
    params: SeriesId,
    query: Type.Object({ includeDeleted: Type.Optional(Type.Boolean({ description: 'Also books whose file has gone.' })), full: FULL }),
    reply: Type.Array(ShownBook),
    run: async (call, { params, query }) => {
      const series = { seriesId: params.seriesId, includeDeleted: query.includeDeleted === true }
      const books = await listSeriesBooks(call.services.database, call.caller ?? refuse('unauthorized'), series)
      return await shownBooks(call.services, books, query)
    },
  }),
  stream({
    path: '/api/v1/series/:seriesId/thumbnail',
    summary: 'The cover of the first book of a series, small',
    tag: 'series',
    allow: { who: 'series-read', cookie: true },
    params: SeriesId,
    mediaTypes: ['image/jpeg'],
    run: async (call, { params }) => {
      const { database, settings } = call.services
      const caller = call.caller ?? refuse('unauthorized')
      const bookId = await findSeriesCoverBook(database, caller, params.seriesId)
      if (bookId === null) refuse('not_found', 'No book of this series has a cover yet.')
      const cover = await findCover(database, caller, { bookId, dataFolder: settings.dataFolder })
      return { kind: 'file', ...cover, mediaType: 'image/jpeg', cacheControl: 'private, max-age=600' }
    },
  }),
]
