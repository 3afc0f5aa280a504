import type { Knex } from 'knex'
import { clearLeftovers } from '#core/cover/clear-leftovers.ts'
import { deleteEmptySeries, deleteMarkedBooks, type LongMissed } from '#core/library/library-store.ts'

/** Books of one step, so that no single statement holds its locks for long. */
const STEP = 1_000

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
    const ids = await deleteMarkedBooks(database, libraryId, { limit: STEP, ...options })
    purged += ids.length
    if (ids.length < STEP) break
  }
  await deleteEmptySeries(database, libraryId)
  await clearLeftovers({ database, dataFolder }, signal)
  return purged
}
