import { listInParts } from '#api/http/json-chunks.ts'
import type { Needs } from '#api/http/services.ts'
import { type KomgaBook, komgaBook } from '#api/komga/book-view.ts'
import { type PageRequest, pageOf, readWindow, type Window } from '#api/komga/page-object.ts'
import { type KomgaSeries, komgaSeries } from '#api/komga/series-view.ts'
import type { Caller } from '#core/account/caller.ts'
import { listBookDetails } from '#core/catalog/book-detail-query.ts'
import { type BookFilter, type BookSort, getBook, listBooksByIds, listIdsOfBooks } from '#core/catalog/book-query.ts'
import { listSeriesDetails } from '#core/catalog/series-detail-query.ts'
import { getSeries, listIdsOfSeries, readSeriesRecords, type SeriesFilter, type SeriesSort } from '#core/catalog/series-query.ts'
import { refuse } from '#core/foundation/errors.ts'

type Services = Needs<'database'>

/** What reads of this interface are given of a call, with the services that they need. */
export interface Call<Named = Services> {
  services: Named
  caller: Caller
}

/** Records that are read and written at once: one may have 100 KB, and others are answered in between. */
const RECORDS_AT_ONCE = 50
/** Users of whom each is read by itself: more would take the connections that others need. */
export const LISTED_AT_ONCE = 5

/** Books by id in their order; what has gone in between is left out. Their records and what stands beside them are read at the same time. */
export async function readBooks(call: Call, ids: readonly string[]): Promise<KomgaBook[]> {
  const { database } = call.services
  const [books, details] = await Promise.all([listBooksByIds(database, call.caller, ids), listBookDetails(database, ids)])
  return ids.flatMap((id) => {
    const [book, detail] = [books.get(id), details.get(id)]
    return book && detail ? [komgaBook(book, detail)] : []
  })
}

/** As {@link readBooks}. */
export async function readSeries(call: Call, ids: readonly string[]): Promise<KomgaSeries[]> {
  const { database } = call.services
  const asker = call.caller
  const [series, details] = await Promise.all([readSeriesRecords(database, asker, ids), listSeriesDetails(database, asker, ids)])
  return ids.flatMap((id) => {
    const [record, detail] = [series.get(id), details.get(id)]
    return record && detail ? [komgaSeries(record, detail)] : []
  })
}

/** A page of records by their ids; a long one is read while it is written. */
async function answer<T>(
  window: Window,
  { ids, total }: { ids: readonly string[]; total: number },
  read: (part: readonly string[]) => Promise<T[]>,
) {
  const content = ids.length <= RECORDS_AT_ONCE ? await read(ids) : listInParts(ids, RECORDS_AT_ONCE, read)
  return pageOf(window, { content, count: ids.length, total })
}

export const answerBookIds = (call: Call, window: Window, found: { ids: readonly string[]; total: number }) =>
  answer(window, found, (part) => readBooks(call, part))

export const answerSeriesIds = (call: Call, window: Window, found: { ids: readonly string[]; total: number }) =>
  answer(window, found, (part) => readSeries(call, part))

/** A list of books by the query that our own lists use. */
export async function answerBooks(call: Call, ask: PageRequest, list: { filter: BookFilter; sort: BookSort | null }) {
  const window = readWindow(ask)
  const { offset, limit } = window
  return await answerBookIds(call, window, await listIdsOfBooks(call.services.database, call.caller, { ...list, offset, limit }))
}

/** A list of series by the query that our own lists use. */
export async function answerSeries(call: Call, ask: PageRequest, list: { filter: SeriesFilter; sort: SeriesSort | null }) {
  const window = readWindow(ask)
  const { offset, limit } = window
  return await answerSeriesIds(call, window, await listIdsOfSeries(call.services.database, call.caller, { ...list, offset, limit }))
}

/** One book. @throws not_found when there is none or the caller may not see it */
export async function getKomgaBook(call: Call, bookId: string): Promise<KomgaBook> {
  const book = await getBook(call.services.database, call.caller, bookId)
  const detail = (await listBookDetails(call.services.database, [book.id])).get(book.id)
  return komgaBook(book, detail ?? refuse('not_found'))
}

/** One series. @throws not_found when there is none or the caller may not see it */
export async function getKomgaSeries(call: Call, seriesId: string): Promise<KomgaSeries> {
  const caller = call.caller
  const series = await getSeries(call.services.database, caller, seriesId)
  const detail = (await listSeriesDetails(call.services.database, caller, [series.id])).get(series.id)
  return komgaSeries(series, detail ?? refuse('not_found'))
}
