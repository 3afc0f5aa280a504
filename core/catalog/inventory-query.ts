import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { isRestricted } from '#core/account/user-store.ts'
import { visibleLibrary, visibleTo } from '#core/account/visibility.ts'
import { countRows } from '#core/database/select.ts'

/** The size of the libraries, in numbers; only books and series that the caller may see, without deleted ones. Sizes in bytes. */
interface Inventory {
  libraryCount: number
  seriesCount: number
  bookCount: number
  pageCount: number
  totalBookSize: number
  userCount: number
  /** 0 for callers who may not see every series: the size would reveal that there are more. */
  databaseSize: number
  libraries: LibraryInventory[]
}

interface LibraryInventory {
  id: string
  name: string
  bookCount: number
  seriesCount: number
  totalSize: number
}

interface LibraryRow {
  id: string
  name: string
  books: number
  series: number
  bytes: number
  pages: number
}

export async function readInventory(database: Knex, caller: Caller): Promise<Inventory> {
  const counted = database('books')
    .whereNull('books.deleted_at')
    .modify(visibleTo(caller, 'books.series_id'))
    .groupBy('books.library_id')
    .select('books.library_id')
    .select(
      database.raw(
        `count(*)::float8 AS books, count(DISTINCT books.series_id)::float8 AS series, sum(books.file_size)::float8 AS bytes, sum(books.page_count)::float8 AS pages`,
      ),
    )
  const listed = database('libraries')
    .modify(visibleLibrary(caller, 'libraries.id'))
    .leftJoin(counted.as('c'), 'c.library_id', 'libraries.id')
    .orderByRaw('libraries.name COLLATE carrel_natural, libraries.id')
    .select('libraries.id', 'libraries.name')
    .select(
      database.raw(
        'coalesce(c.books, 0) AS books, coalesce(c.series, 0) AS series, coalesce(c.bytes, 0) AS bytes, coalesce(c.pages, 0) AS pages',
      ),
    )
  const restricted = await isRestricted(database, caller)
  const [rows, users, size] = await Promise.all([
    listed as Promise<LibraryRow[]>,
    caller.permissions.has('users-read') ? countRows(database('users')) : 0,
    restricted ? null : database.raw('SELECT pg_database_size(current_database())::float8 AS bytes'),
  ])
  const sum = (member: 'books' | 'series' | 'bytes' | 'pages') => rows.reduce((all, row) => all + row[member], 0)
  return {
    libraryCount: rows.length,
    seriesCount: sum('series'),
    bookCount: sum('books'),
    pageCount: sum('pages'),
    totalBookSize: sum('bytes'),
    userCount: users,
    databaseSize: size?.rows[0]?.bytes ?? 0,
    libraries: rows.map((row) => ({ id: row.id, name: row.name, bookCount: row.books, seriesCount: row.series, totalSize: row.bytes })),
  }
}
