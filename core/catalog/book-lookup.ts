import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { viewerKey } from '#core/account/visibility.ts'
import { findFatalMessage, findReadableBook, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import { FreshCache } from '#core/database/fresh-cache.ts'
import { refuse } from '#core/foundation/errors.ts'

/**
 * How long a result is cached. A client that prefetches requests a dozen pages of one book at the same time, and each statement costs
 * as much as half the reading of a page; a permission that another process revokes still counts within a fifth of a second.
 */
const FRESH_MS = 200
/** More pairs of user and book than are read in a fifth of a second: some 5,000. */
const REMEMBERED_BYTES_MAX = 8 * 1024 * 1024

/** Finds books, with permissions cached for a moment. */
export class BookLookup {
  readonly #database: Knex
  readonly #books: FreshCache<ReadableBook>

  /** @param options.freshMs how long a result is cached; 200 by default */
  constructor(database: Knex, { freshMs = FRESH_MS }: { freshMs?: number | undefined } = {}) {
    this.#database = database
    this.#books = new FreshCache({
      bytesMax: REMEMBERED_BYTES_MAX,
      freshMs,
      // A client that waits for an analysis must not wait longer than it takes.
      keep: (book) => book.state === 'analyzed',
      load: async (key) => {
        const [bookId = '', userId = '', narrowedBy = null] = key.split(' ')
        return await findReadableBook(database, { userId, narrowedBy }, bookId)
      },
    })
  }

  /** The book if the caller may see it, else null. */
  find(caller: Caller, bookId: string): Promise<ReadableBook | null> {
    return this.#books.get(`${bookId.toLowerCase()} ${viewerKey(caller)}`)
  }

  /** @throws not_found (no such book, or hidden), not_analyzed */
  async getAnalyzed({ caller, bookId }: { caller: Caller; bookId: string }): Promise<ReadableBook> {
    const book = await this.find(caller, bookId)
    if (!book) refuse('not_found', `There is no book ${bookId}, or you may not see it.`)
    if (book.state === 'pending') refuse('not_analyzed', `"${book.fileName}" waits for its analysis; try again when it is done.`)
    if (book.state === 'failed') {
      const message = await findFatalMessage(this.#database, book.id)
      refuse('not_analyzed', `"${book.fileName}" could not be analyzed${message ? `: ${message}` : '.'}`)
    }
    return book
  }

  /** Clears the cache. */
  forget(): void {
    this.#books.clear()
  }
}
