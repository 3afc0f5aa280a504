import type { Knex } from 'knex'
import { runForSeveral } from '#core/database/statement-scope.ts'
import { announce, announceSeriesGone } from '#core/events/event-store.ts'

/**
 * Books or series of one statement. Each may carry two hundred genres and two hundred tags, which go with it: a hundred thousand rows are a second's work,
 * where a whole library at once outlasts the limit of a statement, however often it is tried.
 */
export const PIECE = 250

/** Before every id there is. */
const FIRST = '00000000-0000-0000-0000-000000000000'

/** The ids of all books of a library, in their order, some at a time. */
async function* eachBook(trx: Knex, libraryId: string): AsyncGenerator<string[]> {
  let after = FIRST
  for (;;) {
    const ids: string[] = await trx('books').where('library_id', libraryId).where('id', '>', after).orderBy('id').limit(PIECE).pluck('id')
    if (ids.length > 0) yield ids
    if (ids.length < PIECE) return
    after = ids.at(-1) as string
  }
}

/** Books keep the path of their file: when the folder of the library has moved, so have they. */
export async function moveBookPaths(trx: Knex, library: { id: string; from: string; to: string }): Promise<void> {
  for await (const ids of eachBook(trx, library.id)) {
    await trx('books')
      .whereRaw('id = ANY(CAST(? AS uuid[]))', [ids])
      // Of the new folder no scan has said yet that something is missing.
      .update({ path: trx.raw('? || substr(path, ?)', [library.to, [...library.from].length + 1]), missed_by: null })
  }
}

/**
 * Takes the row away, and with it those of its series and books, all or nothing; answers whether there was such a library. Goes on when its client
 * has left: who asks again after some minutes finds it done.
 */
export async function deleteLibraryRows(database: Knex, libraryId: string): Promise<boolean> {
  return await runForSeveral(() =>
    database.transaction(async (trx) => {
      // Locked first: what is added from now on waits, and then finds no library.
      if (!(await trx('libraries').where('id', libraryId).forUpdate().first('id'))) return false
      for await (const ids of eachBook(trx, libraryId)) await trx('books').whereRaw('id = ANY(CAST(? AS uuid[]))', [ids]).delete()
      await eachSeries(trx, libraryId, 'true', (ids) => trx('series').whereRaw('id = ANY(CAST(? AS uuid[]))', [ids]).delete())
      await announce(trx, [{ event: { type: 'library_deleted', libraryId } }])
      return (await trx('libraries').where('id', libraryId).delete()) > 0
    }),
  )
}

const EMPTY = 'NOT EXISTS (SELECT 1 FROM books WHERE series_id = s.id)'

/** Deletes the series of a library that have no books, not even deleted ones. */
export async function deleteEmptySeries(database: Knex, libraryId: string): Promise<void> {
  await database.transaction((trx) =>
    // Locked first and looked at again after: a scan that adds a book to the series holds its row until the book is there.
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

/** Locks series of a library, some at a time in the order of their paths, and does something with them. @param condition over `s` */
async function eachSeries(trx: Knex, libraryId: string, condition: string, run: (ids: string[]) => PromiseLike<unknown>): Promise<void> {
  let after = ''
  for (;;) {
    const { rows } = await trx.raw(
      `SELECT id, path FROM series s WHERE library_id = ? AND path > ? AND ${condition} ORDER BY path LIMIT ${PIECE} FOR UPDATE`,
      [libraryId, after],
    )
    if (rows.length > 0) await run(rows.map(({ id }: { id: string }) => id))
    if (rows.length < PIECE) return
    after = rows.at(-1).path
  }
}
