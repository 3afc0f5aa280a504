import type { Knex } from 'knex'
import Type, { type Static } from 'typebox'
import type { Caller } from '#core/account/caller.ts'
import { isRestricted } from '#core/account/user-store.ts'
import { visibleLibrary, visibleTo } from '#core/account/visibility.ts'
import { countRows } from '#core/database/select.ts'
import { Uuid } from '#core/foundation/schema.ts'

const Count = Type.Integer({ minimum: 0 })

/** The size of the libraries, in numbers. */
export const Inventory = Type.Object(
  {
    libraryCount: Count,
    seriesCount: Count,
    bookCount: Count,
    pageCount: Count,
    totalBookSize: Type.Integer({ minimum: 0, description: 'Size of the files in bytes.' }),
    userCount: Type.Integer({ minimum: 0, description: '0 for callers without the permission users-read.' }),
    /** The size would reveal that there are more series. */
    databaseSize: Type.Integer({ minimum: 0, description: 'Size in bytes; 0 for callers who do not see every series.' }),
    libraries: Type.Array(Type.Object({ id: Uuid, name: Type.String(), bookCount: Count, seriesCount: Count, totalSize: Count })),
  },
  { title: 'Inventory', description: 'Counts only the books and series that the caller may see, without deleted ones.' },
)
export type Inventory = Static<typeof Inventory>

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
        'coalesce(c.books, 0) AS "bookCount", coalesce(c.series, 0) AS "seriesCount", coalesce(c.bytes, 0) AS "totalSize", coalesce(c.pages, 0) AS pages',
      ),
    )
  const restricted = await isRestricted(database, caller)
  const [rows, users, size] = await Promise.all([
    listed as Promise<(Inventory['libraries'][number] & { pages: number })[]>,
    caller.permissions.has('users-read') ? countRows(database('users')) : 0,
    restricted ? null : database.raw('SELECT pg_database_size(current_database())::float8 AS bytes'),
  ])
  const sum = (member: 'bookCount' | 'seriesCount' | 'totalSize' | 'pages') => rows.reduce((all, row) => all + row[member], 0)
  return {
    libraryCount: rows.length,
    seriesCount: sum('seriesCount'),
    bookCount: sum('bookCount'),
    pageCount: sum('pages'),
    totalBookSize: sum('totalSize'),
    userCount: users,
    databaseSize: size?.rows[0]?.bytes ?? 0,
    libraries: rows.map(({ pages: _, ...row }) => row),
  }
}
