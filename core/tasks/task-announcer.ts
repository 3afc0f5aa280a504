import type { Knex } from 'knex'
import { type Announcer, silentAnnouncer } from '#core/events/announcer.ts'
import type { Log } from '#core/foundation/log.ts'
import type { TaskType } from '#core/tasks/task.ts'
import { countQueue, listTaskEvents } from '#core/tasks/task-event-query.ts'

/** As often as progress is written. */
const COLLECT_MS = 300
/** Analyses that a second tells of: by the hundred they are told by their books, and their failures by the errors of those. */
const ANALYSES_MAX = 20
/** Counting a queue of a hundred thousand takes a twentieth of a second. */
const COUNT_MS = 2_000

/** Tells those who follow how tasks get on, some at a time: of a task that has changed twice, how it stands then. */
export interface TaskAnnouncer {
  changed(type: TaskType, taskIds: readonly string[]): void
  /** Hands on what waits. */
  flush(): Promise<void>
}

export function openTaskAnnouncer({ database, announcer, log }: { database: Knex; announcer: Announcer; log: Log }): TaskAnnouncer {
  if (announcer === silentAnnouncer) return { changed() {}, async flush() {} }
  let tasks = new Set<string>()
  let analyses = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let counting: NodeJS.Timeout | undefined
  let flushing: Promise<void> = Promise.resolve()

  /** One after the other: what was read first must not be told last. */
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
      log.debug({ err: error }, 'How many tasks there are could not be announced')
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
      log.debug({ err: error, count: ids.length }, 'How tasks get on could not be announced')
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
