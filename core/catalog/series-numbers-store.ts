import type { Knex } from 'knex'
import { COMPUTED, READ } from '#core/catalog/series-numbers-query.ts'
import { prepared } from '#core/database/prepared.ts'
import { besideRequests } from '#core/database/statement-scope.ts'

/** Any constant of our own, different from the other ones: who holds this lock computes numbers that are due. */
const COMPUTING_LOCK = 7_201_884_318
/** Marks per statement: some thousand series take a tenth of a second. */
const MARKS_MAX = 5_000

/** The oldest marks of a table, removed; none that is added meanwhile. */
const taken = (table: string) => `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} LIMIT ${MARKS_MAX}))`

/**
 * One statement, so that its marks and the books are of one snapshot: a change that it does not see keeps its mark. Rows of users whose progress is gone
 * stay with zeros.
 */
const COMPUTE = `
  WITH marked AS (${taken('series_numbers_due')} RETURNING series_id),
    pairs AS (${taken('series_reading_due')} RETURNING user_id, series_id),
    chosen AS (SELECT s.id, s.library_id FROM series s WHERE s.id IN (SELECT series_id FROM marked)),
    numbers AS (
      INSERT INTO series_numbers AS n (series_id, library_id, book_count, deleted_count, max_volume, max_chapter, volumes_owned, community_rating,
          external_rating, age_rating, tag_ids)
        SELECT c.id, c.library_id, live.book_count, live.deleted_count, live.max_volume, live.max_chapter, live.volumes_owned,
          (SELECT avg(r.rating) FROM series_user_ratings r WHERE r.series_id = c.id),
          (SELECT avg(r.rating) FROM series_external_ratings r WHERE r.series_id = c.id),
          (SELECT m.age_rating FROM series_metadata m WHERE m.series_id = c.id),
          ARRAY(SELECT t.sharing_tag_id FROM series_sharing_tags t WHERE t.series_id = c.id ORDER BY t.sharing_tag_id)
        FROM chosen c CROSS JOIN LATERAL (${COMPUTED} WHERE b.series_id = c.id) AS live ORDER BY c.id
      ON CONFLICT (series_id) DO UPDATE SET library_id = excluded.library_id, book_count = excluded.book_count, deleted_count = excluded.deleted_count,
        max_volume = excluded.max_volume, max_chapter = excluded.max_chapter, volumes_owned = excluded.volumes_owned, community_rating = excluded.community_rating,
        external_rating = excluded.external_rating, age_rating = excluded.age_rating, tag_ids = excluded.tag_ids
    ),
    readers AS (
      SELECT p.user_id, p.series_id FROM pairs p JOIN users u ON u.id = p.user_id JOIN series s ON s.id = p.series_id
      UNION SELECT r.user_id, r.series_id FROM series_reading r JOIN chosen c ON c.id = r.series_id
      UNION SELECT p.user_id, b.series_id FROM chosen c JOIN books b ON b.series_id = c.id JOIN read_progress p ON p.book_id = b.id
    ),
    reading AS (
      INSERT INTO series_reading AS r (user_id, series_id, books_read, books_begun, read_at)
        SELECT w.user_id, w.series_id, live.books_read, live.books_begun, live.read_at
        FROM readers w CROSS JOIN LATERAL (${READ} WHERE b.series_id = w.series_id AND p.user_id = w.user_id) AS live ORDER BY w.user_id, w.series_id
      ON CONFLICT (user_id, series_id) DO UPDATE SET books_read = excluded.books_read, books_begun = excluded.books_begun, read_at = excluded.read_at
    )
  SELECT greatest((SELECT count(*) FROM marked), (SELECT count(*) FROM pairs))::int AS marks`

const IS_DUE = 'SELECT EXISTS (SELECT 1 FROM series_numbers_due) OR EXISTS (SELECT 1 FROM series_reading_due) AS is_due'

/**
 * Computes the numbers of series that are due, for an order by them and for all later readers: afterwards those of every change before the call are
 * computed. If another process is at it, this waits, because that one may not see the last changes; it waits for no writer, and no writer for it.
 */
export async function computeSeriesNumbers(database: Knex): Promise<void> {
  // Marks are removed by the transaction that computes their numbers.
  const { rows } = await prepared(database.raw(IS_DUE))
  if (rows[0].is_due) await computeDue(database, 'SELECT true AS mine FROM pg_advisory_xact_lock(?)')
}

/** In short transactions of its own. @param lock selects whether the lock is `mine`; if not, somebody else computes */
async function computeDue(database: Knex, lock: string): Promise<void> {
  for (;;) {
    const marks = await database.transaction(async (trx) => {
      const { rows } = await trx.raw(lock, [COMPUTING_LOCK])
      if (!rows[0].mine) return 0
      const computed = await trx.raw(COMPUTE)
      return computed.rows[0].marks as number
    })
    if (marks < MARKS_MAX) return
  }
}

/** Until this has computed them, requests compute what is due themselves. */
export const computeSoon = besideRequests((database) => computeDue(database, 'SELECT pg_try_advisory_xact_lock(?) AS mine'))
