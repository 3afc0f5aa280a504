import type { Knex } from 'knex'

/** A file that is new, or that has another content than its row. */
export interface FoundFile {
  /** Its row. */
  id: string
  library_id: string
  library_path: string
  path: string
  file_name: string
  sha256: string
  pagesHash: string | null
  /** What its row is about; null for a new one. */
  content: BookContent | null
}

/** A row whose content a file has. Whether its own file is elsewhere by now is not known yet. */
export interface MatchingBook {
  id: string
  libraryId: string
  seriesId: string
  libraryPath: string
  linkTargets: string[]
  /** Device numbers by folder, see migrations/0008_scans.ts. */
  devices: Record<string, number> | null
  path: string
  isDeleted: boolean
  /** Waits for its analysis. */
  isPending: boolean
  /** The version of its content: only the size, if its file has changed since. */
  bytes: string
  mtimeNs: string
  fileHash: string | null
  pagesHash: string | null
  /** Whether only the pages are equal. */
  isByPages: boolean
  /** Whether another content has replaced it. */
  isReplaced: boolean
}

/** Rows per file: one of them suffices, and a file may have thousands of copies. */
const MATCHES_MAX = 20
/** Scans of all libraries follow each other within a day; after that, a row belongs to what it holds. */
const RECENTLY = `now() - interval '1 day'`

const COLUMNS = `b.id, b.library_id AS "libraryId", b.series_id AS "seriesId", l.path AS "libraryPath", l.link_targets AS "linkTargets", l.devices, b.path, b.deleted_at IS NOT NULL AS "isDeleted",
  b.state = 'pending' AS "isPending", coalesce(CASE WHEN b.state = 'pending' THEN b.hashed_size END, b.file_size)::text AS bytes, b.file_mtime_ns::text AS "mtimeNs",
  b.file_hash AS "fileHash", b.pages_hash AS "pagesHash"`

const folderOf = (path: string) => `regexp_replace(${path}, '/[^/]*$', '')`

/**
 * Rows with the content of each of these files, or the one with equal pages, in the order in which they are to be tried: equal content before equal pages,
 * rows whose own file is known to be gone before others, then the same name, the same folder, and paths.
 */
export async function listMatches(database: Knex, found: readonly FoundFile[]): Promise<(MatchingBook & { foundId: string })[]> {
  const { rows } = await database.raw(
    `SELECT f.id AS "foundId", m.*
     FROM unnest(CAST(? AS uuid[]), CAST(? AS text[]), CAST(? AS text[]), CAST(? AS text[]), CAST(? AS text[])) WITH ORDINALITY
       AS f (id, hash, pages, path, name, n)
     CROSS JOIN LATERAL (
       SELECT ${COLUMNS}, c.by_pages AS "isByPages", c.replaced AS "isReplaced",
         row_number() OVER (ORDER BY c.by_pages, b.deleted_at IS NULL AND NOT c.replaced, b.file_name <> f.name,
           ${folderOf('b.path')} <> ${folderOf('f.path')}, b.path) AS place
       FROM (
         SELECT id, false AS by_pages, false AS replaced FROM books WHERE file_hash = f.hash
         UNION ALL SELECT book_id, false, true FROM replaced_contents WHERE file_hash = f.hash AND replaced_at > ${RECENTLY}
         UNION ALL SELECT id, true, false FROM books WHERE pages_hash = f.pages
         UNION ALL SELECT book_id, true, true FROM replaced_contents WHERE pages_hash = f.pages AND replaced_at > ${RECENTLY}
       ) AS c JOIN books b ON b.id = c.id JOIN libraries l ON l.id = b.library_id WHERE b.id <> f.id ORDER BY place LIMIT ${MATCHES_MAX}
     ) AS m ORDER BY f.n, m.place`,
    [
      found.map((one) => one.id),
      found.map((one) => one.sha256),
      // The driver's types do not allow null inside an array; PostgreSQL does.
      found.map((one) => one.pagesHash) as string[],
      found.map((one) => one.path),
      found.map((one) => one.file_name),
    ],
  )
  return rows
}

/** What the row of a book is about: its progress, ratings and metadata. */
export interface BookContent {
  fileHash: string
  pagesHash: string | null
}

/** A row that holds the content of another one. */
export interface Claimed {
  id: string
  library_id: string
  library_path: string
  path: string
  file_name: string
  /** What it is about; null for a new row. */
  content: BookContent | null
}

/** Nobody has done anything with the book. Over `b`. */
export const UNTOUCHED_BOOK = `${['read_progress', 'readings', 'annotations', 'read_list_books', 'covers']
  .map((table) => `NOT EXISTS (SELECT FROM ${table} x WHERE x.book_id = b.id)`)
  .join(' AND ')} AND NOT EXISTS (SELECT FROM book_metadata m WHERE m.book_id = b.id
    AND (m.locks <> '{}' OR EXISTS (SELECT FROM jsonb_each_text(m.sources) s WHERE s.value = 'user')))`

/**
 * The other way: a row with the content that a book had until its file was replaced; null if there is none. It got that content since the book was read
 * last, and nobody has done anything with it: the row is new, or its own content was replaced too.
 */
export async function findClaimed(
  database: Knex,
  book: { id: string; path: string; file_name: string; file_hash: string; pages_hash: string | null },
): Promise<Claimed | null> {
  const { rows } = await database.raw(
    `SELECT b.id, b.library_id, l.path AS library_path, b.path, b.file_name,
       CASE WHEN r.book_id IS NOT NULL THEN jsonb_build_object('fileHash', r.file_hash, 'pagesHash', r.pages_hash) END AS content
     FROM (
       SELECT id, false AS by_pages FROM books WHERE file_hash = :hash
       UNION ALL SELECT id, true FROM books WHERE pages_hash = :pages
     ) AS c JOIN books b ON b.id = c.id JOIN libraries l ON l.id = b.library_id JOIN books mine ON mine.id = :id
     LEFT JOIN replaced_contents r ON r.book_id = b.id AND r.replaced_at > ${RECENTLY}
     WHERE b.id <> :id AND b.deleted_at IS NULL AND b.state = 'analyzed' AND (r.book_id IS NOT NULL
       OR (b.created_at > mine.analyzed_at AND b.created_at > ${RECENTLY} AND ${UNTOUCHED_BOOK}))
     ORDER BY c.by_pages, b.file_name <> :name, ${folderOf('b.path')} <> ${folderOf('CAST(:path AS text)')}, b.path LIMIT 1`,
    { id: book.id, hash: book.file_hash, pages: book.pages_hash, name: book.file_name, path: book.path },
  )
  return rows[0] ?? null
}
