import type { Log } from '#core/foundation/log.ts'
import { Logger } from '#core/tasks/graphile-worker.ts'

/**
 * Writes messages of graphile-worker to our log, except about failed tasks, which are logged elsewhere, and done ones.
 * @param isStopping whether the pool is being stopped: then nothing is wrong when it no longer reaches the database
 */
export const workerLog = (log: Log, isStopping: () => boolean = () => false) =>
  new Logger((scope) => (level, message, meta) => {
    if (meta?.failure || meta?.success) return
    const isWrong = level === 'error' || level === 'warning'
    const fields = { ...(meta?.error instanceof Error && { err: meta.error }), ...scope }
    if (isWrong && !isStopping()) log.warn(fields, `task queue: ${message}`)
    else if (isWrong || level === 'info') log.debug(fields, `task queue: ${message}`)
  })
