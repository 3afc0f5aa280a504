import type { Knex } from 'knex'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import type { Log } from '#core/foundation/log.ts'
import type { TaskType } from '#core/tasks/task.ts'
import { countQueue, listTaskEvents } from '#core/tasks/task-event-query.ts'

/** The same interval at which progress is stored. */
const COLLECT_MS = 300
/** Analyses announced per second: when there are hundreds, the events of their books and errors are enough. */
const ANALYSES_MAX = 20
/** Counting a queue of a hundred thousand tasks takes a twentieth of a second. */
const COUNT_MS = 2_000

interface TaskAnnouncerOptions {
  database: Knex
  announcer: Announcer
  log: Log
}

/** Announces changes of tasks in portions: a task that changed twice is announced once, in its latest state. */
export class TaskAnnouncer {
  readonly #options: TaskAnnouncerOptions
  #tasks = new Set<string>()
  #analyses = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #counting: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(options: TaskAnnouncerOptions) {
    this.#options = options
  }

  changed(type: TaskType, taskIds: readonly string[]): void {
    if (taskIds.length === 0 || this.#options.announcer === silentAnnouncer) return
    const among = type === 'analyze_book' ? this.#analyses : this.#tasks
    for (const id of taskIds) among.add(id)
    this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS)
    this.#counting ??= setTimeout(() => this.#count(), COUNT_MS)
  }

  /** Announces everything that is pending. */
  async flush(): Promise<void> {
    await this.#flush()
    if (this.#counting !== undefined) await this.#count()
  }

  /** One at a time: a state that was read earlier must not be announced later. */
  #flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#flushOnce())
    return this.#flushing
  }

  async #count(): Promise<void> {
    const { database, announcer, log } = this.#options
    clearTimeout(this.#counting)
    this.#counting = undefined
    try {
      announcer.soon([await countQueue(database)])
    } catch (error) {
      log.debug({ err: error }, 'Could not announce the number of tasks')
    }
  }

  async #flushOnce(): Promise<void> {
    const { database, announcer, log } = this.#options
    clearTimeout(this.#timer)
    this.#timer = undefined
    const ids = [...this.#tasks, ...[...this.#analyses].slice(-ANALYSES_MAX)]
    this.#tasks = new Set()
    this.#analyses = new Set()
    if (ids.length === 0) return
    try {
      announcer.soon(await listTaskEvents(database, ids))
    } catch (error) {
      log.debug({ err: error, count: ids.length }, 'Could not announce the progress of tasks')
    }
  }
}
