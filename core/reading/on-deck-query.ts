import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { Book } from '#core/catalog/book.ts'
import { type BookFilter, matches, pageOfBooks, sortedBooks } from '#core/catalog/book-query.ts'
import type { BookSort } from '#core/catalog/book-sort-query.ts'
import { READING_ORDER } from '#core/fields/reading-order.ts'

/**
 * What to read next: for each series of which the caller has finished a book and has none in progress, the first book not begun; the series read
 * last comes first unless a sort is given.
 */
export async function listOnDeck(
  database: Knex,
  caller: Caller,
  list: { filter: Pick<BookFilter, 'libraryId' | 'seriesId'>; sort: BookSort | null; offset: number; limit: number },
): Promise<{ items: Book[]; total: number }> {
  const touched = database('read_progress AS p')
    .join('books', 'books.id', 'p.book_id')
    .whereRaw('p.user_id = ?', [progressUserId(caller)])
    .modify(visibleTo(caller, 'books.series_id'))
    .modify(matches(list.filter, caller))
    .groupBy('books.series_id')
    .havingRaw('bool_and(p.completed)')
    .select('books.series_id', database.raw('max(p.updated_at) AS read_at'))
  const matching = database
    .from(touched.as('touched'))
    .joinRaw(
      `CROSS JOIN LATERAL (SELECT books.id FROM books WHERE books.series_id = touched.series_id AND books.deleted_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM read_progress p WHERE p.book_id = books.id AND p.user_id = ?)
       ORDER BY ${READING_ORDER} LIMIT 1) AS following`,
      [progressUserId(caller)],
    )
    .select('following.id')
  const ordered = list.sort
    ? sortedBooks(database, caller, matching, list.sort)
    : { matching, order: { terms: ['touched.read_at DESC', 'following.id'] } }
  return await pageOfBooks(database, caller, { ...ordered, offset: list.offset, limit: list.limit })
}
