import type { Knex } from 'knex'
import type { ProgressRow, ReadPosition, SyncPosition } from '#core/catalog/progress.ts'
import { announceProgress } from '#core/events/event-store.ts'

/** The position of a user in a book, in one of its forms. */
interface SavedPosition {
  userId: string
  bookId: string
  position: ReadPosition
  /** The fraction of the book that the client sent with a page, if any. */
  reportedPercentage?: number | null | undefined
  /** Pages of the book, 0 when unknown. */
  pageCount: number
  /** Additional data of a progression. Of two progressions the later one counts, whatever page was recorded in between. */
  progression?: {
    locator: unknown
    /** The time of the position. */
    at: string
    /** Also refuses one with the very same time. */
    mustBeLater: boolean
  }
  /** Additional data of an e-reader. */
  syncPlace?: SyncPosition
}

/**
 * Records the position of a user in a book. A page alone contains less than an earlier record of the same position, which is then kept. Positions
 * that differ by less than half a position of a text are the same, because clients round differently.
 * @returns null for a progression that is older than the recorded one
 */
export async function saveProgress(database: Knex, saved: SavedPosition): Promise<ProgressRow | null> {
  const { position, progression, syncPlace } = saved
  return await database.transaction(async (trx) => {
    const { rows } = await trx.raw(
      `INSERT INTO read_progress AS p
       (user_id, book_id, current_page, percentage, completed, locator, progression_at, sync_place, started_at, updated_at, completed_at)
     SELECT :userId, :bookId, :page, :percentage, :completed, CAST(:locator AS jsonb), CASE WHEN :isProgression THEN t.at END,
       CAST(:syncPlace AS jsonb), t.at, t.at, CASE WHEN :completed THEN t.at END
     FROM (SELECT least(coalesce(CAST(:at AS timestamptz), now()), now()) AS at) t
     ON CONFLICT (user_id, book_id) DO UPDATE SET
       current_page = excluded.current_page, completed = excluded.completed,
       percentage = CASE WHEN p.locator IS NOT NULL AND ${SAME_POSITION} AND p.completed = excluded.completed AND :isCounted
         THEN p.percentage ELSE excluded.percentage END,
       locator = CASE WHEN :isProgression THEN excluded.locator WHEN ${SAME_POSITION} THEN p.locator END,
       progression_at = coalesce(excluded.progression_at, p.progression_at),
       sync_place = CASE WHEN excluded.sync_place IS NOT NULL THEN excluded.sync_place WHEN ${SAME_POSITION} THEN p.sync_place END,
       updated_at = greatest(p.updated_at, excluded.updated_at),
       completed_at = CASE WHEN excluded.completed THEN coalesce(p.completed_at, excluded.updated_at) END
     WHERE NOT :isProgression OR p.progression_at IS NULL OR p.progression_at < excluded.progression_at
       OR (p.progression_at = excluded.progression_at AND NOT :mustBeLater)
     RETURNING *`,
      {
        userId: saved.userId,
        bookId: saved.bookId,
        page: position.currentPage,
        percentage: position.percentage,
        completed: position.completed,
        isProgression: progression !== undefined,
        mustBeLater: progression?.mustBeLater ?? false,
        locator: progression === undefined ? null : JSON.stringify(progression.locator),
        at: progression?.at ?? null,
        syncPlace: syncPlace === undefined ? null : JSON.stringify(syncPlace),
        isCounted: progression === undefined && saved.reportedPercentage == null,
        reported: saved.reportedPercentage ?? null,
        pageCount: saved.pageCount,
      },
    )
    if (rows.length > 0) await announceProgress(trx, 'progress_updated', saved.userId, [saved.bookId])
    return rows[0] ?? null
  })
}

/**
 * Without a page count, nothing can be computed from a page or a fraction: only the same fraction, or the same page without a fraction, is the same
 * position. Fractions are compared to half a position of a text of 1,000.
 */
const SAME_POSITION = `CASE WHEN :pageCount > 0
         THEN p.current_page = excluded.current_page
           OR (p.percentage IS NOT NULL AND abs(p.percentage - CAST(:reported AS double precision)) * :pageCount < 0.5)
         ELSE abs(p.percentage - CAST(:reported AS double precision)) < 0.0005
           OR (p.percentage IS NULL AND CAST(:reported AS double precision) IS NULL AND p.current_page = excluded.current_page) END`

/** Marks books as completed; completed ones do not change. Returns how many were changed. */
export async function completeBooks(database: Knex, userId: string, bookIds: readonly string[]): Promise<number> {
  return await database.transaction(async (trx) => {
    // In one order, so that two calls never deadlock.
    const { rows } = await trx.raw(
      `INSERT INTO read_progress AS p (user_id, book_id, current_page, percentage, completed, completed_at)
     SELECT ?, b.id, greatest(b.page_count, 1), 1, true, now() FROM books b WHERE b.id = ANY(CAST(? AS uuid[])) ORDER BY b.id
     ON CONFLICT (user_id, book_id) DO UPDATE SET current_page = excluded.current_page, percentage = 1, completed = true, locator = NULL, sync_place = NULL,
       updated_at = now(), completed_at = now()
     WHERE NOT p.completed RETURNING book_id`,
      [userId, [...bookIds]],
    )
    return await announceRows(trx, 'progress_updated', userId, rows)
  })
}

/** Deletes a user's progress in books. Returns how many books had progress. */
export async function forgetProgress(database: Knex, userId: string, bookIds: readonly string[]): Promise<number> {
  return await database.transaction(async (trx) => {
    // In the order in which completeBooks writes, so that the two never deadlock.
    const { rows } = await trx.raw(
      `DELETE FROM read_progress WHERE id IN (
         SELECT id FROM read_progress WHERE user_id = ? AND book_id = ANY(CAST(? AS uuid[])) ORDER BY book_id FOR UPDATE
       ) RETURNING book_id`,
      [userId, [...bookIds]],
    )
    return await announceRows(trx, 'progress_deleted', userId, rows)
  })
}

/** Returns how many there are. */
async function announceRows(
  trx: Knex.Transaction,
  type: Parameters<typeof announceProgress>[1],
  userId: string,
  rows: readonly { book_id: string }[],
): Promise<number> {
  const ids = rows.map(({ book_id }) => book_id)
  await announceProgress(trx, type, userId, ids)
  return ids.length
}

/** Adds a series to a user's list, or removes it. */
export async function saveWantToRead(database: Knex, want: { userId: string; seriesId: string; wanted: boolean }): Promise<void> {
  const row = { user_id: want.userId, series_id: want.seriesId }
  if (want.wanted) await database('want_to_read').insert(row).onConflict(['user_id', 'series_id']).ignore()
  else await database('want_to_read').where(row).delete()
}
