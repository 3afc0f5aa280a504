import type { Knex } from 'knex'
import { queueAnalyses } from '#core/analysis/analyze-book.ts'
import { followContent } from '#core/analysis/relink-moved.ts'
import { lockMoves } from '#core/analysis/relink-store.ts'
import { listCopiedMissing } from '#core/scan/moves/same-version-query.ts'
import type { TaskAdder, TaskRun } from '#core/tasks/task.ts'

/**
 * Books that a scan has found missing after their copies: some programs move files to another disk by copying all of them first, and a scan may see both.
 * Each follows its content. Returns how many.
 */
export async function followMissing(
  { database, tasks }: { database: Knex; tasks: TaskAdder },
  { libraryId, since, run }: { libraryId: string; since: Date; run: TaskRun },
): Promise<number> {
  let followed = 0
  for (const bookId of await listCopiedMissing(database, libraryId, since)) {
    run.signal.throwIfAborted()
    const moved = await database.transaction(async (trx) => {
      await lockMoves(trx)
      return await followContent(trx, bookId)
    })
    if (moved.length === 0) continue
    followed += 1
    await queueAnalyses(tasks, libraryId, moved, { deep: false })
  }
  return followed
}
