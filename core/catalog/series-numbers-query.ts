/**
 * What is kept of each series, for statements; see migrations/baseline/series-numbers.ts. Numbers that are due are computed by the statement itself, so
 * that they are exact in every snapshot.
 */

const seriesDue = (seriesId: string): string => `SELECT 1 FROM series_numbers_due d WHERE d.series_id = ${seriesId}`
const readingDue = (seriesId: string, userId: string): string =>
  `SELECT 1 FROM series_reading_due d WHERE d.user_id = ${userId} AND d.series_id = ${seriesId}`

/** Computes the numbers of the books `b` of one series; for a WHERE clause. */
export const COMPUTED = `SELECT count(*) FILTER (WHERE b.deleted_at IS NULL)::int AS book_count, count(*) FILTER (WHERE b.deleted_at IS NOT NULL)::int AS deleted_count,
    max(b.volume) FILTER (WHERE b.deleted_at IS NULL) AS max_volume, max(b.chapter) FILTER (WHERE b.deleted_at IS NULL) AS max_chapter,
    count(DISTINCT b.volume) FILTER (WHERE b.deleted_at IS NULL)::int AS volumes_owned FROM books b`

/** Computes what a user has read of the books `b` of one series, by the progress `p`; for a WHERE clause. */
export const READ = `SELECT count(*) FILTER (WHERE b.deleted_at IS NULL AND p.completed)::int AS books_read,
    count(*) FILTER (WHERE b.deleted_at IS NULL)::int AS books_begun, max(p.updated_at) AS read_at
  FROM books b JOIN read_progress p ON p.book_id = b.id`

/**
 * A subquery for LATERAL with `book_count`, `deleted_count`, `max_volume`, `max_chapter`, `volumes_owned` and `is_due`; without a row if the series never
 * had a book.
 * @param seriesId column of the series
 */
export const numbersOf = (seriesId: string): string =>
  `(SELECT n.book_count, n.deleted_count, n.max_volume, n.max_chapter, n.volumes_owned, false AS is_due FROM series_numbers n
     WHERE n.series_id = ${seriesId} AND NOT EXISTS (${seriesDue(seriesId)})
   UNION ALL
   SELECT live.*, true FROM (${seriesDue(seriesId)} LIMIT 1) AS due CROSS JOIN LATERAL (${COMPUTED} WHERE b.series_id = ${seriesId}) AS live)`

/** A subquery for LATERAL with `books_read` and `is_due`: existing books that the user has finished; without a row if there are none. */
export const readingOf = (seriesId: string, userId: string): string =>
  `(SELECT r.books_read, false AS is_due FROM series_reading r WHERE r.user_id = ${userId} AND r.series_id = ${seriesId}
     AND NOT EXISTS (${seriesDue(seriesId)}) AND NOT EXISTS (${readingDue(seriesId, userId)})
   UNION ALL
   SELECT live.books_read, true FROM (${seriesDue(seriesId)} UNION ALL ${readingDue(seriesId, userId)} LIMIT 1) AS due
     CROSS JOIN LATERAL (${READ} WHERE b.series_id = ${seriesId} AND p.user_id = ${userId}) AS live)`
