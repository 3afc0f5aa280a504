import type { PageCache } from '#core/reading/page-cache.ts'
import type { TaskAdder } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

const TYPE = 'cleanup_pdf_cache'
/** No user is reading a book whose pages were not requested for a month. Entries in use are limited only by bytes. */
export const UNUSED_DAYS_MAX = 30
const DAY_MS = 86_400_000

/** Registers the handler with the queue; call before its start(). The cache is that of the node that runs the task. */
export function handlePageCacheMaintenance({ tasks, cache }: { tasks: TaskQueue; cache: Pick<PageCache, 'drop'> }): void {
  tasks.handle(TYPE, { concurrency: 1 }, (run) => cache.drop(UNUSED_DAYS_MAX * DAY_MS, run))
}

/** Queues a task that deletes cache entries that were not used for a long time. */
export async function requestPageCacheMaintenance({ tasks }: { tasks: TaskAdder }): Promise<{ taskId: string; message: string }> {
  const { taskId, created } = await tasks.add({ type: TYPE, dedupeKey: TYPE })
  const message = created
    ? `A task that deletes pages unused for ${UNUSED_DAYS_MAX} days is queued.`
    : 'A task that deletes old pages is queued already.'
  return { taskId, message }
}
