import type { Knex } from 'knex'
import { type SuspectReason, TIMES_BEFORE_ALONE, TIMES_BEFORE_REFUSED } from '#core/catalog/suspect.ts'
import { isUuid } from '#core/foundation/schema.ts'
import type { Problem } from '#core/metadata/analysis.ts'

/** What was at work, in either spelling; what is unknown by now is passed over. */
export interface Suspects {
  /** Absolute paths of files, as their books have them. */
  paths?: readonly string[]
  bookIds?: readonly string[]
}

/**
 * Counts that these files were being analyzed when something went wrong; answers how many books were named. Only what was at work on the file is
 * to be named, not a task that waits for its turn: the work register names each with the id of its book.
 *
 * Who calls it:
 * - the server when it starts, with what its watchdog wrote down before it ended the process (`server_stalled`). All that was at work is named,
 *   since nobody knows which it was. A process that was killed from outside wrote nothing down, and nothing is counted;
 * - the task that analyzes a book, when a problem in its answer carries `details.died` (see `deathProblem`). The pool only has to mark the
 *   problem so, whether it is fatal or not; it does not call this itself, or the death would count twice.
 *
 * What follows: a file that is named twice is analyzed once more with no other analysis at that time. Comes it through, all is forgotten.
 * If it does it again, that becomes an error of the book, and it is left alone until the file changes or a person asks for a retry.
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

/** What a dying process wrote down may be cut off. */

/** Remembers that the task analyzes the file with nothing else beside it: whatever is noted from now on is the file's. */
export async function beginAlone(database: Knex, bookId: string, taskId: string): Promise<void> {
  await database('book_suspects').where('book_id', bookId).update({ alone_task: taskId, times: TIMES_BEFORE_ALONE })
}

/** Forgets what was noted of books: their files came through, or are others now. */
export async function forgetSuspects(database: Knex, bookIds: readonly string[]): Promise<void> {
  await database('book_suspects')
    .whereRaw('book_id = ANY(CAST(? AS uuid[]))', [[...bookIds]])
    .delete()
}

/**
 * Writes that the file of a book is not analyzed any more. What is known of a book that was analyzed before stays; another one has failed. No
 * scan tries it again, unless it finds the file changed.
 */
export async function recordRefused(database: Knex, bookId: string, problem: Problem): Promise<void> {
  await database.raw(
    `WITH refused AS (
       UPDATE books SET state = CASE WHEN state = 'analyzed' THEN state ELSE 'failed' END, updated_at = now(),
         -- Below zero: marked for another try with each scan (see markUnread).
         file_mtime_ns = CASE WHEN file_mtime_ns < 0 THEN ~file_mtime_ns ELSE file_mtime_ns END
       WHERE id = :bookId RETURNING id, state
     )
     INSERT INTO book_errors (book_id, error_type, message, details, fatal)
     SELECT id, :type, :message, CAST(:details AS jsonb), state = 'failed' FROM refused
     ON CONFLICT (book_id, error_type) DO UPDATE
       SET message = excluded.message, details = excluded.details, fatal = excluded.fatal, occurred_at = now()`,
    { bookId, type: problem.type, message: problem.message, details: JSON.stringify(problem.details ?? null) },
  )
}
