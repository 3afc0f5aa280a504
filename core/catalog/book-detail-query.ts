import type { Knex } from 'knex'
import { select } from '#core/database/select.ts'
import type { PageSource } from '#core/fields/analysis.ts'
import { READING_ORDER } from '#core/fields/reading-order.ts'
import { type Dated, withIsoTimes } from '#core/foundation/instant.ts'

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

type DetailRow = Dated<Omit<BookDetail, 'position' | 'fileModifiedAt' | 'authors' | 'locks'>, 'metadataCreatedAt' | 'metadataUpdatedAt'> & {
  id: string
  seriesId: string
  mtimeMs: number
  authors: Person[] | null
  locks: string[] | null
}

/** Details of books by id, in one statement, or two if some have no number. The caller must have checked that they are visible. */
export async function listBookDetails(database: Knex, ids: readonly string[]): Promise<Map<string, BookDetail>> {
  if (ids.length === 0) return new Map()
  const rows = await select<DetailRow>(
    database.raw(
      `SELECT b.id, b.series_id AS "seriesId", b.number, div(b.file_mtime_ns, 1000000) AS "mtimeMs", b.page_source AS "pageSource", b.state,
       s.oneshot AS "isOneshot", m.authors, m.isbns, m.summary, m.year, m.month, m.day, m.locks,
       coalesce(m.created_at, b.created_at) AS "metadataCreatedAt", greatest(m.updated_at, b.updated_at) AS "metadataUpdatedAt",
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
  return new Map(
    rows.map(({ id, seriesId: _, mtimeMs, authors, locks, ...row }): [string, BookDetail] => {
      const read = { fileModifiedAt: new Date(mtimeMs).toISOString(), authors: authors ?? [], locks: new Set(locks) }
      return [id, { ...withIsoTimes(row), ...read, position: positions.get(id) ?? null }]
    }),
  )
}

/** Positions in the reading order of their series; each series is sorted once. */
async function listPositions(database: Knex, books: readonly Pick<DetailRow, 'id' | 'seriesId'>[]): Promise<Map<string, number>> {
  if (books.length === 0) return new Map()
  const rows = await select<{ id: string; position: string | number }>(
    database.raw(
      `SELECT id, position FROM (
       SELECT books.id, row_number() OVER (PARTITION BY books.series_id ORDER BY ${READING_ORDER}) AS position
       FROM books WHERE books.series_id = ANY(CAST(:seriesIds AS uuid[])) AND (books.deleted_at IS NULL OR books.id = ANY(CAST(:ids AS uuid[])))
     ) AS ordered WHERE id = ANY(CAST(:ids AS uuid[]))`,
      { seriesIds: [...new Set(books.map(({ seriesId }) => seriesId))], ids: books.map(({ id }) => id) },
    ),
  )
  return new Map(rows.map(({ id, position }) => [id, Number(position)]))
}
