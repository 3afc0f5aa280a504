import type { Knex } from 'knex'
import type { ProgressRow, ReadPosition, SyncPosition } from '#core/catalog/progress.ts'
import { announceOwn, announceProgress } from '#core/events/event-store.ts'

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
  /** What recorded it, for people: the name of a device or app, or else of the API key with this id. */
  from?: { app?: string | undefined; apiKeyId?: string | null }
  /**
   * The time of the record from which the client started, null for none. A later record of another position is then kept, and the times of
   * progressions do not count: clocks of devices may be wrong.
   */
  basedOn?: Date | null | undefined
}

/** Names of devices and keys are short; progressions allow more. */
const APP_LENGTH_MAX = 100

/**
 * Records the position of a user in a book. A page alone contains less than an earlier record of the same position, which is then kept. Positions
 * that differ by less than half a position of a text are the same, because clients round differently. The time of the record grows with every other
 * position, also if that has an earlier time: clients compare by it.
 * @returns null for a progression that is older than the recorded one, and for a position that is based on an older record than the recorded one
 */
export async function saveProgress(database: Knex, saved: SavedPosition): Promise<ProgressRow | null> {
  const { position, progression, syncPlace, basedOn, from = {} } = saved
  const isBased = basedOn !== undefined
  return await database.transaction(async (trx) => {
    const { rows } = await trx.raw(
      `INSERT INTO read_progress AS p
       (user_id, book_id, current_page, percentage, completed, locator, progression_at, sync_place, started_at, updated_at, completed_at, app)
     SELECT :userId, :bookId, :page, :percentage, :completed, CAST(:locator AS jsonb), CASE WHEN :isProgression THEN t.at END,
       CAST(:syncPlace AS jsonb), t.at, t.at, CASE WHEN :completed THEN t.at END,
       coalesce(CAST(:app AS text), (SELECT left(k.name, ${APP_LENGTH_MAX}) FROM api_keys k WHERE k.id = CAST(:apiKeyId AS uuid)))
     FROM (SELECT least(coalesce(CAST(:at AS timestamptz), now()), now()) AS at) t
     ON CONFLICT (user_id, book_id) DO UPDATE SET
       current_page = excluded.current_page, completed = excluded.completed,
       percentage = CASE WHEN p.locator IS NOT NULL AND ${SAME_POSITION} AND p.completed = excluded.completed AND :isCounted
         THEN p.percentage ELSE excluded.percentage END,
       locator = CASE WHEN :isProgression THEN excluded.locator WHEN ${SAME_POSITION} THEN p.locator END,
       progression_at = coalesce(excluded.progression_at, p.progression_at),
       sync_place = CASE WHEN excluded.sync_place IS NOT NULL THEN excluded.sync_place WHEN ${SAME_POSITION} THEN p.sync_place END,
       updated_at = greatest(p.updated_at + CASE WHEN ${SAME_POSITION} THEN interval '0' ELSE interval '1 millisecond' END, excluded.updated_at), app = excluded.app,
       completed_at = CASE WHEN excluded.completed THEN coalesce(p.completed_at, excluded.updated_at) END
     WHERE CASE WHEN :isBased THEN date_trunc('milliseconds', p.updated_at) <= CAST(:basedOn AS timestamptz) OR ${SAME_POSITION}
       ELSE NOT :isProgression OR p.progression_at IS NULL OR p.progression_at < excluded.progression_at
         OR (p.progression_at = excluded.progression_at AND NOT :mustBeLater) END
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
        at: isBased ? null : (progression?.at ?? null),
        isBased,
        basedOn: basedOn?.toISOString() ?? null,
        app: from.app?.slice(0, APP_LENGTH_MAX).toWellFormed() || null,
        apiKeyId: from.apiKeyId ?? null,
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
       updated_at = now(), completed_at = now(), app = NULL
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
  await database.transaction(async (trx) => {
    const changed: unknown[] = want.wanted
      ? await trx('want_to_read').insert(row).onConflict(['user_id', 'series_id']).ignore().returning('series_id')
      : await trx('want_to_read').where(row).delete().returning('series_id')
    if (changed.length > 0) await announceOwn(trx, 'want_to_read_updated', want)
  })
}
