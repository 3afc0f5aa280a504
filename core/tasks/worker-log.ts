import type { Log } from '#core/foundation/log.ts'
import { Logger } from '#core/tasks/graphile-worker.ts'

/** Writes messages of graphile-worker to our log, except about failed tasks, which are logged elsewhere, and done ones. */
export const workerLog = (log: Log) =>
  new Logger((scope) => (level, message, meta) => {
    if (meta?.failure || meta?.success) return
    if (level === 'error' || level === 'warning')
      log.warn({ ...(meta?.error instanceof Error && { err: meta.error }), ...scope }, `task queue: ${message}`)
    else if (level === 'info') log.debug({ ...scope }, `task queue: ${message}`)
  })
