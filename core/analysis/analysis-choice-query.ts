import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import type { BookErrorType } from '#core/fields/analysis.ts'
import { refuse } from '#core/foundation/errors.ts'

/** A book that can be queued for analysis. */
export interface AnalyzableBook {
  id: string
  libraryId: string
  fileName: string
  state: 'pending' | 'analyzed' | 'failed'
  deleted: boolean
}

/** How many ids a message names; a client that sent 500 wrong ids knows which list it used. */
const IDS_NAMED_MAX = 5

const COLUMNS = ['books.id', 'books.library_id AS libraryId', 'books.file_name AS fileName', 'books.state'] as const

const selectBooks = (database: Knex, caller: Caller): Knex.QueryBuilder =>
  database('books')
    .modify(visibleTo(caller, 'books.series_id'))
    .select(...COLUMNS, database.raw('books.deleted_at IS NOT NULL AS deleted'))

/** @throws not_found naming the ids of books that do not exist or that the caller may not see */
export async function getAnalyzableBooks(database: Knex, caller: Caller, bookIds: readonly string[]): Promise<AnalyzableBook[]> {
  const found: AnalyzableBook[] = await selectBooks(database, caller).whereRaw('books.id = ANY(?::uuid[])', [[...bookIds]])
  refuseMissing('book', bookIds, found)
  return found
}

/** The books of these series whose files exist. @throws not_found naming the series that do not exist or are hidden */
export async function getAnalyzableBooksOfSeries(database: Knex, caller: Caller, seriesIds: readonly string[]): Promise<AnalyzableBook[]> {
  const series: { id: string }[] = await database('series')
    .whereRaw('series.id = ANY(?::uuid[])', [[...seriesIds]])
    .modify(visibleTo(caller, 'series.id'))
    .select('series.id')
  refuseMissing('series', seriesIds, series)
  return await selectBooks(database, caller)
    .whereRaw('books.series_id = ANY(?::uuid[])', [[...seriesIds]])
    .whereNull('books.deleted_at')
}

/** Types of the errors of one book. */
export async function listErrorTypes(database: Knex, bookId: string): Promise<BookErrorType[]> {
  return await database('book_errors').where('book_id', bookId).pluck('error_type')
}

/** All books with errors that the caller may see and whose files exist. */
export async function listBooksToRetry(
  database: Knex,
  caller: Caller,
  filter: { errorType?: BookErrorType | null | undefined; libraryId?: string | null | undefined },
): Promise<Pick<AnalyzableBook, 'id' | 'libraryId'>[]> {
  const query = selectBooks(database, caller).whereNull('books.deleted_at')
  if (filter.libraryId) query.where('books.library_id', filter.libraryId)
  return await query.whereExists((errors: Knex.QueryBuilder) => {
    errors.from('book_errors AS e').whereRaw('e.book_id = books.id').select(database.raw('1'))
    if (filter.errorType) errors.where('e.error_type', filter.errorType)
  })
}

function refuseMissing(noun: 'book' | 'series', wanted: readonly string[], found: readonly { id: string }[]): void {
  const known = new Set(found.map(({ id }) => id))
  const missing = wanted.filter((id) => !known.has(id.toLowerCase()))
  if (missing.length === 0) return
  refuse('not_found', `There is no ${noun} ${missing.slice(0, IDS_NAMED_MAX).join(', ')}, or you may not see it. Nothing was queued.`)
}
