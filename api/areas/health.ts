import type { DiskState } from '#core/database/disk-space.ts'
import type { DatabaseState } from '#core/database/liveness-query.ts'
import type { StallCounts } from '#core/foundation/loop-watch.ts'

/** Whether the server works, for /health and for metrics. */
export interface HealthServices {
  /** Whether the database answers and accepts changes; for /health. */
  databaseState: () => Promise<DatabaseState>
  /** Whether the disk of the data folder has space; for /health. */
  diskState: () => Promise<DiskState>
  /** Whether the worker pool accepts work; for /health. */
  poolHealthy: () => boolean
  /** How often the event loop was blocked. */
  stalls: () => StallCounts
  /** The problem of the data folder, or null; for /health. */
  dataFolderProblem: () => string | null
}
