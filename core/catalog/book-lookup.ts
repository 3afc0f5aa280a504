import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { type Viewer, viewerKey } from '#core/account/visibility.ts'
import { findFatalMessage, findReadableBook, type ReadableBook } from '#core/catalog/readable-book-query.ts'
import { FreshCache } from '#core/database/fresh-cache.ts'
import { refuse } from '#core/foundation/errors.ts'

/**
 * How long a result is cached. A client that prefetches requests a dozen pages of one book at the same time, and each statement costs
 * as much as half the reading of a page; a permission that another process revokes still counts within a fifth of a second. An app
 * that shows a list asks for fifty covers at a time, again and again.
 */
const FRESH_MS = 200
/** More pairs of user and record than are seen in a fifth of a second: some 5,000. */
const REMEMBERED_BYTES_MAX = 8 * 1024 * 1024

/** Finds records, with permissions cached for a moment. */
export class RecordLookup<T extends object> extends FreshCache<T> {
  constructor(find: (caller: Viewer, id: string) => Promise<T | null>, keep: (record: T) => boolean, freshMs = FRESH_MS) {
    super({
      bytesMax: REMEMBERED_BYTES_MAX,
      freshMs,
      keep,
      load: async (key) => {
        const [id = '', userId = '', narrowedBy = null] = key.split(' ')
        return await find({ userId, narrowedBy }, id)
      },
    })
  }

  /** The record if the caller may see it, else null. */
  find(caller: Viewer, id: string): Promise<T | null> {
    return this.get(`${id.toLowerCase()} ${viewerKey(caller)}`)
  }
}

/** Finds books to read. */
export class BookLookup extends RecordLookup<ReadableBook> {
  readonly #database: Knex

  /** @param options.freshMs how long a result is cached; 200 by default */
  constructor(database: Knex, { freshMs }: { freshMs?: number | undefined } = {}) {
    super(
      (caller, id) => findReadableBook(database, caller, id),
      // A client that waits for an analysis must not wait longer than it takes.
      ({ state }) => state === 'analyzed',
      freshMs,
    )
    this.#database = database
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
}
