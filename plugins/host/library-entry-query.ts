import type { Knex } from 'knex'
import { visibleTo } from '#core/account/visibility.ts'

/** A series, as a recommendation plugin sees it for one user. */
export interface LibraryEntry {
  seriesId: string
  title: string
  alternateTitles: string[]
  year: number | null
  genres: string[]
  tags: string[]
  authors: string[]
  /** Its first characters. */
  summary: string | null
  language: string | null
  status: string | null
  /** ISO 8601. */
  addedAt: string
  /** From 0 to 100, the average of other services. */
  communityRating: number | null
  externalIds: Record<string, string>
  rating: number | null
  /** Books present that the user has finished. */
  booksRead: number
  /** Books that the user has started, finished or not, present or deleted. */
  booksStarted: number
  bookCount: number
  lastReadAt: string | null
  /** Users who have started it, rounded down; 0 when there are so few that they could be identified. */
  readers: number
}

/** Per page: a library of 20,000 series is never transferred at once. */
export const ENTRIES_PAGE = 200
/** Characters of a summary: the subject is in its first sentences, and 200 summaries are transferred at once. */
const SUMMARY_LENGTH_MAX = 1_000
/**
 * What plugins learn about other users is how many read a series, in whole groups of so many who have not enabled the plugin: it knows what the others
 * read, and would compute from the difference what one of these does. So it learns of nobody new until a group is complete. It learns no averages of
 * ratings: whoever is among the raters moves the average by a rating of their own, and computes from where it jumps what the others gave.
 */
const GROUP = 5

/** For whom and for what plugin a library is read. */
interface LibraryReader {
  userId: string
  pluginId: string
}

/** Series that the user may see with any key, by ascending id, after the id `after`: what a plugin computes from them is stored for the user. One statement. */
export async function listLibraryEntries(database: Knex, reader: LibraryReader, after: string | null): Promise<LibraryEntry[]> {
  const chosen = database('series')
    .modify(visibleTo({ userId: reader.userId, narrowedBy: null }, 'series.id'))
    .orderBy('series.id')
    .limit(ENTRIES_PAGE)
    .select('series.*')
  if (after !== null) chosen.where('series.id', '>', after)
  const { rows } = await database.raw(
    `SELECT s.id AS "seriesId", s.title, m.year,
       coalesce((SELECT jsonb_agg(a.title ORDER BY a.created_at, a.id) FROM series_alternate_titles a WHERE a.series_id = s.id), '[]') AS "alternateTitles",
       coalesce((SELECT jsonb_agg(g.name ORDER BY g.name_key) FROM series_genres j JOIN genres g ON g.id = j.genre_id WHERE j.series_id = s.id), '[]') AS genres,
       coalesce((SELECT jsonb_agg(t.name ORDER BY t.name_key) FROM series_tags j JOIN tags t ON t.id = j.tag_id WHERE j.series_id = s.id), '[]') AS tags,
       coalesce((SELECT jsonb_agg(DISTINCT p ->> 'name') FROM jsonb_array_elements(coalesce(m.authors, '[]')) p), '[]') AS authors,
       left(m.summary, :summaryMax) AS summary, m.language, m.status, s.created_at AS "addedAt",
       (SELECT avg(x.rating)::float8 FROM series_external_ratings x WHERE x.series_id = s.id) AS "communityRating",
       coalesce((SELECT jsonb_object_agg(e.source, e.external_id) FROM series_external_ids e WHERE e.series_id = s.id), '{}') AS "externalIds",
       (SELECT r.rating FROM series_user_ratings r WHERE r.series_id = s.id AND r.user_id = :userId) AS rating,
       read.books AS "booksRead", read.started AS "booksStarted", read.last AS "lastReadAt",
       others.readers - others.readers % :group AS readers,
       (SELECT count(*)::int FROM books b WHERE b.series_id = s.id AND b.deleted_at IS NULL) AS "bookCount"
     FROM (:chosen) s LEFT JOIN series_metadata m ON m.series_id = s.id
     CROSS JOIN LATERAL (
       SELECT count(*) FILTER (WHERE p.completed AND b.deleted_at IS NULL)::int AS books, count(*)::int AS started, max(p.updated_at) AS last
       FROM read_progress p JOIN books b ON b.id = p.book_id WHERE b.series_id = s.id AND p.user_id = :userId) read
     CROSS JOIN LATERAL (
       SELECT count(DISTINCT p.user_id)::int AS readers FROM read_progress p JOIN books b ON b.id = p.book_id
       WHERE b.series_id = s.id AND p.user_id <> :userId AND NOT EXISTS (SELECT 1 FROM user_plugins n WHERE n.plugin_id = :pluginId AND n.user_id = p.user_id)) others
     ORDER BY s.id`,
    // A query can be a named binding too, which the types of knex leave out.
    { chosen: chosen as unknown as Knex.RawBinding, ...reader, summaryMax: SUMMARY_LENGTH_MAX, group: GROUP },
  )
  return (rows as (Omit<LibraryEntry, 'addedAt' | 'lastReadAt'> & { addedAt: Date; lastReadAt: Date | null })[]).map((row) => ({
    ...row,
    addedAt: row.addedAt.toISOString(),
    lastReadAt: row.lastReadAt?.toISOString() ?? null,
  }))
}
