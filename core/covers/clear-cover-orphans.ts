import type { Knex } from 'knex'
import { removeCovers } from '#core/covers/book-cover-files.ts'
import { removeCoverFiles, removeCoverFolder } from '#core/covers/chosen-cover-files.ts'
import { type CoverOrphan, forgetCoverOrphans, listCoverOrphans } from '#core/covers/cover-orphan-store.ts'

/** Covers per step: if the server is killed, at most this many are removed twice, which is harmless. */
const STEP = 500

/**
 * Removes the files of covers that nothing needs any more; returns the number of removed owners and covers. Files that cannot be removed are left for the
 * next run. Removes only files that the database lists as orphans, never files that it merely does not know: the database may have been restored from a backup,
 * or be another one.
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

/** False if the files cannot be removed. */
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
