import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { findReadableBook, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import { findReadableSeries, type ReadableSeries } from '#core/catalog/readable-series-query.ts'
import { type FreshCache, openFreshCache } from '#core/database/fresh-cache.ts'

/**
 * How long a result is cached, as for pages: an app that shows a list asks for fifty covers at a time, again and again. A cover that this process changes, and
 * a new one of a book without any, is seen at once.
 */
const FRESH_MS = 200
/** More pairs of user and record than are seen in a fifth of a second: some 5,000. */
const REMEMBERED_BYTES_MAX = 8 * 1024 * 1024

interface CoverLookup {
  /** The book or series if the caller may see it, else null. */
  book(caller: Caller, bookId: string): Promise<ReadableBook | null>
  series(caller: Caller, seriesId: string): Promise<ReadableSeries | null>
  /** Forgets a record whose cover has changed. */
  forget(id: string): void
}

const lookups = new WeakMap<Knex, CoverLookup>()

/** What showing covers needs of books and series, with permissions cached for a moment. */
export function coverLookupOf(database: Knex): CoverLookup {
  let lookup = lookups.get(database)
  if (lookup === undefined) {
    lookup = openCoverLookup(database)
    lookups.set(database, lookup)
  }
  return lookup
}

function openCoverLookup(database: Knex): CoverLookup {
  const books = openRecords<ReadableBook>(
    (caller, id) => findReadableBook(database, caller, id),
    ({ coverHash, chosenCover }) => coverHash !== null || chosenCover !== null,
  )
  const series = openRecords<ReadableSeries>(
    (caller, id) => findReadableSeries(database, caller, id),
    ({ coverBookId, chosenCover }) => coverBookId !== null || chosenCover !== null,
  )
  return {
    book: ({ userId }, bookId) => books.get(`${userId} ${bookId.toLowerCase()}`),
    series: ({ userId }, seriesId) => series.get(`${userId} ${seriesId.toLowerCase()}`),
    forget(recordId) {
      const id = recordId.toLowerCase()
      books.forget((book) => book.id === id)
      series.forget((one) => one.id === id || one.coverBookId === id)
    },
  }
}

function openRecords<T extends object>(
  find: (caller: Pick<Caller, 'userId'>, id: string) => Promise<T | null>,
  hasCover: (record: T) => boolean,
): FreshCache<T> {
  return openFreshCache<T>({
    bytesMax: REMEMBERED_BYTES_MAX,
    freshMs: FRESH_MS,
    keep: hasCover,
    load: async (key) => {
      const [userId = '', id = ''] = key.split(' ')
      return await find({ userId }, id)
    },
  })
}
