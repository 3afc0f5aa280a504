import type { Knex } from 'knex'
import { openThumbnails } from '#core/analysis/thumbnails.ts'
import { registerDuplicateSearch } from '#core/catalog/duplicates.ts'
import type { DrawBookCover } from '#core/fields/analysis.ts'
import { openOrphanCleanup } from '#core/maintenance/orphans.ts'
import { purgeDeleted } from '#core/scan/purge-deleted.ts'
import { openRenumbering } from '#core/scan/renumber.ts'
import type { TaskQueue } from '#core/tasks/task.ts'

/** Registers the handlers of all upkeep tasks; call before the queue's start(). */
export function openMaintenance(dependencies: {
  database: Knex
  tasks: TaskQueue
  drawBookCover: DrawBookCover
  settings: { dataFolder: string; workers: number }
}): void {
  const { database, tasks, settings } = dependencies
  const { dataFolder } = settings
  openRenumbering(dependencies)
  registerDuplicateSearch(dependencies)
  openThumbnails(dependencies)
  openOrphanCleanup({ database, tasks, dataFolder })
  tasks.handle('purge_deleted', { concurrency: 1 }, async (run) => ({
    purged: await purgeDeleted({ database, dataFolder }, run.libraryId as string, run.signal),
  }))
}
