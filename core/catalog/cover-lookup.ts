import type { Knex } from 'knex'
import { RecordLookup } from '#core/catalog/book-lookup.ts'
import { findReadableBook, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import { findReadableSeries, type ReadableSeries } from '#core/catalog/readable-series-query.ts'
import { perDatabase } from '#core/database/per-database.ts'

/** A cover that this process changes, and a new one of a book without any, is seen at once. */
class CoverLookup {
  readonly books: RecordLookup<ReadableBook>
  readonly series: RecordLookup<ReadableSeries>

  constructor(database: Knex) {
    this.books = new RecordLookup(
      (caller, id) => findReadableBook(database, caller, id),
      ({ coverHash, chosenCover }) => coverHash !== null || chosenCover !== null,
    )
    this.series = new RecordLookup(
      (caller, id) => findReadableSeries(database, caller, id),
      ({ coverBookId, chosenCover }) => coverBookId !== null || chosenCover !== null,
    )
  }

  /** Forgets a record whose cover has changed. */
  forget(recordId: string): void {
    const id = recordId.toLowerCase()
    this.books.forget((book) => book.id === id)
    this.series.forget((one) => one.id === id || one.coverBookId === id)
  }
}

/** What showing covers needs of books and series, with permissions cached for a moment. */
export const coverLookupOf = perDatabase((database) => new CoverLookup(database))
