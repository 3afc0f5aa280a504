import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { BookError, BooksWithErrors } from '#core/catalog/book.ts'
import { type BookFilter, listBooksByIds, matches } from '#core/catalog/book-query.ts'
import { BOOK_ERROR_LABELS, type BookErrorType } from '#core/fields/analysis.ts'

interface ErrorRow {
  book_id: string
  error_type: BookErrorType
  message: string
  details: unknown
  occurred_at: Date
}

type ErrorFilter = Omit<BookFilter, 'includeDeleted'> & { bookId?: string | undefined; errorType?: BookErrorType | undefined }

/**
 * Books with errors, grouped by error type; a book with two types is in both groups. Every number in the result, including the
 * counts, refers to the books that match the filter.
 * @param list.page from 0. Each group has its own window of `pageSize` books; `totalPages` is that of the largest group, so
 *   walking through all pages returns every book of every group
 */
export async function listBooksWithErrors(
  database: Knex,
  caller: Caller,
  list: { filter: ErrorFilter; page: number; pageSize: number },
): Promise<BooksWithErrors> {
  const { filter, page, pageSize } = list
  const matching = selectErrors(database, caller, filter)

  // The last row, without a type, counts the books themselves.
  const counting = matching
    .clone()
    .select('book_errors.error_type', database.raw('count(DISTINCT books.id) AS count'))
    .groupByRaw('GROUPING SETS ((book_errors.error_type), ())') as Promise<{ error_type: BookErrorType | null; count: string | number }[]>
  const ranked = matching
    .clone()
    .select(
      'books.id',
      'book_errors.error_type',
      database.raw(`row_number() OVER (PARTITION BY book_errors.error_type
        ORDER BY books.sort_key, books.id) AS position`),
    )
    .as('ranked')
  const showing = database
    .from(ranked)
    .select('id', 'error_type')
    .where('position', '>', page * pageSize)
    .where('position', '<=', (page + 1) * pageSize)
    .orderBy(['error_type', 'position']) as Promise<{ id: string; error_type: BookErrorType }[]>

  const [counts, shown] = await Promise.all([counting, showing])
  const ids = [...new Set(shown.map((row) => row.id))]
  const [books, errors] = await Promise.all([listBooksByIds(database, caller, ids), listErrors(database, ids)])

  const errorCounts: Partial<Record<BookErrorType, number>> = {}
  let totalBooksWithErrors = 0
  for (const row of counts) {
    if (row.error_type === null) totalBooksWithErrors = Number(row.count)
    else errorCounts[row.error_type] = Number(row.count)
  }
  const groups = (Object.entries(errorCounts) as [BookErrorType, number][])
    .map(([errorType, count]) => ({
      errorType,
      label: BOOK_ERROR_LABELS[errorType],
      count,
      books: shown
        .filter((row) => row.error_type === errorType)
        .flatMap(({ id }) => {
          const book = books.get(id)
          return book ? [{ book, errors: errors.get(id) ?? [] }] : []
        }),
    }))
    .sort((a, b) => (a.label < b.label ? -1 : 1))
  const largest = Math.max(0, ...groups.map((group) => group.count))
  return { errorCounts, groups, page, pageSize, totalBooksWithErrors, totalPages: Math.ceil(largest / pageSize) }
}

function selectErrors(database: Knex, caller: Caller, filter: ErrorFilter): Knex.QueryBuilder {
  const matching = database('book_errors')
    .join('books', 'books.id', 'book_errors.book_id')
    .modify(visibleTo(caller, 'books.series_id'))
    .modify(matches(filter, caller))
  if (filter.bookId !== undefined) matching.where('books.id', filter.bookId)
  if (filter.errorType !== undefined) matching.where('book_errors.error_type', filter.errorType)
  return matching
}

/** All errors of the given books, oldest first. */
async function listErrors(database: Knex, ids: readonly string[]): Promise<Map<string, BookError[]>> {
  const found = new Map<string, BookError[]>()
  if (ids.length === 0) return found
  const rows = (await database('book_errors')
    .whereRaw('book_id = ANY(?::uuid[])', [[...ids]])
    .orderBy(['book_id', 'occurred_at', 'error_type'])) as ErrorRow[]
  for (const row of rows) {
    const error: BookError = {
      errorType: row.error_type,
      message: row.message,
      ...(row.details === null ? {} : { details: row.details }),
      occurredAt: row.occurred_at.toISOString(),
    }
    found.set(row.book_id, [...(found.get(row.book_id) ?? []), error])
  }
  return found
}
