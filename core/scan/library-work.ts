import type { Knex } from 'knex'
import type { AnalysisScope } from '#core/analysis/analyze-library.ts'
import { findLibraryRow } from '#core/catalog/library-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { purgeDeleted } from '#core/scan/purge-deleted.ts'
import type { TaskQueue } from '#core/tasks/task.ts'

async function checkLibrary(database: Knex, libraryId: string): Promise<void> {
  if (!(await findLibraryRow(database, libraryId))) refuse('not_found', `There is no library ${libraryId}.`)
}

/** Queues the analysis of a library's books; returns the task that does this. @throws not_found */
export async function requestAnalysis(
  dependencies: { database: Knex; tasks: TaskQueue },
  libraryId: string,
  scope: AnalysisScope,
): Promise<{ taskId: string }> {
  await checkLibrary(dependencies.database, libraryId)
  const { taskId } = await dependencies.tasks.add({
    type: 'analyze_library',
    libraryId,
    dedupeKey: `${libraryId}:${scope}`,
    params: { scope },
  })
  return { taskId }
}

/** Purges the deleted books of a library in a task. @throws not_found */
export async function requestPurge(dependencies: { database: Knex; tasks: TaskQueue }, libraryId: string): Promise<{ taskId: string }> {
  await checkLibrary(dependencies.database, libraryId)
  const { taskId } = await dependencies.tasks.add({ type: 'purge_deleted', libraryId, dedupeKey: libraryId })
  return { taskId }
}

/** Purges the deleted books of a library immediately; returns how many. @throws not_found */
export async function purgeDeletedOf(dependencies: { database: Knex; dataFolder: string }, libraryId: string): Promise<number> {
  await checkLibrary(dependencies.database, libraryId)
  return await purgeDeleted(dependencies, libraryId)
}
