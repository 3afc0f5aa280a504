import type { Knex } from 'knex'
import { type SuspectReason, TIMES_BEFORE_ALONE, TIMES_BEFORE_REFUSED } from '#core/analysis/suspect.ts'
import type { Problem } from '#core/fields/analysis.ts'
import { isUuid } from '#core/foundation/schema.ts'

/** The files that were being analyzed, in either form; unknown ones are skipped. */
interface Suspects {
  /** Absolute paths of files, as their books have them. */
  paths?: readonly string[]
  bookIds?: readonly string[]
}

/**
 * Counts that these files were being analyzed when something went wrong; returns how many books were named. Name only files that were actually being
 * analyzed, not queued tasks: the work register names each file with the id of its book.
 *
 * Callers:
 * - the server when it starts, with what its watchdog recorded before it ended the process (`server_stalled`). All files that were being analyzed are
 *   named, because nobody knows which one was the cause. A process that was killed from outside recorded nothing, and nothing is counted;
 * - the task that analyzes a book, when a problem in its answer carries `details.died` (see `deathProblem`). The pool only has to mark the
 *   problem with this, whether it is fatal or not; it does not call this itself, otherwise the death would count twice.
 *
 * Consequences: a file that was named twice is analyzed once more, alone. If that succeeds, all is deleted.
 * If it fails in the same way, that becomes an error of the book, which is not analyzed again until its file changes or a user requests a retry.
 */
export async function noteSuspects(database: Knex, suspects: Suspects, reason: SuspectReason): Promise<number> {
  const { rowCount } = await database.raw(
    `INSERT INTO book_suspects AS s (book_id, times, reason)
     SELECT b.id, 1, :reason FROM books b WHERE b.deleted_at IS NULL AND (
       b.id = ANY(CAST(:bookIds AS uuid[]))
       OR b.id IN (SELECT found.id FROM libraries place JOIN books found ON found.library_id = place.id WHERE found.path = ANY(CAST(:paths AS text[]))))
     ON CONFLICT (book_id) DO UPDATE SET reason = excluded.reason, noted_at = now(),
       times = CASE WHEN s.alone_task IS NULL THEN least(s.times + 1, :beforeAlone) ELSE :beforeRefused END`,
    {
      reason,
      bookIds: (suspects.bookIds ?? []).filter(isUuid),
      paths: (suspects.paths ?? []).filter((path) => !path.includes('\0')),
      beforeAlone: TIMES_BEFORE_ALONE,
      beforeRefused: TIMES_BEFORE_REFUSED,
    },
  )
  return rowCount
}

/** Records that the task analyzes the file alone: whatever is counted from now on was caused by this file. */
export async function beginAlone(database: Knex, bookId: string, taskId: string): Promise<void> {
  await database('book_suspects').where('book_id', bookId).update({ alone_task: taskId, times: TIMES_BEFORE_ALONE })
}

/** Deletes the counts of books: their files were analyzed successfully, or have changed. */
export async function forgetSuspects(database: Knex, bookIds: readonly string[]): Promise<void> {
  await database('book_suspects')
    .whereRaw('book_id = ANY(CAST(? AS uuid[]))', [[...bookIds]])
    .delete()
}

/**
 * Records that the file of a book is not analyzed any more. The data of a book that was analyzed before stays; otherwise the book has failed. No
 * scan retries it, unless the file has changed.
 */
export async function recordRefused(database: Knex, bookId: string, problem: Problem): Promise<void> {
  await database.raw(
    `WITH refused AS (
       UPDATE books SET state = CASE WHEN state = 'analyzed' THEN state ELSE 'failed' END, updated_at = now(), retry_due = false
       WHERE id = :bookId RETURNING id, state
     )
     INSERT INTO book_errors (book_id, error_type, message, details, fatal)
     SELECT id, :type, :message, CAST(:details AS jsonb), state = 'failed' FROM refused
     ON CONFLICT (book_id, error_type) DO UPDATE
       SET message = excluded.message, details = excluded.details, fatal = excluded.fatal, occurred_at = now()`,
    { bookId, type: problem.type, message: problem.message, details: JSON.stringify(problem.details ?? null) },
  )
}
