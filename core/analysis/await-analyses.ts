import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { TaskHandler, TaskQueue } from '#core/tasks/task.ts'
import { countParts, isCanceled } from '#core/tasks/task-store.ts'

/** Often enough for a moving progress bar; each check is one count over an index. */
const LOOK_MS = 1_000

/**
 * The handler of `analyze_books`, whose parts are the analyses of many books: reports how many are done, and ends with the last of them.
 * If canceled, it cancels the remaining ones; if the server stops, it continues with the next start.
 */
export function awaitAnalyses({ database, tasks }: { database: Knex; tasks: TaskQueue }): TaskHandler {
  return async (run) => {
    const books = Number(run.params.books)
    try {
      for (;;) {
        const { waiting, failed, cancelled } = await countParts(database, run.id)
        run.progress(Math.max(0, books - waiting), books)
        if (waiting === 0) return { books, failed, cancelled }
        await sleep(LOOK_MS, undefined, { signal: run.signal })
      }
    } finally {
      if (await isCanceled(database, run.id)) await tasks.cancelAll({ type: 'analyze_book', parentId: run.id })
    }
  }
}
