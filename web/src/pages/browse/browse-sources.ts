import { api, ask } from '#api/client.ts'
import type { BookCondition, BookRecord, BookSort, Listed, SeriesCondition, SeriesRecord, SeriesSort } from '#api/records.ts'
import { BOOK_SORTS, type BrowseAddress, conditionOf, SERIES_SORTS } from './browse-address.ts'
import { LIST_PAGE_SIZE, type ListSource } from './use-list-pages.ts'

/** What lists of series and their letters are filtered by. */
export function seriesFilter(address: BrowseAddress, libraryId: string | null) {
  return { condition: conditionOf(address, libraryId) as SeriesCondition | null, fullTextSearch: address.q }
}

/** The same for books. */
export function bookFilter(address: BrowseAddress, libraryId: string | null) {
  return { condition: conditionOf(address, libraryId) as BookCondition | null, fullTextSearch: address.q }
}

/** @param libraryId null for all libraries @param pageSize another one for a shelf, which shows the first page only */
export function seriesSource(address: BrowseAddress, libraryId: string | null, pageSize = LIST_PAGE_SIZE): ListSource<SeriesRecord> {
  const body = seriesFilter(address, libraryId)
  const sort: SeriesSort = SERIES_SORTS.find((each) => each === address.sort) ?? SERIES_SORTS[0]
  return {
    key: ['series-list', 'browse', body, sort, pageSize],
    fetch: (page, signal) =>
      ask(api.POST('/api/v1/series/list', { params: { query: { page, pageSize, sort } }, body, signal })) as Promise<Listed<SeriesRecord>>,
  }
}

/** @param libraryId null for all libraries @param pageSize another one for a shelf */
export function bookSource(address: BrowseAddress, libraryId: string | null, pageSize = LIST_PAGE_SIZE): ListSource<BookRecord> {
  if (address.shelf === 'on-deck') return onDeckSource(libraryId)
  const body = bookFilter(address, libraryId)
  const sort: BookSort = BOOK_SORTS.find((each) => each === address.sort) ?? BOOK_SORTS[0]
  return {
    key: ['books', 'browse', body, sort, pageSize],
    fetch: (page, signal) =>
      ask(api.POST('/api/v1/books/list', { params: { query: { page, pageSize, sort } }, body, signal })) as Promise<Listed<BookRecord>>,
  }
}

function onDeckSource(libraryId: string | null): ListSource<BookRecord> {
  const library = libraryId ? { libraryId } : {}
  return {
    key: ['books', 'on-deck', 'browse', libraryId],
    fetch: (page, signal) =>
      ask(api.GET('/api/v1/books/on-deck', { params: { query: { page, pageSize: LIST_PAGE_SIZE, ...library } }, signal })) as Promise<
        Listed<BookRecord>
      >,
  }
}
