import type { Knex } from 'knex'

/** The number of pieces, by the first two digits of hashes: small enough that even a million books need no long statement. */
export const PIECES = 256

const digits = (piece: number) => (piece < PIECES ? piece.toString(16).padStart(2, '0') : 'g')

/** What the books of a group have in common: the whole content of their files, or only the pages. */
export type Sameness = 'content' | 'pages'

const COLUMN = { content: 'file_hash', pages: 'pages_hash' } as const

/** SQL of the column of `books` that is equal in a group. */
export const sameColumn = (same: Sameness): string => `books.${COLUMN[same]}`

/** SQL of "more than one of these books, not all with one file". */
export const severalOf = (same: Sameness): string => `count(*) > 1${same === 'pages' ? ' AND count(DISTINCT books.file_hash) > 1' : ''}`

/** Finds books with the same content or pages, among the hashes of one piece, and replaces the stored groups; returns the numbers of groups and books. */
export async function recordDuplicates(database: Knex, piece: number, same: Sameness): Promise<{ groups: number; books: number }> {
  const hash = sameColumn(same)
  const { rows } = await database.raw(
    `WITH found AS (
       SELECT ${hash} AS file_hash, count(*)::int AS books FROM books
       WHERE ${hash} >= :from AND ${hash} < :to AND deleted_at IS NULL GROUP BY ${hash} HAVING ${severalOf(same)}
     ), gone AS (
       DELETE FROM duplicate_groups WHERE same = :same AND file_hash >= :from AND file_hash < :to AND file_hash NOT IN (SELECT file_hash FROM found)
     ), kept AS (
       INSERT INTO duplicate_groups AS g (same, file_hash, book_count) SELECT :same, file_hash, books FROM found ORDER BY file_hash
       ON CONFLICT (same, file_hash) DO UPDATE SET book_count = excluded.book_count, updated_at = now() WHERE g.book_count <> excluded.book_count
     )
     SELECT count(*)::int AS groups, coalesce(sum(books), 0)::int AS books FROM found`,
    { same, from: digits(piece), to: digits(piece + 1) },
  )
  return rows[0]
}

/** Records that these books of a group are meant to exist more than once. */
export async function dismissBooks(database: Knex, groupId: string, bookIds: readonly string[]): Promise<void> {
  await database.raw(
    `UPDATE duplicate_groups SET updated_at = now(),
       dismissed_books = dismissed_books || array(SELECT id FROM unnest(CAST(:bookIds AS uuid[])) AS id WHERE id <> ALL(dismissed_books)) WHERE id = :groupId`,
    { groupId, bookIds: [...bookIds] },
  )
}
