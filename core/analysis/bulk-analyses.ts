import type { Knex } from 'knex'
import { analyzeLibrary } from '#core/analysis/analyze-library.ts'
import { awaitAnalyses } from '#core/analysis/await-analyses.ts'
import type { TaskQueue } from '#core/tasks/task.ts'

/** Bulk analyses that are awaited at the same time; people start only a few. */
const AWAITED_MAX = 100

/** Registers the handlers of analyses of many books with the queue; call before its start(). */
export function openBulkAnalyses({ database, tasks }: { database: Knex; tasks: TaskQueue }): void {
  // They only wait; but a task that has not started could not cancel its parts.
  tasks.handle('analyze_books', { concurrency: AWAITED_MAX }, awaitAnalyses({ database, tasks }))
  tasks.handle('analyze_library', { concurrency: 1 }, analyzeLibrary({ database, tasks }))
}
