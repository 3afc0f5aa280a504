import type { Exports } from '#core/exports/series-exports.ts'
import type { Scans } from '#core/scan/scans.ts'
import type { TaskMetrics } from '#core/tasks/task-metrics.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

/** What runs in the background. */
export interface WorkServices {
  tasks: TaskQueue
  /** Metrics of tasks. */
  taskMetrics: TaskMetrics
  scans: Scans
  /** Export files of the records that a user may see, made by tasks. */
  exports: Exports
}
