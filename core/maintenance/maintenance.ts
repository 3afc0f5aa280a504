import type { Knex } from 'knex'
import { handleThumbnails } from '#core/analysis/thumbnails.ts'
import { registerDuplicateSearch } from '#core/catalog/duplicates.ts'
import type { Rules } from '#core/conditions/rules.ts'
import type { DrawBookCover } from '#core/fields/analysis.ts'
import { handleOrphanRemoval } from '#core/maintenance/orphans.ts'
import { handleArranging } from '#core/scan/layouts/arrange-library.ts'
import { purgeDeleted } from '#core/scan/purge-deleted.ts'
import { handleRenumbering } from '#core/scan/renumber.ts'
import { handleReprocessing } from '#core/scan/reprocess-titles.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** Registers the handlers of all maintenance tasks; call before the queue's start(). */
export function handleMaintenance(dependencies: {
  database: Knex
  tasks: TaskQueue
  rules: Rules
  drawBookCover: DrawBookCover
  settings: { dataFolder: string; workers: number }
}): void {
  const { database, tasks, settings } = dependencies
  const { dataFolder } = settings
  handleReprocessing(dependencies)
  handleRenumbering(dependencies)
  handleArranging(dependencies)
  registerDuplicateSearch(dependencies)
  handleThumbnails(dependencies)
  handleOrphanRemoval({ database, tasks, dataFolder })
  tasks.handle('purge_deleted', { concurrency: 1 }, async (run) => ({
    purged: await purgeDeleted({ database, dataFolder }, run.libraryId as string, run.signal),
  }))
}
