import type { Knex } from 'knex'
import { select } from '#core/database/select.ts'
import type { PageSource } from '#core/fields/analysis.ts'
import { READING_ORDER } from '#core/fields/reading-order.ts'

/** A person of a book or a series; roles as in the metadata. */
export interface Person {
  name: string
  role: string
}

/** What client apps show of a book besides its record. */
export interface BookDetail {
  /** The exact number, if known. */
  number: number | null
  /** From 1, in the reading order of its series; null if the book has a number. */
  position: number | null
  /** ISO 8601. */
  fileModifiedAt: string
  pageSource: PageSource
  state: 'pending' | 'analyzed' | 'failed'
  isOneshot: boolean
  authors: Person[]
  isbns: string | null
  summary: string | null
  year: number | null
  month: number | null
  day: number | null
  tags: string[]
  links: { source: string; url: string }[]
  /** Names of locked fields. */
  locks: ReadonlySet<string>
  metadataCreatedAt: string
  metadataUpdatedAt: string
}

type DetailRow = Pick<BookDetail, 'state' | 'isbns' | 'summary' | 'year' | 'month' | 'day' | 'tags' | 'links'> & {
  id: string
  series_id: string
  number: string | number | null
  mtime_ms: string | number
  page_source: PageSource
  oneshot: boolean
  authors: Person[] | null
  locks: string[] | null
  metadata_created: Date
  metadata_updated: Date
}

/** Details of books by id, in one statement, or two if some have no number. The caller must have checked that they are visible. */
export async function listBookDetails(database: Knex, ids: readonly string[]): Promise<Map<string, BookDetail>> {
  if (ids.length === 0) return new Map()
  const rows = await select<DetailRow>(
    database.raw(
      `SELECT b.id, b.series_id, b.number, div(b.file_mtime_ns, 1000000) AS mtime_ms, b.page_source, b.state,
       s.oneshot, m.authors, m.isbns, m.summary, m.year, m.month, m.day, m.locks,
       coalesce(m.created_at, b.created_at) AS metadata_created, greatest(m.updated_at, b.updated_at) AS metadata_updated,
       ARRAY(SELECT n.name FROM book_tags x JOIN tags n ON n.id = x.tag_id WHERE x.book_id = b.id ORDER BY n.name) AS tags,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('source', l.source, 'url', l.url) ORDER BY l.source), '[]')
        FROM book_external_links l WHERE l.book_id = b.id) AS links
     FROM books b JOIN series s ON s.id = b.series_id LEFT JOIN book_metadata m ON m.book_id = b.id
     WHERE b.id = ANY(CAST(? AS uuid[]))`,
      [[...ids]],
    ),
  )
  const positions = await listPositions(
    database,
    rows.filter(({ number }) => number === null),
  )
  return new Map(rows.map((row) => [row.id, detailOf(row, positions.get(row.id) ?? null)]))
}

/** Positions in the reading order of their series; each series is sorted once. */
async function listPositions(database: Knex, books: readonly Pick<DetailRow, 'id' | 'series_id'>[]): Promise<Map<string, number>> {
  if (books.length === 0) return new Map()
  const rows = await select<{ id: string; position: string | number }>(
    database.raw(
      `SELECT id, position FROM (
       SELECT books.id, row_number() OVER (PARTITION BY books.series_id ORDER BY ${READING_ORDER}) AS position
       FROM books WHERE books.series_id = ANY(CAST(:seriesIds AS uuid[])) AND (books.deleted_at IS NULL OR books.id = ANY(CAST(:ids AS uuid[])))
     ) AS ordered WHERE id = ANY(CAST(:ids AS uuid[]))`,
      { seriesIds: [...new Set(books.map(({ series_id }) => series_id))], ids: books.map(({ id }) => id) },
    ),
  )
  return new Map(rows.map(({ id, position }) => [id, Number(position)]))
}

function detailOf(row: DetailRow, position: number | null): BookDetail {
  return {
    number: row.number === null ? null : Number(row.number),
    position,
    fileModifiedAt: new Date(Number(row.mtime_ms)).toISOString(),
    pageSource: row.page_source,
    state: row.state,
    isOneshot: row.oneshot,
    authors: row.authors ?? [],
    isbns: row.isbns,
    summary: row.summary,
    year: row.year,
    month: row.month,
    day: row.day,
    tags: row.tags,
    links: row.links,
    locks: new Set(row.locks),
    metadataCreatedAt: row.metadata_created.toISOString(),
    metadataUpdatedAt: row.metadata_updated.toISOString(),
  }
}
