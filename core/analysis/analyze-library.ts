import type { Knex } from 'knex'
import { queueAnalyses } from '#core/analysis/analyze-book.ts'
import { listBooksToAnalyze } from '#core/catalog/library-store.ts'
import type { TaskHandler, TaskQueue } from '#core/tasks/task.ts'
import { isCanceled } from '#core/tasks/task-store.ts'

/** Which books of a library are analyzed: all of them again, or those that have not been analyzed, including failed ones. */
export type AnalysisScope = 'all' | 'unanalyzed'

/** The handler of `analyze_library`: queues the books, some thousand at a time. */
export function analyzeLibrary({ database, tasks }: { database: Knex; tasks: TaskQueue }): TaskHandler {
  return async (run) => {
    const libraryId = run.libraryId as string
    const scope: AnalysisScope = run.params.scope === 'all' ? 'all' : 'unanalyzed'
    let queued = 0
    try {
      for await (const ids of listBooksToAnalyze(database, libraryId, scope)) {
        run.signal.throwIfAborted()
        queued += await queueAnalyses(tasks, libraryId, ids, { deep: false, force: true })
        run.progress(queued, queued)
      }
    } finally {
      // If the server stops, this continues later, and queued books stay queued. If canceled, it may have queued books in the meantime.
      if (await isCanceled(database, run.id)) await tasks.cancelAll({ type: 'analyze_book', libraryId })
    }
    return { queued }
  }
}
