import type { Knex } from 'knex'
import { clearLeftovers } from '#core/cover/clear-leftovers.ts'
import { deleteEmptySeries, PIECE } from '#core/library/library-content-store.ts'
import { deleteMarkedBooks, type LongMissed } from '#core/library/library-store.ts'

/**
 * Removes for good what is marked as deleted, and the series that are empty then; covers too, the files of people never.
 * Answers how many books went.
 * @param options.longMissed takes only what two complete scans found gone; without it a person wants all of them gone at once
 */
export async function purgeDeleted(
  parts: { database: Knex; dataFolder: string },
  libraryId: string,
  signal?: AbortSignal,
  options: { longMissed?: LongMissed } = {},
): Promise<number> {
  const { database, dataFolder } = parts
  let purged = 0
  for (;;) {
    signal?.throwIfAborted()
    const ids = await deleteMarkedBooks(database, libraryId, { limit: PIECE, ...options })
    purged += ids.length
    if (ids.length < PIECE) break
  }
  await deleteEmptySeries(database, libraryId)
  await clearLeftovers({ database, dataFolder }, signal)
  return purged
}
