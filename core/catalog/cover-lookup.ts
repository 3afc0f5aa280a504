import type { Knex } from 'knex'
import { type Viewer, viewerKey } from '#core/account/visibility.ts'
import { findReadableBook, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import { findReadableSeries, type ReadableSeries } from '#core/catalog/readable-series-query.ts'
import { FreshCache } from '#core/database/fresh-cache.ts'
import { perDatabase } from '#core/database/per-database.ts'

/**
 * How long a result is cached, as for pages: an app that shows a list asks for fifty covers at a time, again and again. A cover that this process changes, and
 * a new one of a book without any, is seen at once.
 */
const FRESH_MS = 200
/** More pairs of user and record than are seen in a fifth of a second: some 5,000. */
const REMEMBERED_BYTES_MAX = 8 * 1024 * 1024

class CoverLookup {
  readonly #books: FreshCache<ReadableBook>
  readonly #series: FreshCache<ReadableSeries>

  constructor(database: Knex) {
    this.#books = recordsOf<ReadableBook>(
      (caller, id) => findReadableBook(database, caller, id),
      ({ coverHash, chosenCover }) => coverHash !== null || chosenCover !== null,
    )
    this.#series = recordsOf<ReadableSeries>(
      (caller, id) => findReadableSeries(database, caller, id),
      ({ coverBookId, chosenCover }) => coverBookId !== null || chosenCover !== null,
    )
  }

  /** The book if the caller may see it, else null. */
  book(caller: Viewer, bookId: string): Promise<ReadableBook | null> {
    return this.#books.get(`${bookId.toLowerCase()} ${viewerKey(caller)}`)
  }

  /** The series if the caller may see it, else null. */
  series(caller: Viewer, seriesId: string): Promise<ReadableSeries | null> {
    return this.#series.get(`${seriesId.toLowerCase()} ${viewerKey(caller)}`)
  }

  /** Forgets a record whose cover has changed. */
  forget(recordId: string): void {
    const id = recordId.toLowerCase()
    this.#books.forget((book) => book.id === id)
    this.#series.forget((one) => one.id === id || one.coverBookId === id)
  }
}

/** What showing covers needs of books and series, with permissions cached for a moment. */
export const coverLookupOf = perDatabase((database) => new CoverLookup(database))

const recordsOf = <T extends object>(
  find: (caller: Viewer, id: string) => Promise<T | null>,
  hasCover: (record: T) => boolean,
): FreshCache<T> =>
  new FreshCache({
    bytesMax: REMEMBERED_BYTES_MAX,
    freshMs: FRESH_MS,
    keep: hasCover,
    load: async (key) => {
      const [id = '', userId = '', narrowedBy = null] = key.split(' ')
      return await find({ userId, narrowedBy }, id)
    },
  })
