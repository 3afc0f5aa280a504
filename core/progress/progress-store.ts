import type { Knex } from 'knex'
import type { Place, ProgressRow } from '#core/progress/progress.ts'

/**
 * Writes where a user is in a book. Of two that come at once the later one stands.
 * @param saved.at when the reader was there; what is older than what stands is not written. Now unless given.
 * @returns null when something newer stands
 */
export async function saveProgress(
  database: Knex,
  saved: { userId: string; bookId: string; place: Place; locator?: unknown; at?: string | undefined },
): Promise<ProgressRow | null> {
  const { place } = saved
  const { rows } = await database.raw(
    `INSERT INTO read_progress AS p (user_id, book_id, current_page, percentage, completed, locator, started_at, updated_at, completed_at)
     SELECT :userId, :bookId, :page, :percentage, :completed, CAST(:locator AS jsonb), t.at, t.at, CASE WHEN :completed THEN t.at END
     FROM (SELECT least(coalesce(CAST(:at AS timestamptz), now()), now()) AS at) t
     ON CONFLICT (user_id, book_id) DO UPDATE SET
       current_page = excluded.current_page, percentage = excluded.percentage, completed = excluded.completed, locator = excluded.locator,
       updated_at = excluded.updated_at, completed_at = CASE WHEN excluded.completed THEN coalesce(p.completed_at, excluded.updated_at) END
     WHERE CAST(:at AS timestamptz) IS NULL OR p.updated_at <= excluded.updated_at
     RETURNING *`,
    {
      userId: saved.userId,
      bookId: saved.bookId,
      page: place.currentPage,
      percentage: place.percentage,
      completed: place.completed,
      locator: saved.locator === undefined ? null : JSON.stringify(saved.locator),
      at: saved.at ?? null,
    },
  )
  return rows[0] ?? null
}

/** Marks books as read to the end; those that are stay as they are. Answers how many were changed. */
export async function completeBooks(database: Knex, userId: string, bookIds: readonly string[]): Promise<number> {
  // In one order, so that two calls never wait for each other in a circle.
  const { rowCount } = await database.raw(
    `INSERT INTO read_progress AS p (user_id, book_id, current_page, percentage, completed, completed_at)
     SELECT ?, b.id, greatest(b.page_count, 1), 1, true, now() FROM books b WHERE b.id = ANY(CAST(? AS uuid[])) ORDER BY b.id
     ON CONFLICT (user_id, book_id) DO UPDATE SET current_page = excluded.current_page, percentage = 1, completed = true, locator = NULL,
       updated_at = now(), completed_at = now()
     WHERE NOT p.completed`,
    [userId, [...bookIds]],
  )
  return rowCount
}

/** Forgets what a user has read of books. Answers of how many something was known. */
export async function forgetProgress(database: Knex, userId: string, bookIds: readonly string[]): Promise<number> {
  return await database('read_progress')
    .where('user_id', userId)
    .whereRaw('book_id = ANY(CAST(? AS uuid[]))', [[...bookIds]])
    .delete()
}

/** Puts a series on a user's list, or takes it off. */
export async function saveWantToRead(database: Knex, want: { userId: string; seriesId: string; wanted: boolean }): Promise<void> {
  const row = { user_id: want.userId, series_id: want.seriesId }
  if (want.wanted) await database('want_to_read').insert(row).onConflict(['user_id', 'series_id']).ignore()
  else await database('want_to_read').where(row).delete()
}
