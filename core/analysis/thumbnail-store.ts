import type { Knex } from 'knex'
import { coverColumnsOf } from '#core/analysis/book-store.ts'
import { BOOK_FILTER } from '#core/catalog/readable-book-query.ts'
import type { StoredCover } from '#core/covers/cover.ts'
import { announceCoverChange } from '#core/events/event-store.ts'
import type { FileFilter } from '#core/fields/analysis.ts'
import { READING_ORDER } from '#core/fields/reading-order.ts'

/** A book whose thumbnail can be rendered: its file existed and was readable at its last analysis. */
export interface ThumbnailBook {
  id: string
  path: string
  libraryPath: string
  linkTargets: string[]
  filter: FileFilter
  bytes: string
  mtimeNs: string
  coverHash: string | null
  /** Whether the cover is locked. */
  isLocked: boolean
}

/** Which books or series; absent members do not restrict. */
export interface ThumbnailScope {
  bookIds?: readonly string[] | undefined
  seriesIds?: readonly string[] | undefined
  libraryId?: string | undefined
}

const any = (column: string, ids: readonly string[]): [string, string[][]] => [`${column} = ANY(CAST(? AS uuid[]))`, [[...ids]]]

function booksOf(database: Knex, { bookIds, seriesIds, libraryId }: ThumbnailScope): Knex.QueryBuilder {
  const query = database('books').where('books.state', 'analyzed').whereNull('books.deleted_at')
  if (bookIds) query.whereRaw(...any('books.id', bookIds))
  if (seriesIds) query.whereRaw(...any('books.series_id', seriesIds))
  if (libraryId) query.where('books.library_id', libraryId)
  return query
}

/** Series that show the cover of a book, not one that a user chose for them. */
function seriesOf(database: Knex, { seriesIds, libraryId }: ThumbnailScope): Knex.QueryBuilder {
  const query = database('series').whereRaw('NOT EXISTS (SELECT 1 FROM covers c WHERE c.series_id = series.id AND c.is_selected)')
  if (seriesIds) query.whereRaw(...any('series.id', seriesIds))
  if (libraryId) query.where('series.library_id', libraryId)
  return query
}

export const recordsOf = (database: Knex, of: 'books' | 'series', scope: ThumbnailScope): Knex.QueryBuilder =>
  of === 'books' ? booksOf(database, scope) : seriesOf(database, scope)

/** How many of them exist. */
export async function countThumbnails(database: Knex, of: 'books' | 'series', scope: ThumbnailScope): Promise<number> {
  const row = await recordsOf(database, of, scope).count({ count: '*' }).first()
  return Number(row?.count)
}

/** For each series the book whose cover represents it, or would if it had one. */
export async function listCoverBookIds(database: Knex, seriesIds: readonly string[]): Promise<string[]> {
  const { rows } = await database.raw(
    `SELECT first.id FROM unnest(CAST(? AS uuid[])) AS s (id) CROSS JOIN LATERAL (
       SELECT books.id FROM books WHERE books.series_id = s.id AND books.deleted_at IS NULL AND books.state = 'analyzed'
       ORDER BY books.cover_hash IS NULL, ${READING_ORDER} LIMIT 1) AS first`,
    [[...seriesIds]],
  )
  return (rows as { id: string }[]).map(({ id }) => id)
}

export async function listThumbnailBooks(database: Knex, bookIds: readonly string[]): Promise<ThumbnailBook[]> {
  return await booksOf(database, { bookIds })
    .join('libraries AS l', 'l.id', 'books.library_id')
    .leftJoin('book_metadata AS m', 'm.book_id', 'books.id')
    .select('books.id', 'books.path', 'l.path AS libraryPath', 'l.link_targets AS linkTargets', 'books.cover_hash AS coverHash')
    .select(
      database.raw(
        `books.file_size::text AS bytes, books.file_mtime_ns::text AS "mtimeNs", coalesce('cover' = ANY(m.locks), false) AS "isLocked",
          ${BOOK_FILTER} AS filter`,
      ),
    )
}

/** Records the cover of a book whose file has not changed in the meantime; false if it has, or if the book was deleted. */
export async function recordThumbnail(
  trx: Knex.Transaction,
  { book, cover, isWhole }: { book: ThumbnailBook; cover: StoredCover; isWhole: boolean },
): Promise<boolean> {
  const { rows } = await trx.raw(
    `WITH updated AS (
       UPDATE books SET cover_hash = :cover_hash, cover_width = :cover_width, cover_height = :cover_height, cover_color = :cover_color,
         cover_page = :cover_page, updated_at = now()
       WHERE id = :bookId AND file_mtime_ns = CAST(:mtimeNs AS bigint) AND file_size = CAST(:bytes AS bigint) RETURNING id
     ), cleared AS (
       DELETE FROM book_errors WHERE :isWhole AND error_type = 'thumbnail' AND book_id IN (SELECT id FROM updated)
     ) SELECT id FROM updated`,
    { ...coverColumnsOf(cover), isWhole, bookId: book.id, mtimeNs: book.mtimeNs, bytes: book.bytes },
  )
  if (rows.length > 0 && cover.hash !== book.coverHash) await announceCoverChange(trx, { kind: 'book', id: book.id })
  return rows.length > 0
}
