import type { Knex } from 'knex'
import { wordsFor } from '#core/account/private-words.ts'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'
import { RegularJobs } from '#core/foundation/regular-jobs.ts'
import { briefText } from '#core/foundation/stranger-text.ts'
import { CLASSES, classOf } from '#core/tasks/duration.ts'
import { FinalFailure, type TaskHandler, type TaskRun, type TaskType, taskErrorMessage } from '#core/tasks/task.ts'
import { TRIES_MAX } from '#core/tasks/task-ending.ts'
import { addTaskHours, deleteTaskHours, type TaskHour } from '#core/tasks/task-metric-store.ts'

/** A month shows whether this week is unusual; it has some thousand rows. */
export const METRICS_KEPT_DAYS = 30
const HOUR_MS = 3_600_000
/** Maximum length of a stored error message. */
const MESSAGE_LENGTH_MAX = 1_000

type Outcome = { succeeded: true } | { succeeded: false; error: unknown; isLast: boolean }

interface TaskMetricsOptions {
  database: Knex
  log: Log
  /** Those of the server; only tests have none. */
  jobs?: RegularJobs
}

/** Counts outcomes and durations of tasks, by hour and type. */
export class TaskMetrics {
  readonly #options: TaskMetricsOptions
  #hours = new Register<TaskHour>()
  // Counts that cannot be written are dropped, since they are not worth memory.
  readonly #writing
  readonly #cleaning

  constructor(options: TaskMetricsOptions) {
    const { database, log, jobs = new RegularJobs(log) } = options
    this.#options = options
    this.#writing = jobs.start('write the metrics of tasks', () => this.#addHours())
    this.#cleaning = jobs.start('delete old metrics of tasks', () => deleteTaskHours(database, METRICS_KEPT_DAYS))
  }

  #note(run: TaskRun, { ms, items, outcome }: { ms: number; items: number; outcome: Outcome }): void {
    const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString()
    const key = `${hour} ${run.type}`
    const sums = this.#hours.get(key) ?? emptyHour(run.type, hour)
    this.#hours.set(key, sums)
    if (outcome.succeeded) sums.succeeded++
    else {
      sums[outcome.isLast ? 'failed' : 'retried']++
      sums.last_error = wordsFor(briefText(taskErrorMessage(outcome.error), MESSAGE_LENGTH_MAX), run.userId ?? null, null)
      sums.last_error_at = new Date().toISOString()
      // Tries of one task count as one run.
      if (!outcome.isLast) return
    }
    sums.items += items
    sums.duration_ms += ms
    sums.duration_min_ms = Math.min(sums.duration_min_ms, ms)
    sums.duration_max_ms = Math.max(sums.duration_max_ms, ms)
    sums.wait_ms += Math.round(run.waitedMs ?? 0)
    const durationClass = classOf(ms)
    sums.durations[durationClass] = (sums.durations[durationClass] as number) + 1
  }

  /** A handler that measures another one. */
  timed(handler: TaskHandler): TaskHandler {
    return async (run) => {
      const startedAt = performance.now()
      let items = 1
      const progress: TaskRun['progress'] = (current, total, message) => {
        items = Math.max(0, Math.round(current))
        run.progress(current, total, message)
      }
      const record = (outcome: Outcome) => this.#note(run, { ms: Math.round(performance.now() - startedAt), items, outcome })
      try {
        const result = await handler({ ...run, progress })
        record({ succeeded: true })
        return result
      } catch (error) {
        // Canceled, or the server is stopping: neither is an outcome of the task.
        if (!run.signal.aborted) record({ succeeded: false, error, isLast: error instanceof FinalFailure || run.attempt >= TRIES_MAX })
        throw error
      }
    }
  }

  async #addHours(): Promise<void> {
    const counted = [...this.#hours.values()].map((sums) => ({
      ...sums,
      duration_min_ms: Math.min(sums.duration_min_ms, sums.duration_max_ms),
    }))
    this.#hours = new Register()
    if (counted.length > 0) await addTaskHours(this.#options.database, counted)
  }

  /** Stores what was counted since the last time. */
  write(): Promise<void> {
    return this.#writing.now()
  }

  /** Deletes all metrics; returns the number of rows (hours of types). */
  async clear(): Promise<number> {
    this.#hours = new Register()
    await this.#writing.now()
    return await deleteTaskHours(this.#options.database, 0)
  }

  /** Stores the last counts. */
  async close(): Promise<void> {
    await this.#writing.now()
    await Promise.all([this.#writing.stop(), this.#cleaning.stop()])
  }
}

const emptyHour = (taskType: TaskType, hour: string): TaskHour => ({
  task_type: taskType,
  hour,
  succeeded: 0,
  failed: 0,
  retried: 0,
  items: 0,
  duration_ms: 0,
  duration_min_ms: Number.MAX_SAFE_INTEGER,
  duration_max_ms: 0,
  wait_ms: 0,
  durations: Array.from({ length: CLASSES }, () => 0),
  last_error: null,
  last_error_at: null,
})
