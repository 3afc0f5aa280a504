import type { Knex } from 'knex'
import { type Caller, progressUserId } from '#core/account/caller.ts'
import { READING_TERMS } from '#core/fields/reading-order.ts'
import { readSort, type Sort } from '#core/foundation/sort.ts'
import { type ListPart, type Order, type OrderTerm, shuffled } from '#core/paging/list-order.ts'

type BookSortField = 'title' | 'series' | 'created' | 'updated' | 'released' | 'number' | 'size' | 'file' | 'pages' | 'read' | 'shuffled'
type Direction = 'ASC' | 'DESC'

/** Accepted spellings of the sort fields. */
const BOOK_SORT_NAMES: Record<string, BookSortField> = {
  title: 'title',
  series: 'series',
  created_at: 'created',
  date_added: 'created',
  updated_at: 'updated',
  date_updated: 'updated',
  release_date: 'released',
  chapter_number: 'number',
  number: 'number',
  file_size: 'size',
  filename: 'file',
  page_count: 'pages',
  last_read: 'read',
  read_date: 'read',
}

/** Fields that are columns of books, each with an index. All orders end with the id, which is reversed with the rest, so that one index serves both directions. */
const COLUMNS: Partial<Record<BookSortField, { column: string; isNullable?: true }>> = {
  title: { column: 'books.sort_key' },
  created: { column: 'books.created_at' },
  updated: { column: 'books.updated_at' },
  released: { column: 'books.released', isNullable: true },
  number: { column: 'books.number', isNullable: true },
  size: { column: 'books.file_size' },
  file: { column: 'books.file_name COLLATE carrel_natural' },
  pages: { column: 'books.page_count' },
}

export type BookSort = Sort<BookSortField>

const directionOf = ({ direction }: BookSort): Direction => (direction === 'asc' ? 'ASC' : 'DESC')

/** The terms of an ORDER BY, for any query of books that {@link joinForSort} was applied to. */
export function termsOf(sort: BookSort): OrderTerm[] {
  const turn = directionOf(sort)
  const known = COLUMNS[sort.field]
  if (known) return [`${known.column} ${turn}${known.isNullable ? ' NULLS LAST' : ''}`, `books.id ${turn}`]
  // The series id separates two series with the same name; inside a series the reading order is never reversed.
  if (sort.field === 'series') return [`series.sort_key ${turn}`, `series.id ${turn}`, ...READING_TERMS]
  return [`read_progress.updated_at ${turn} NULLS LAST`, `books.id ${turn}`]
}

/** Joins the tables that {@link termsOf} a sort need. */
export function joinForSort(query: Knex.QueryBuilder, { field }: BookSort, caller: Caller): void {
  if (field === 'series') query.join('series', 'series.id', 'books.series_id')
  else if (field === 'read') query.joinRaw(`LEFT ${PROGRESS}`, [progressUserId(caller)])
}

const PROGRESS = 'JOIN read_progress ON read_progress.book_id = books.id AND read_progress.user_id = ?'

/** The order of a list of books. */
export function orderOfBooks(caller: Caller, sort: BookSort): Order | ((total: number) => Order) {
  if (sort.field === 'shuffled') return shuffled('books', 'books.id')
  const direction = directionOf(sort)
  const rest: Pick<ListPart, 'keys' | 'from'> = { keys: [{ terms: ['books.id'], direction }], from: { sql: 'books' } }
  const known = COLUMNS[sort.field]
  if (known) {
    const { column, isNullable } = known
    const part: ListPart = { keys: [{ terms: [column, 'books.id'], direction }], from: { sql: 'books' } }
    if (!isNullable) return [part]
    return [
      { ...part, narrow: (query) => query.whereRaw(`${column} IS NOT NULL`) },
      { ...rest, narrow: (query) => query.whereRaw(`${column} IS NULL`) },
    ]
  }
  if (sort.field === 'series') {
    const keys: ListPart['keys'] = [
      { terms: ['series.sort_key', 'series.id'], direction },
      { terms: READING_TERMS, direction: 'ASC' },
    ]
    const narrow = (query: Knex.QueryBuilder) => query.join('series', 'series.id', 'books.series_id')
    return [{ narrow, keys, from: { sql: 'books JOIN series ON series.id = books.series_id' } }]
  }
  const user = [progressUserId(caller)] as string[]
  return [
    {
      narrow: (query) => query.joinRaw(PROGRESS, user),
      keys: [{ terms: ['read_progress.updated_at', 'books.id'], direction }],
      from: { sql: `books ${PROGRESS}`, bindings: user },
    },
    {
      ...rest,
      narrow: (query) => query.whereRaw('NOT EXISTS (SELECT 1 FROM read_progress p WHERE p.book_id = books.id AND p.user_id = ?)', user),
    },
  ]
}

export const DEFAULT_BOOK_SORT: BookSort = { field: 'title', direction: 'asc' }

/** Every accepted spelling of a sort field. */
export const BOOK_SORT_FIELDS = Object.keys(BOOK_SORT_NAMES)

/** Null if absent. @throws invalid_request for an unknown field */
export const readBookSort = (text: string | undefined): BookSort | null =>
  text?.trim() ? readSort<BookSortField>(text, BOOK_SORT_NAMES, DEFAULT_BOOK_SORT) : null
