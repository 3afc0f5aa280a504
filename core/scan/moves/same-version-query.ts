import type { Knex } from 'knex'
import type { LibraryFile } from '#core/fields/analysis.ts'

/** Files per new one: a copy that keeps the time has the same, and there are few. */
const SAME_MAX = 5

/** An age, or none because a person has cleared it. */
const IS_RATED = `(age_rating IS NOT NULL OR 'ageRating' = ANY(locks))`

/**
 * Other files with the size and time of these new ones, in series with sharing tags or an age rating of a person: their paths and series, and the path and series
 * of the new file.
 */
export async function listSameVersions(
  database: Knex,
  bookIds: readonly string[],
): Promise<(Required<LibraryFile> & { seriesId: string; now: { root: string; path: string }; to: string })[]> {
  const { rows } = await database.raw(
    `SELECT o.path, l.path AS root, l.link_targets AS "linkTargets", o.series_id AS "seriesId", mine.series_id AS "to",
       jsonb_build_object('root', my.path, 'path', mine.path) AS "now"
     FROM (SELECT id, library_id, series_id, path, file_size, file_mtime_ns FROM books WHERE id = ANY(CAST(? AS uuid[]))
       AND (EXISTS (SELECT 1 FROM series_sharing_tags) OR EXISTS (SELECT 1 FROM series_metadata WHERE ${IS_RATED})) OFFSET 0) AS mine
     CROSS JOIN LATERAL (SELECT * FROM books b WHERE b.file_size = mine.file_size AND b.file_mtime_ns = mine.file_mtime_ns
       AND b.series_id <> mine.series_id LIMIT ${SAME_MAX} OFFSET 0) AS o
     JOIN libraries l ON l.id = o.library_id JOIN libraries my ON my.id = mine.library_id
     WHERE EXISTS (SELECT 1 FROM series_sharing_tags t WHERE t.series_id = o.series_id)
       OR EXISTS (SELECT 1 FROM series_metadata m WHERE m.series_id = o.series_id AND ${IS_RATED})`,
    [[...bookIds]],
  )
  return rows
}

/**
 * Books of a library that were marked as missing since then, and whose content or pages a newer book of any library has. Not those whose own file may be a new
 * one that is not analyzed yet: it knows whose it is.
 */
export async function listCopiedMissing(database: Knex, libraryId: string, since: Date): Promise<string[]> {
  const isCopy = `b.deleted_at IS NULL AND b.state = 'analyzed' AND b.created_at > m.analyzed_at`
  const { rows } = await database.raw(
    `SELECT m.id FROM books m WHERE m.library_id = ? AND m.deleted_at >= ? AND m.file_hash IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM books n WHERE n.file_size = m.file_size AND n.state = 'pending' AND n.file_hash IS NULL AND n.deleted_at IS NULL)
       AND (EXISTS (SELECT 1 FROM books b WHERE b.file_hash = m.file_hash AND ${isCopy})
         OR EXISTS (SELECT 1 FROM books b WHERE b.pages_hash = m.pages_hash AND ${isCopy})) ORDER BY m.path`,
    [libraryId, since],
  )
  return rows.map(({ id }: { id: string }) => id)
}
