import type { Knex } from 'knex'
import { UNTOUCHED_BOOK } from '#core/analysis/moved-book-query.ts'
import { announcePurged } from '#core/events/event-store.ts'

/** Nobody has done anything with the series. */
const UNTOUCHED_SERIES = `${['series_user_ratings', 'want_to_read', 'collection_series', 'series_sharing_tags', 'covers']
  .map((table) => `NOT EXISTS (SELECT FROM ${table} x WHERE x.series_id = b.series_id)`)
  .join(' AND ')} AND NOT EXISTS (SELECT FROM series_metadata m WHERE m.series_id = b.series_id
    AND (m.locks <> '{}' OR EXISTS (SELECT FROM jsonb_each_text(m.sources) s WHERE s.value = 'user')))`

/**
 * Deletes those of these missing books whose files were gone before anybody read them, such as a download that got another name: nobody could lose anything of
 * them, or of their series if there are no other books in it. Returns their series; those that are empty now are left to the caller.
 */
export async function deleteUnread(trx: Knex.Transaction, bookIds: readonly string[]): Promise<string[]> {
  const { rows } = await trx.raw(
    `DELETE FROM books b WHERE b.id = ANY(CAST(? AS uuid[])) AND b.deleted_at IS NOT NULL AND b.state = 'pending' AND b.analyzed_at IS NULL
       AND b.file_hash IS NULL AND ${UNTOUCHED_BOOK}
       AND (EXISTS (SELECT FROM books o WHERE o.series_id = b.series_id AND (o.deleted_at IS NULL OR o.analyzed_at IS NOT NULL)) OR ${UNTOUCHED_SERIES})
     RETURNING id, series_id, library_id`,
    [[...bookIds]],
  )
  await announcePurged(trx, rows)
  return rows.map(({ series_id }: { series_id: string }) => series_id)
}
