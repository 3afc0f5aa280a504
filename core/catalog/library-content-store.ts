import type { Knex } from 'knex'
import { announceListed } from '#core/account/access-store.ts'
import { eachId } from '#core/database/each-by-id.ts'
import { runForSeveral } from '#core/database/statement-scope.ts'
import { announce, announceSeriesGone } from '#core/events/event-store.ts'

/**
 * Books or series per statement. Each may have two hundred genres and two hundred tags, which are deleted too: a hundred thousand rows take a second,
 * but deleting a whole library in one statement would exceed the statement timeout with every retry.
 */
export const PIECE = 250

const eachBook = (trx: Knex, libraryId: string): AsyncGenerator<string[]> => eachId(trx('books').where('library_id', libraryId), PIECE)

/** Rows of books contain the path of their file: moving the folder of the library changes all of them. */
export async function moveBookPaths(trx: Knex, library: { id: string; from: string; to: string }): Promise<void> {
  for await (const ids of eachBook(trx, library.id)) {
    await trx('books')
      .whereRaw('id = ANY(CAST(? AS uuid[]))', [ids])
      // No scan has found anything missing in the new folder yet.
      .update({ path: trx.raw('? || substr(path, ?)', [library.to, [...library.from].length + 1]), missed_by: null })
  }
}

/**
 * Deletes the row of a library, and the rows of its series and books, all or nothing; returns whether the library existed. Continues when its client
 * disconnects: a request some minutes later finds it done.
 */
export async function deleteLibraryRows(database: Knex, libraryId: string): Promise<boolean> {
  return await runForSeveral(() =>
    database.transaction(async (trx) => {
      // Locked first: concurrent inserts wait, and then find no library.
      if (!(await trx('libraries').where('id', libraryId).forUpdate().first('id'))) return false
      for await (const ids of eachBook(trx, libraryId)) await trx('books').whereRaw('id = ANY(CAST(? AS uuid[]))', [ids]).delete()
      await eachSeries(trx, libraryId, 'true', (ids) => trx('series').whereRaw('id = ANY(CAST(? AS uuid[]))', [ids]).delete())
      // Last, because it locks the users, who cannot sign in meanwhile.
      await announceListed(trx, libraryId)
      await announce(trx, [{ event: { type: 'library_deleted', libraryId } }])
      return (await trx('libraries').where('id', libraryId).delete()) > 0
    }),
  )
}

const EMPTY = 'NOT EXISTS (SELECT 1 FROM books WHERE series_id = s.id)'

/** Deletes the series of a library that have no books, not even deleted ones. */
export async function deleteEmptySeries(database: Knex, libraryId: string): Promise<void> {
  await database.transaction((trx) =>
    // Locked first and checked again afterwards: a scan that adds a book to the series locks its row until the book is inserted.
    eachSeries(trx, libraryId, EMPTY, (ids) =>
      announceSeriesGone(trx, { libraryId, ids }, async () => {
        const { rows } = await trx.raw(`DELETE FROM series s WHERE id = ANY(CAST(? AS uuid[])) AND ${EMPTY} RETURNING id`, [ids])
        return rows.map(({ id }: { id: string }) => id)
      }),
    ),
  )
}

/** The same for one series. */
export async function deleteSeriesWhenEmpty(database: Knex, seriesId: string): Promise<void> {
  await database.transaction(async (trx) => {
    const series = await trx('series').where('id', seriesId).forUpdate().first('library_id')
    if (!series) return
    await announceSeriesGone(trx, { libraryId: series.library_id, ids: [seriesId] }, async () => {
      const { rows } = await trx.raw(`DELETE FROM series s WHERE id = ? AND ${EMPTY} RETURNING id`, [seriesId])
      return rows.map(({ id }: { id: string }) => id)
    })
  })
}

/** Locks series of a library, some at a time in the order of their paths and names, and calls a function with them. @param condition over `s` */
async function eachSeries(trx: Knex, libraryId: string, condition: string, run: (ids: string[]) => PromiseLike<unknown>): Promise<void> {
  let after = ['', '']
  for (;;) {
    const { rows } = await trx.raw(
      `SELECT id, path, name_key FROM series s WHERE library_id = ? AND (path, name_key) > (?, ?) AND ${condition}
       ORDER BY path, name_key LIMIT ${PIECE} FOR UPDATE`,
      [libraryId, ...after],
    )
    if (rows.length > 0) await run(rows.map(({ id }: { id: string }) => id))
    if (rows.length < PIECE) return
    after = [rows.at(-1).path, rows.at(-1).name_key]
  }
}
