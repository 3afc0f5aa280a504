import type { Knex } from 'knex'
import { removeCoverFiles, removeCoverFolder } from '#core/metadata/cover-file.ts'
import { type CoverOrphan, forgetCoverOrphans, listCoverOrphans } from '#core/metadata/cover-orphan-store.ts'
import { removeCovers } from '#core/metadata/cover-store.ts'

/** Covers between two looks at the database: after a kill at most so many are removed twice, which is no harm. */
const STEP = 500

/**
 * Removes the files of covers that nothing needs any more; answers of how many owners and covers. What cannot be removed is left for the next
 * time. Only what the database says that it has ended is touched, never what it merely does not know: it may have been restored, or be another.
 */
export async function clearCoverOrphans(
  { database, dataFolder }: { database: Knex; dataFolder: string },
  signal?: AbortSignal,
): Promise<number> {
  let cleared = 0
  let after = '0'
  for (;;) {
    signal?.throwIfAborted()
    const orphans = await listCoverOrphans(database, { after, limit: STEP })
    const removed: string[] = []
    for (const orphan of orphans) {
      if (await remove(dataFolder, orphan)) removed.push(orphan.id)
    }
    await forgetCoverOrphans(database, removed)
    cleared += removed.length
    if (orphans.length < STEP) return cleared
    after = (orphans.at(-1) as CoverOrphan).id
  }
}

/** False when the disk refuses. */
async function remove(dataFolder: string, { owner, coverId }: CoverOrphan): Promise<boolean> {
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
