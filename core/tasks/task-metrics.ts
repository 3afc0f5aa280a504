import type { Knex } from 'knex'
import type { Log } from '#core/foundation/log.ts'
import { DelegatingTaskQueue } from '#core/tasks/delegating-task-queue.ts'
import { CLASSES, classOf } from '#core/tasks/duration.ts'
import { FinalFailure, type TaskHandler, type TaskQueue, type TaskRun, type TaskType, taskErrorMessage } from '#core/tasks/task.ts'
import { TRIES_MAX } from '#core/tasks/task-ending.ts'
import { addTaskHours, deleteTaskHours, type TaskHour } from '#core/tasks/task-metric-store.ts'

/** A month tells whether this week was unlike others; some thousand rows. */
export const METRICS_KEPT_DAYS = 30
/** Between two writings: a server that is killed loses no more than this. */
const WRITE_MS = 10_000
/** Between two looks at what is too old. */
const CLEAN_MS = 3_600_000
const HOUR_MS = 3_600_000
/** Of an error's message. */
const MESSAGE_LENGTH_MAX = 1_000

/** Counts how tasks go, by hour and type. */
export interface TaskMetrics {
  /** The queue whose handlers are timed; register them here. */
  metered(tasks: TaskQueue): TaskQueue
  /** Writes what was counted since the last time. */
  write(): Promise<void>
  /** Forgets everything; answers how many hours of types went. */
  clear(): Promise<number>
  /** Writes once more. */
  close(): Promise<void>
}

type Outcome = { succeeded: true } | { succeeded: false; error: unknown; isLast: boolean }

interface TaskMetricsOptions {
  database: Knex
  log: Log
}

export function openTaskMetrics(options: TaskMetricsOptions): TaskMetrics {
  return new HourlyTaskMetrics(options)
}

class HourlyTaskMetrics implements TaskMetrics {
  readonly #options: TaskMetricsOptions
  #hours = new Map<string, TaskHour>()
  #cleanedAt = 0
  // One after the other; what cannot be written is lost, for it is worth no memory.
  #writing = Promise.resolve()
  readonly #timer

  constructor(options: TaskMetricsOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#writeQuietly(), WRITE_MS).unref()
  }

  #note(run: TaskRun, { ms, items, outcome }: { ms: number; items: number; outcome: Outcome }): void {
    const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString()
    const key = `${hour} ${run.type}`
    const sums = this.#hours.get(key) ?? emptyHour(run.type, hour)
    this.#hours.set(key, sums)
    if (outcome.succeeded) sums.succeeded++
    else {
      sums[outcome.isLast ? 'failed' : 'retried']++
      sums.last_error = taskErrorMessage(outcome.error).slice(0, MESSAGE_LENGTH_MAX).toWellFormed().replaceAll('\0', '\ufffd')
      sums.last_error_at = new Date().toISOString()
      // It is one run, however often it is tried.
      if (!outcome.isLast) return
    }
    sums.items += items
    sums.duration_ms += ms
    sums.duration_min_ms = Math.min(sums.duration_min_ms, ms)
    sums.duration_max_ms = Math.max(sums.duration_max_ms, ms)
    sums.wait_ms += Math.round(run.waitedMs ?? 0)
    const place = classOf(ms)
    sums.durations[place] = (sums.durations[place] as number) + 1
  }

  #timed(handler: TaskHandler): TaskHandler {
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
        // Cancelled, or the server ends: that says nothing of the task.
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
    this.#hours = new Map()
    if (counted.length > 0) await addTaskHours(this.#options.database, counted)
    if (Date.now() - this.#cleanedAt < CLEAN_MS) return
    this.#cleanedAt = Date.now()
    await deleteTaskHours(this.#options.database, METRICS_KEPT_DAYS)
  }

  #writeQuietly(): Promise<void> {
    this.#writing = this.#writing
      .then(() => this.#addHours())
      .catch((error: unknown) => this.#options.log.warn({ err: error }, 'How tasks went could not be written down'))
    return this.#writing
  }

  metered(tasks: TaskQueue): TaskQueue {
    return new MeteredTaskQueue(tasks, (handler) => this.#timed(handler))
  }

  write(): Promise<void> {
    return this.#writeQuietly()
  }

  async clear(): Promise<number> {
    this.#hours = new Map()
    await this.#writing
    return await deleteTaskHours(this.#options.database, 0)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writeQuietly()
  }
}

class MeteredTaskQueue extends DelegatingTaskQueue {
  readonly #timed: (handler: TaskHandler) => TaskHandler

  constructor(tasks: TaskQueue, timed: (handler: TaskHandler) => TaskHandler) {
    super(tasks)
    this.#timed = timed
  }

  override handle(type: TaskType, options: { concurrency: number }, handler: TaskHandler): void {
    super.handle(type, options, this.#timed(handler))
  }
}

const emptyHour = (taskType: TaskType, hour: string): TaskHour => ({
  ...{ task_type: taskType, hour, succeeded: 0, failed: 0, retried: 0, items: 0, duration_ms: 0 },
  ...{ duration_min_ms: Number.MAX_SAFE_INTEGER, duration_max_ms: 0, wait_ms: 0 },
  ...{ durations: Array.from({ length: CLASSES }, () => 0), last_error: null, last_error_at: null },
})
