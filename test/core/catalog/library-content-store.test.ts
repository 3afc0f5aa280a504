import type { Knex } from 'knex'
import t, { type Test } from 'tap'
import { deleteEmptySeries, deleteLibraryRows, moveBookPaths } from '#core/catalog/library-content-store.ts'
import { openDatabase } from '#core/database/database.ts'
import { STATEMENT_LIMITS } from '#core/database/statement-limits.ts'
import { runInScope } from '#core/database/statement-scope.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { addLibrary } from '#test/support/library-rows.ts'
import { slowDown } from '#test/support/slow-table.ts'

t.setTimeout(120_000)

const SERIES = 1_000
const BOOKS = SERIES * 2
/** The time for each row in these tests: all together exceed the statement timeout; a piece takes a quarter of it on an idle machine. */
const ROW_MS = { books: 3, series: 6 }
const REQUEST_MS = 5_000

/** A library whose every row takes time, and a client whose statements have limits. */
async function openSlow(
  t: Test,
  slow: { table: 'books' | 'series'; change: 'DELETE' | 'UPDATE' },
): Promise<{ database: Knex; limited: Knex }> {
  const { database, url } = await openTestDatabase(t)
  await slowDown(database, { after: slow.change, table: slow.table, each: 'ROW', ms: ROW_MS[slow.table] })
  const limits = { ...STATEMENT_LIMITS, requestMs: REQUEST_MS, readMs: REQUEST_MS, cheapMs: 100 }
  const limited = openDatabase({ url, poolMax: 4, log: silentLog, limits })
  t.teardown(() => limited.destroy())
  return { database, limited }
}

async function fill(database: Knex, { books }: { books: boolean }): Promise<string> {
  const libraryId = await addLibrary(database, { path: '/old' })
  await database.raw(`INSERT INTO series (library_id, path, title) SELECT ?, 's' || n, 'S ' || n FROM generate_series(1, ${SERIES}) n`, [
    libraryId,
  ])
  if (books)
    await database.raw(
      `INSERT INTO books (library_id, series_id, path, file_name, file_format, file_size, file_mtime_ns, title)
       SELECT library_id, id, '/old/' || path || '/' || n || '.cbz', n || '.cbz', 'cbz', 1, 1, 'B' FROM series, generate_series(1, 2) n WHERE library_id = ?`,
      [libraryId],
    )
  return libraryId
}

const asRequest = <T>(work: () => Promise<T>, signal = new AbortController().signal) =>
  runInScope({ owner: 'ada', signal: () => signal }, work)
const count = async (database: Knex, table: string) => Number((await database(table).count({ n: '*' }).first())?.['n'])

t.test('a library of any size is deleted, despite the statement timeout and a client that disconnects', onlyFull, async (t) => {
  const { database, limited } = await openSlow(t, { table: 'books', change: 'DELETE' })
  const libraryId = await fill(database, { books: true })
  const left = AbortSignal.abort()
  t.equal(await asRequest(() => deleteLibraryRows(limited, libraryId), left), true)
  for (const table of ['books', 'series', 'libraries', 'book_search']) t.equal(await count(database, table), 0, table)
  t.equal(await count(database, 'cover_orphans'), BOOKS + SERIES, 'their covers are to be removed')
  t.equal(await asRequest(() => deleteLibraryRows(limited, libraryId)), false, 'there is none any more')
})

t.test('so are its series', onlyFull, async (t) => {
  const { database, limited } = await openSlow(t, { table: 'series', change: 'DELETE' })
  const libraryId = await fill(database, { books: false })
  await asRequest(() => deleteEmptySeries(limited, libraryId))
  t.equal(await count(database, 'series'), 0)
  t.equal(await asRequest(() => deleteLibraryRows(limited, libraryId)), true)
})

t.test('series with books stay', async (t) => {
  const { database } = await openTestDatabase(t)
  const libraryId = await fill(database, { books: true })
  await database.raw(`DELETE FROM books WHERE path LIKE '/old/s1%'`)
  await deleteEmptySeries(database, libraryId)
  t.same(await database('series').where('path', 'like', 's1%'), [])
  t.equal(await count(database, 'series'), SERIES - 112, 's1, s10 to s19, s100 to s199 and s1000')
})

t.test('a library of any size moves to another folder', onlyFull, async (t) => {
  const { database, limited } = await openSlow(t, { table: 'books', change: 'UPDATE' })
  const libraryId = await fill(database, { books: true })
  await asRequest(() => limited.transaction((trx) => moveBookPaths(trx, { id: libraryId, from: '/old', to: '/new/place' })))
  t.same(await database('books').where('path', 'not like', '/new/place/s%/_.cbz'), [])
})
