import type { Knex } from 'knex'
import { lockLibrary } from '#core/catalog/library-store.ts'

/** A file whose content is to be compared with the hash of its row. */
export interface FileToVerify {
  id: string
  path: string
  hash: string
  bytes: number
}

/** A task and its library. */
interface OfLibrary {
  libraryId: string
  taskId: string
}

/** Verifications of the library on any node; a canceled one is ending. */
const running = (database: Knex, libraryId: string): Knex.QueryBuilder =>
  database('tasks').where({ type: 'verify_library', library_id: libraryId, status: 'processing', cancel_requested: false })

/** The verification of the library that is running, on any node, and was not canceled; null if there is none. */
export async function findVerification(database: Knex, libraryId: string): Promise<string | null> {
  const row = await running(database, libraryId).orderBy('started_at').first('id')
  return row?.id ?? null
}

/** Deletes a verification that waits while another one of its library is running, whose id it returns; null when none is. */
export async function withdrawVerification(database: Knex, { libraryId, taskId }: OfLibrary): Promise<string | null> {
  const other = await running(database, libraryId).whereNot('id', taskId).orderBy('started_at').first('id')
  if (other) await database('tasks').where({ id: taskId, status: 'pending' }).delete()
  return other?.id ?? null
}

/** Records that this task reads the files of the library; false while another one does, on any node. It keeps them if it is run again after a kill. */
export async function takeFiles(database: Knex, { libraryId, taskId }: OfLibrary): Promise<boolean> {
  return await database.transaction(async (trx) => {
    await lockLibrary(trx, libraryId)
    const other = await running(trx, libraryId).whereNot('id', taskId).whereRaw(`params ->> 'isReading' = 'true'`).first('id')
    if (other) return false
    await trx('tasks')
      .where('id', taskId)
      .update({ params: trx.raw(`CAST(CAST(coalesce(params, '{}') AS jsonb) || '{"isReading": true}' AS json)`) })
    return true
  })
}

const TO_VERIFY = `FROM books b LEFT JOIN book_checks c ON c.book_id = b.id
  WHERE b.library_id = :libraryId AND b.deleted_at IS NULL AND b.file_hash IS NOT NULL AND b.state <> 'pending' AND (c.checked_at IS NULL OR c.checked_at < :before)`

/** Files that were not checked since `before`, those that wait longest first. */
export async function listFilesToVerify(database: Knex, of: { libraryId: string; before: Date; limit: number }): Promise<FileToVerify[]> {
  const { rows } = await database.raw(
    `SELECT b.id, b.path, b.file_hash AS hash, b.file_size::float8 AS bytes ${TO_VERIFY} ORDER BY c.checked_at NULLS FIRST, b.id LIMIT :limit`,
    { ...of },
  )
  return rows
}

export async function countFilesToVerify(database: Knex, of: { libraryId: string; before: Date }): Promise<number> {
  const { rows } = await database.raw(`SELECT count(*)::int AS count ${TO_VERIFY}`, { ...of })
  return rows[0].count
}

/**
 * Records that a file was compared; false when its book was deleted meanwhile.
 * @param before as of {@link listFilesToVerify}: the clock of the database may be behind, and the file is not to be listed again
 */
export async function recordCheck(database: Knex, bookId: string, before: Date): Promise<boolean> {
  const { rows } = await database.raw(
    `INSERT INTO book_checks (book_id, checked_at) SELECT id, greatest(now(), CAST(? AS timestamptz)) FROM books WHERE id = ?
     ON CONFLICT (book_id) DO UPDATE SET checked_at = excluded.checked_at RETURNING book_id`,
    [before, bookId],
  )
  return rows.length > 0
}

/** Of an error `e`, as core/analysis/analysis-to-write.ts describes it. */
const IS_ROT = `e.error_type = 'other' AND e.details ->> 'integrity' = 'true'`

/** Whether the content of the book's file changed without its size and date, and nobody has accepted it. */
export async function hasRotted(database: Knex, bookId: string): Promise<boolean> {
  const row = await database('book_errors AS e').where('e.book_id', bookId).whereRaw(IS_ROT).first('e.book_id')
  return row !== undefined
}

/** Paths of the files of these libraries that have rotted. */
export async function listRotted(database: Knex, libraryIds: readonly string[]): Promise<string[]> {
  return await database('book_errors AS e')
    .join('books AS b', 'b.id', 'e.book_id')
    .whereRaw('b.library_id = ANY(CAST(? AS uuid[]))', [[...libraryIds]])
    .whereRaw(IS_ROT)
    .orderBy('b.path')
    .pluck('b.path')
}
