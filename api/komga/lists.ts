import type { DataServices } from '#api/areas/data.ts'
import { streamedList } from '#api/http/json-chunks.ts'
import { type KomgaBook, komgaBook } from '#api/komga/book-view.ts'
import { type KomgaPageRequest, komgaPage, readWindow, type Window } from '#api/komga/page-object.ts'
import { type KomgaSeries, komgaSeries } from '#api/komga/series-view.ts'
import type { Caller } from '#core/account/caller.ts'
import { listBookDetails } from '#core/catalog/book-detail-query.ts'
import { type BookFilter, getBook, listBooksByIds, listIdsOfBooks } from '#core/catalog/book-query.ts'
import type { BookSort } from '#core/catalog/book-sort-query.ts'
import { listSeriesDetails } from '#core/catalog/series-detail-query.ts'
import { getSeries, listIdsOfSeries, readSeriesRecords, type SeriesFilter } from '#core/catalog/series-query.ts'
import type { SeriesSort } from '#core/catalog/series-sort-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { ListState } from '#core/paging/list-state.ts'

type Services = Pick<DataServices, 'database'>

/** The part of a call that reads need. */
export interface KomgaCall<Named = Services> {
  services: Named
  caller: Caller
  listState?: ListState | undefined
  changesWithTime(): void
}

/** Records that are read and written at once: one may have 100 KB, and the server answers other requests in between. */
const RECORDS_AT_ONCE = 50
/** Users are read one by one; more at the same time would take the connections that other requests need. */
export const LISTED_AT_ONCE = 5

/** Books in the order of the ids, without those that were removed meanwhile. Reads records and details in parallel. */
export async function readBooks(call: KomgaCall, ids: readonly string[]): Promise<KomgaBook[]> {
  const { database } = call.services
  const [books, details] = await Promise.all([listBooksByIds(database, call.caller, ids), listBookDetails(database, ids)])
  return ids.flatMap((id) => {
    const [book, detail] = [books.get(id), details.get(id)]
    return book && detail ? [komgaBook(book, detail)] : []
  })
}

/** As {@link readBooks}. */
export async function readSeries(call: KomgaCall, ids: readonly string[]): Promise<KomgaSeries[]> {
  const { database } = call.services
  const { caller } = call
  const [series, details] = await Promise.all([readSeriesRecords(database, caller, ids), listSeriesDetails(database, caller, ids)])
  return ids.flatMap((id) => {
    const [record, detail] = [series.get(id), details.get(id)]
    return record && detail ? [komgaSeries(record, detail)] : []
  })
}

/** A page of records by their ids; a long page is read while it is written. */
async function answer<T>(
  window: Window,
  { ids, total }: { ids: readonly string[]; total: number },
  read: (part: readonly string[]) => Promise<T[]>,
) {
  const content = ids.length <= RECORDS_AT_ONCE ? await read(ids) : streamedList(ids, RECORDS_AT_ONCE, read)
  return komgaPage(window, { content, count: ids.length, total })
}

export const answerBookIds = (call: KomgaCall, window: Window, found: { ids: readonly string[]; total: number }) =>
  answer(window, found, (part) => readBooks(call, part))

export const answerSeriesIds = (call: KomgaCall, window: Window, found: { ids: readonly string[]; total: number }) =>
  answer(window, found, (part) => readSeries(call, part))

/** A list of books by the query that our own lists use. */
export async function answerBooks(call: KomgaCall, request: KomgaPageRequest, list: { filter: BookFilter; sort: BookSort | null }) {
  const window = readWindow(request)
  const { offset, limit } = window
  if (list.sort?.field === 'shuffled') call.changesWithTime()
  const wanted = { ...list, offset, limit, state: call.listState }
  return await answerBookIds(call, window, await listIdsOfBooks(call.services.database, call.caller, wanted))
}

/** A list of series by the query that our own lists use. */
export async function answerSeries(call: KomgaCall, request: KomgaPageRequest, list: { filter: SeriesFilter; sort: SeriesSort | null }) {
  const window = readWindow(request)
  const { offset, limit } = window
  if (list.sort?.field === 'shuffled') call.changesWithTime()
  const wanted = { ...list, offset, limit, state: call.listState }
  return await answerSeriesIds(call, window, await listIdsOfSeries(call.services.database, call.caller, wanted))
}

/** One book. @throws not_found when there is none or the caller may not see it */
export async function getKomgaBook(call: KomgaCall, bookId: string): Promise<KomgaBook> {
  const book = await getBook(call.services.database, call.caller, bookId)
  const detail = (await listBookDetails(call.services.database, [book.id])).get(book.id)
  return komgaBook(book, detail ?? refuse('not_found'))
}

/** One series. @throws not_found when there is none or the caller may not see it */
export async function getKomgaSeries({ services, caller }: KomgaCall, seriesId: string): Promise<KomgaSeries> {
  const series = await getSeries(services.database, caller, seriesId)
  const detail = (await listSeriesDetails(services.database, caller, [series.id])).get(series.id)
  return komgaSeries(series, detail ?? refuse('not_found'))
}
