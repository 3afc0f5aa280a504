import type { TaskQueue } from '#core/tasks/task.ts'

/**
 * Puts books in line for analysis; answers how many were not in it already.
 * @param options.deep analyses even what has not changed, and reads every page. It has a place in line of its own, or it would be lost
 *   behind an ordinary one.
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
