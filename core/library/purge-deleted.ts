import type { Knex } from 'knex'
import { removeCovers } from '#core/book/cover-store.ts'

/** Books of one step, so that no single statement holds its locks for long. */
const STEP = 1_000

/**
 * Removes for good what is marked as deleted, and the series that are empty then; covers too, the files of people never.
 * Answers how many books went.
 */
export async function purgeDeleted(
  parts: { database: Knex; dataFolder: string },
  libraryId: string,
  signal?: AbortSignal,
): Promise<number> {
  const { database, dataFolder } = parts
  let purged = 0
  for (;;) {
    signal?.throwIfAborted()
    // A book that came back in this very moment is no longer deleted when its row is locked, and stays.
    const { rows } = await database.raw(
      `DELETE FROM books WHERE deleted_at IS NOT NULL AND id IN (
         SELECT id FROM books WHERE library_id = ? AND deleted_at IS NOT NULL ORDER BY id LIMIT ${STEP} FOR UPDATE SKIP LOCKED
       ) RETURNING id`,
      [libraryId],
    )
    const ids = rows.map((row: { id: string }) => row.id)
    await removeCovers(dataFolder, ids)
    purged += ids.length
    if (ids.length < STEP) break
  }
  await removeEmptySeries(database, libraryId)
  return purged
}

async function removeEmptySeries(database: Knex, libraryId: string): Promise<void> {
  await database.transaction(async (trx) => {
    // Locked first and looked at again after: a scan that adds a book to the series holds its row until the book is there.
    const { rows } = await trx.raw(
      `SELECT id FROM series s WHERE library_id = ? AND NOT EXISTS (SELECT 1 FROM books WHERE series_id = s.id) ORDER BY path FOR UPDATE`,
      [libraryId],
    )
    await trx.raw('DELETE FROM series s WHERE id = ANY(?::uuid[]) AND NOT EXISTS (SELECT 1 FROM books WHERE series_id = s.id)', [
      rows.map((row: { id: string }) => row.id),
    ])
  })
}
