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

/** Announces changes of tasks in portions: a task that changed twice is announced once, in its latest state. */
export interface TaskAnnouncer {
  changed(type: TaskType, taskIds: readonly string[]): void
  /** Announces everything that is pending. */
  flush(): Promise<void>
}

export function openTaskAnnouncer({ database, announcer, log }: { database: Knex; announcer: Announcer; log: Log }): TaskAnnouncer {
  if (announcer === silentAnnouncer) return { changed() {}, async flush() {} }
  let tasks = new Set<string>()
  let analyses = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let counting: NodeJS.Timeout | undefined
  let flushing: Promise<void> = Promise.resolve()

  /** One at a time: a state that was read earlier must not be announced later. */
  function flush(): Promise<void> {
    flushing = flushing.then(flushOnce)
    return flushing
  }

  async function count(): Promise<void> {
    clearTimeout(counting)
    counting = undefined
    try {
      announcer.soon([await countQueue(database)])
    } catch (error) {
      log.debug({ err: error }, 'Could not announce the number of tasks')
    }
  }

  async function flushOnce(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const ids = [...tasks, ...[...analyses].slice(-ANALYSES_MAX)]
    tasks = new Set()
    analyses = new Set()
    if (ids.length === 0) return
    try {
      announcer.soon(await listTaskEvents(database, ids))
    } catch (error) {
      log.debug({ err: error, count: ids.length }, 'Could not announce the progress of tasks')
    }
  }

  return {
    changed(type, taskIds) {
      if (taskIds.length === 0) return
      const among = type === 'analyze_book' ? analyses : tasks
      for (const id of taskIds) among.add(id)
      timer ??= setTimeout(flush, COLLECT_MS)
      counting ??= setTimeout(count, COUNT_MS)
    },
    async flush() {
      await flush()
      if (counting !== undefined) await count()
    },
  }
}
