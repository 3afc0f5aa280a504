import type { Knex } from 'knex'
import type { BookContent } from '#core/analysis/moved-book-query.ts'
import { announceProgress } from '#core/events/event-store.ts'

/** Its time grows, because clients compare by it; but nobody has read anything, so the rest of the history stays (see migrations/0010_moves.ts). */
async function changePositions(
  trx: Knex.Transaction,
  bookId: string,
  change: () => Promise<readonly { user_id: string }[]>,
): Promise<void> {
  await trx.raw(`SELECT set_config('carrel.cuts_progress', 'on', true)`)
  const users = await change()
  await trx.raw(`SELECT set_config('carrel.cuts_progress', '', true)`)
  for (const { user_id } of users) await announceProgress(trx, 'progress_updated', user_id, [bookId])
}

/**
 * The file of a book has another content now: progress beyond its last page is cut to that. What was read to the end stays read; nothing else becomes so.
 * The old content is remembered, in case it turns up elsewhere.
 * @param pageCount 0 for a file that could not be read, which changes no progress
 */
export async function recordReplaced(trx: Knex.Transaction, bookId: string, was: BookContent, pageCount: number): Promise<void> {
  await trx.raw(`DELETE FROM replaced_contents WHERE replaced_at < now() - interval '1 day'`)
  const { rows } = await trx.raw(`SELECT id FROM read_progress WHERE book_id = ? AND current_page > ? AND ? > 0 ORDER BY id FOR UPDATE`, [
    bookId,
    pageCount,
    pageCount,
  ])
  const ids = (rows as { id: string }[]).map(({ id }) => id)
  await trx.raw(
    `INSERT INTO replaced_contents (book_id, file_hash, pages_hash, progress)
     SELECT :bookId, :fileHash, :pagesHash, coalesce((SELECT jsonb_agg(to_jsonb(p)) FROM read_progress p WHERE p.id = ANY(CAST(:ids AS uuid[]))), '[]')
     ON CONFLICT (book_id) DO UPDATE
       SET file_hash = excluded.file_hash, pages_hash = excluded.pages_hash, progress = excluded.progress, replaced_at = excluded.replaced_at`,
    { bookId, fileHash: was.fileHash, pagesHash: was.pagesHash, ids },
  )
  if (ids.length > 0) await cutPositions(trx, bookId, pageCount)
}

/** Cuts progress beyond the last page to that. @param pageCount of the content that the book has now, above 0 */
export async function cutPositions(trx: Knex.Transaction, bookId: string, pageCount: number): Promise<void> {
  await changePositions(trx, bookId, async () => {
    const cut = await trx.raw(
      `UPDATE read_progress SET current_page = :pageCount, percentage = 1, locator = NULL, sync_place = NULL,
         updated_at = updated_at + interval '1 millisecond' WHERE book_id = :bookId AND current_page > :pageCount RETURNING user_id`,
      { pageCount, bookId },
    )
    return cut.rows
  })
}

/** If the book has its old content again, here or elsewhere: also the positions, except those that were changed since. */
export async function restoreReplaced(
  trx: Knex.Transaction,
  bookId: string,
  content: { fileHash: string; pagesHash: string | null },
): Promise<void> {
  const { rows } = await trx.raw(
    'DELETE FROM replaced_contents WHERE book_id = :bookId AND (file_hash = :fileHash OR pages_hash = :pagesHash) RETURNING progress',
    { bookId, fileHash: content.fileHash, pagesHash: content.pagesHash },
  )
  const progress = rows[0]?.progress ?? []
  if (progress.length === 0) return
  await changePositions(trx, bookId, async () => {
    const restored = await trx.raw(
      `UPDATE read_progress p SET current_page = k.current_page, percentage = k.percentage, locator = k.locator, sync_place = k.sync_place,
         updated_at = p.updated_at + interval '1 millisecond'
       FROM jsonb_populate_recordset(NULL::read_progress, CAST(? AS jsonb)) AS k
       WHERE p.id = k.id AND p.updated_at = k.updated_at + interval '1 millisecond' RETURNING p.user_id`,
      [JSON.stringify(progress)],
    )
    return restored.rows
  })
}
