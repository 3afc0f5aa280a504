import type { Knex } from 'knex'
import { type Caller, isAdministrator, progressUserId } from '#core/account/caller.ts'
import type { Person } from '#core/catalog/book-detail-query.ts'
import { select } from '#core/database/select.ts'
import { type Dated, withIsoTimes } from '#core/foundation/instant.ts'

/** What client apps show of a series besides its record. Only existing books count. */
export interface SeriesDetail {
  path: string
  isOneshot: boolean
  /** Of the series, otherwise of its library. */
  readingDirection: string | null
  ageRating: number | null
  language: string | null
  status: string | null
  totalVolumeCount: number | null
  genres: string[]
  tags: string[]
  alternateTitles: { label: string; title: string }[]
  links: { source: string; url: string }[]
  /** Names of the sharing tags that restrict it; for administrators only. */
  sharingTags: string[]
  /** Names of locked fields. */
  locks: ReadonlySet<string>
  metadataCreatedAt: string
  metadataUpdatedAt: string
  readCount: number
  inProgressCount: number
  /** ISO 8601, of the file that changed last. */
  fileModifiedAt: string
  books: {
    authors: Person[]
    tags: string[]
    /** The earliest, `2024-02-29`; null if no book has one. */
    releaseDate: string | null
    /** Of the first book that has one. */
    summary: string | null
    summaryNumber: number | null
    createdAt: string
    updatedAt: string
  }
}

/** Times, summary and date of release are those of its books. */
type DetailRow = Dated<Omit<SeriesDetail, 'locks' | 'fileModifiedAt' | 'books'>, 'metadataCreatedAt' | 'metadataUpdatedAt'> &
  Dated<Omit<SeriesDetail['books'], 'authors' | 'tags'>, 'createdAt' | 'updatedAt'> & {
    id: string
    locks: string[] | null
    mtimeMs: number | null
    people: Person[] | null
    authors: Person[] | null
    bookTags: string[]
  }

const names = (table: string, column: string, from: string) =>
  `ARRAY(SELECT DISTINCT n.name FROM ${from} JOIN ${table} n ON n.id = x.${column} ORDER BY n.name)`
const PRESENT = 'b.series_id = s.id AND b.deleted_at IS NULL'
/** Dates of metadata may not exist: February 31 becomes March 2 or 3. */
const RELEASED = `CASE WHEN m.year BETWEEN 1 AND 9999 THEN make_date(m.year, coalesce(m.month, 1), 1) + (coalesce(m.day, 1) - 1) END`

/** Details of series by id, in one statement. The caller must have checked that they are visible. */
export async function listSeriesDetails(database: Knex, caller: Caller, ids: readonly string[]): Promise<Map<string, SeriesDetail>> {
  if (ids.length === 0) return new Map()
  const rows = await select<DetailRow>(
    database.raw(
      `SELECT s.id, s.path, s.oneshot AS "isOneshot", coalesce(s.reading_direction, l.default_reading_direction) AS "readingDirection",
       sm.age_rating AS "ageRating", sm.language, sm.status, sm.total_volume_count AS "totalVolumeCount", sm.locks, sm.authors AS people,
       coalesce(sm.created_at, s.created_at) AS "metadataCreatedAt", greatest(sm.updated_at, s.updated_at) AS "metadataUpdatedAt",
       ${names('genres', 'genre_id', '(SELECT * FROM series_genres WHERE series_id = s.id) x')} AS genres,
       ${names('tags', 'tag_id', '(SELECT * FROM series_tags WHERE series_id = s.id) x')} AS tags,
       CASE WHEN :isAdmin THEN ${names('sharing_tags', 'sharing_tag_id', '(SELECT * FROM series_sharing_tags WHERE series_id = s.id) x')}
         ELSE '{}' END AS "sharingTags",
       (SELECT coalesce(jsonb_agg(jsonb_build_object('label', t.label, 'title', t.title) ORDER BY t.created_at, t.id), '[]')
        FROM series_alternate_titles t WHERE t.series_id = s.id) AS "alternateTitles",
       (SELECT coalesce(jsonb_agg(jsonb_build_object('source', e.source, 'url', e.url) ORDER BY e.source), '[]')
        FROM series_external_links e WHERE e.series_id = s.id) AS links,
       (SELECT jsonb_agg(DISTINCT jsonb_build_object('name', person ->> 'name', 'role', person ->> 'role'))
        FROM books b JOIN book_metadata m ON m.book_id = b.id CROSS JOIN LATERAL jsonb_array_elements(m.authors) AS person
        WHERE ${PRESENT}) AS authors,
       ${names('tags', 'tag_id', `(SELECT t.tag_id FROM books b JOIN book_tags t ON t.book_id = b.id WHERE ${PRESENT}) x`)} AS "bookTags",
       owned.*, summarized.summary, summarized.number AS "summaryNumber"
     FROM series s JOIN libraries l ON l.id = s.library_id LEFT JOIN series_metadata sm ON sm.series_id = s.id
     CROSS JOIN LATERAL (
       SELECT count(*) FILTER (WHERE p.completed) AS "readCount", count(*) FILTER (WHERE NOT p.completed) AS "inProgressCount",
         div(max(b.file_mtime_ns), 1000000) AS "mtimeMs", to_char(min(${RELEASED}), 'YYYY-MM-DD') AS "releaseDate",
         coalesce(min(b.created_at), s.created_at) AS "createdAt",
         coalesce(max(greatest(m.updated_at, b.updated_at)), s.updated_at) AS "updatedAt"
       FROM books b LEFT JOIN book_metadata m ON m.book_id = b.id LEFT JOIN read_progress p ON p.book_id = b.id AND p.user_id = :userId
       WHERE ${PRESENT}) owned
     LEFT JOIN LATERAL (
       SELECT m.summary, b.number FROM books b JOIN book_metadata m ON m.book_id = b.id
       WHERE ${PRESENT} AND m.summary IS NOT NULL ORDER BY b.number NULLS LAST, b.id LIMIT 1) summarized ON true
     WHERE s.id = ANY(CAST(:ids AS uuid[]))`,
      { ids: [...ids], userId: progressUserId(caller), isAdmin: isAdministrator(caller) },
    ),
  )
  return new Map(rows.map(({ id, ...row }) => [id, detailOf(row)]))
}

function detailOf(row: Omit<DetailRow, 'id'>): SeriesDetail {
  const { locks, mtimeMs, people, authors, bookTags, releaseDate, summary, summaryNumber, createdAt, updatedAt, ...own } = withIsoTimes(row)
  return {
    ...own,
    locks: new Set(locks),
    fileModifiedAt: mtimeMs === null ? updatedAt : new Date(mtimeMs).toISOString(),
    books: { authors: peopleOf(authors, people), tags: bookTags, releaseDate, summary, summaryNumber, createdAt, updatedAt },
  }
}

/** The people of its books, and those of the series itself. */
function peopleOf(...lists: (Person[] | null)[]): Person[] {
  const all = lists.flatMap((people) => people ?? []).map(({ name, role }) => ({ name, role }))
  return [...new Map(all.map((person) => [JSON.stringify(person), person])).values()]
}
