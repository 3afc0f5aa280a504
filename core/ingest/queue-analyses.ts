import type { TaskQueue } from '#core/tasks/task.ts'

/**
 * Queues books for analysis; returns how many were not queued already.
 * @param options.deep analyzes unchanged books too, and reads every page. It has its own queue entry, otherwise an ordinary one would
 *   replace it.
 */
export async function queueAnalyses(
  tasks: TaskQueue,
  libraryId: string,
  bookIds: readonly string[],
  options: { deep: boolean; force?: boolean; parentId?: string },
): Promise<number> {
  if (bookIds.length === 0) return 0
  const { deep, force = deep, parentId } = options
  const suffix = deep ? ':deep' : force ? ':force' : ''
  return await tasks.addMany(
    bookIds.map((bookId) => ({
      type: 'analyze_book',
      libraryId,
      bookId,
      ...(parentId !== undefined && { parentId }),
      dedupeKey: bookId + suffix,
      ...(force ? { params: { force, verifyPages: deep } } : {}),
    })),
  )
}
