import type { Knex } from 'knex'
import type { DrawBookCover } from '#core/book/analysis.ts'
import { openOrphanCleanup } from '#core/cover/orphans.ts'
import { openThumbnails } from '#core/cover/thumbnails.ts'
import { openDuplicates } from '#core/duplicate/duplicates.ts'
import { purgeDeleted } from '#core/library/purge-deleted.ts'
import { openRenumbering } from '#core/library/renumber.ts'
import type { TaskQueue } from '#core/task/task.ts'

/** Registers the handlers of all that keeps libraries in order; call before the queue's start(). */
export function openMaintenance(parts: {
  database: Knex
  tasks: TaskQueue
  drawBookCover: DrawBookCover
  settings: { dataFolder: string; workers: number }
}): void {
  const { database, tasks, settings } = parts
  const { dataFolder } = settings
  openRenumbering(parts)
  openDuplicates(parts)
  openThumbnails(parts)
  openOrphanCleanup({ database, tasks, dataFolder })
  tasks.handle('purge_deleted', { concurrency: 1 }, async (run) => ({
    purged: await purgeDeleted({ database, dataFolder }, run.libraryId as string, run.signal),
  }))
}
