import type { Knex } from 'knex'
import { removeCoverFiles, removeCoverFolder } from '#core/metadata/cover-file.ts'
import { removeCovers } from '#core/metadata/cover-store.ts'
import { forgetLeftovers, type Leftover, listLeftovers } from '#core/metadata/leftover-store.ts'

/** Covers between two looks at the database: after a kill at most so many are removed twice, which is no harm. */
const STEP = 500

/**
 * Removes the files of covers that nothing needs any more; answers of how many owners and covers. What cannot be removed is left for the next
 * time. Only what the database says that it has ended is touched, never what it merely does not know: it may have been restored, or be another.
 */
export async function clearLeftovers(
  { database, dataFolder }: { database: Knex; dataFolder: string },
  signal?: AbortSignal,
): Promise<number> {
  let cleared = 0
  let after = '0'
  for (;;) {
    signal?.throwIfAborted()
    const leftovers = await listLeftovers(database, { after, limit: STEP })
    const removed: string[] = []
    for (const leftover of leftovers) {
      if (await remove(dataFolder, leftover)) removed.push(leftover.id)
    }
    await forgetLeftovers(database, removed)
    cleared += removed.length
    if (leftovers.length < STEP) return cleared
    after = (leftovers.at(-1) as Leftover).id
  }
}

/** False when the disk refuses. */
async function remove(dataFolder: string, { owner, coverId }: Leftover): Promise<boolean> {
  try {
    if (coverId !== null) await removeCoverFiles(dataFolder, owner, coverId)
    else {
      await removeCoverFolder(dataFolder, owner)
      if (owner.kind === 'book') await removeCovers(dataFolder, [owner.id])
    }
    return true
  } catch {
    return false
  }
}
