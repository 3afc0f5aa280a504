import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { findGroupBooks, listDuplicates } from '#core/catalog/duplicate-query.ts'
import { dismissBooks, PIECES, recordDuplicates } from '#core/catalog/duplicate-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { TaskAdder } from '#core/tasks/task.ts'
import { hasDueTask } from '#core/tasks/task-admin-store.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

const TYPE = 'find_duplicates'
/** Some 100 KB each time. */
const GROUPS_AT_ONCE = 1_000
/** Limit of the plain list of books: nobody looks through more, and reading a page requires reading everything before it. */
const BOOKS_LISTED_MAX = 10_000

interface Dependencies {
  database: Knex
  tasks: TaskAdder
}

/** Registers the handler with the queue; call before its start(). */
export function registerDuplicateSearch({ database, tasks }: Dependencies & { tasks: TaskQueue }): void {
  tasks.handle(TYPE, { concurrency: 1 }, async (run) => {
    const found = { groups: 0, books: 0, samePages: 0 }
    for (let piece = 0; piece < PIECES; piece++) {
      run.signal.throwIfAborted()
      const { groups, books } = await recordDuplicates(database, piece, 'content')
      found.groups += groups
      found.books += books
      found.samePages += (await recordDuplicates(database, piece, 'pages')).groups
      run.progress(piece + 1, PIECES)
    }
    return found
  })
}

/** Searches all libraries for books with the same file, or the same pages. @throws conflict while a search runs or is about to */
export async function scanDuplicates({ database, tasks }: Dependencies): Promise<{ taskId: string; message: string }> {
  if (await hasDueTask(database, TYPE))
    refuse('conflict', 'A search for duplicates is running or about to run: wait until that task has ended, or cancel it.')
  const { taskId } = await tasks.add({ type: TYPE, dedupeKey: TYPE })
  return { taskId, message: 'The search for duplicates is queued.' }
}

/**
 * Removes a group from the list until another book joins it; the books do not change.
 * @throws not_found for a group in which the caller does not see two books
 */
export async function dismissDuplicates(database: Knex, caller: Caller, groupId: string): Promise<void> {
  const bookIds = await findGroupBooks(database, caller, groupId)
  if (bookIds === null) refuse('not_found', `There is no group of duplicates ${groupId}, or you may not see it.`)
  await dismissBooks(database, groupId, bookIds)
}

/** Books of the groups, one group after the other, and the total; the first 10,000 are listed. */
export async function listDuplicateIds(
  database: Knex,
  caller: Caller,
  { offset, limit }: { offset: number; limit: number },
): Promise<{ ids: string[]; total: number }> {
  const end = Math.min(offset + limit, BOOKS_LISTED_MAX)
  const ids: string[] = []
  for (let at = 0; ; at += GROUPS_AT_ONCE) {
    const { groups, totalBooks } = await listDuplicates(database, caller, 'content', { offset: at, limit: GROUPS_AT_ONCE })
    ids.push(...groups.flatMap(({ bookIds }) => bookIds))
    if (ids.length >= end || groups.length < GROUPS_AT_ONCE) return { ids: ids.slice(offset, end), total: totalBooks }
  }
}
