import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'

/** A series as a plugin that recommends sees it, for one reader. */
export interface LibraryEntry {
  seriesId: string
  title: string
  alternateTitles: string[]
  year: number | null
  genres: string[]
  tags: string[]
  authors: string[]
  externalIds: Record<string, string>
  rating: number | null
  booksRead: number
  bookCount: number
  lastReadAt: string | null
}

/** Of one page: a library of 20,000 series never crosses the border at once. */
export const ENTRIES_PAGE = 200

/** Series that the reader may see, in the order of their ids, behind the one with the id `after`. One statement. */
export async function listLibraryEntries(database: Knex, caller: Pick<Caller, 'userId'>, after: string | null): Promise<LibraryEntry[]> {
  const chosen = database('series').modify(visibleTo(caller, 'series.id')).orderBy('series.id').limit(ENTRIES_PAGE).select('series.*')
  if (after !== null) chosen.where('series.id', '>', after)
  const { rows } = await database.raw(
    `SELECT s.id AS "seriesId", s.title, m.year,
       coalesce((SELECT jsonb_agg(a.title ORDER BY a.created_at, a.id) FROM series_alternate_titles a WHERE a.series_id = s.id), '[]') AS "alternateTitles",
       coalesce((SELECT jsonb_agg(g.name ORDER BY g.name_key) FROM series_genres j JOIN genres g ON g.id = j.genre_id WHERE j.series_id = s.id), '[]') AS genres,
       coalesce((SELECT jsonb_agg(t.name ORDER BY t.name_key) FROM series_tags j JOIN tags t ON t.id = j.tag_id WHERE j.series_id = s.id), '[]') AS tags,
       coalesce((SELECT jsonb_agg(DISTINCT p ->> 'name') FROM jsonb_array_elements(coalesce(m.authors, '[]')) p), '[]') AS authors,
       coalesce((SELECT jsonb_object_agg(e.source, e.external_id) FROM series_external_ids e WHERE e.series_id = s.id), '{}') AS "externalIds",
       (SELECT r.rating FROM series_user_ratings r WHERE r.series_id = s.id AND r.user_id = :userId) AS rating,
       read.books AS "booksRead", read.last AS "lastReadAt",
       (SELECT count(*)::int FROM books b WHERE b.series_id = s.id AND b.deleted_at IS NULL) AS "bookCount"
     FROM (:chosen) s LEFT JOIN series_metadata m ON m.series_id = s.id
     CROSS JOIN LATERAL (
       SELECT count(*) FILTER (WHERE p.completed)::int AS books, max(p.updated_at) AS last
       FROM read_progress p JOIN books b ON b.id = p.book_id WHERE b.series_id = s.id AND p.user_id = :userId) read
     ORDER BY s.id`,
    { chosen: chosen as unknown as Knex.RawBinding, userId: caller.userId },
  )
  return (rows as (Omit<LibraryEntry, 'lastReadAt'> & { lastReadAt: Date | null })[]).map((row) => ({
    ...row,
    lastReadAt: row.lastReadAt?.toISOString() ?? null,
  }))
}
