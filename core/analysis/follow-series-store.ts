import type { Knex } from 'knex'
import type { LinkedSeries } from '#core/analysis/relink-store.ts'
import { announceSeries, announceSeriesGone } from '#core/events/event-store.ts'
import { passProtection } from '#core/metadata/protection-store.ts'

/** What belongs to the place of a series. */
interface SeriesRow {
  id: string
  library_id: string
  path: string
  name_key: string
  title: string
  folder_title: string | null
  layout_title: string | null
  layout_values: object | null
  sidecar: object | null
  sidecar_version: string | null
}

/** Two series that may be one whose folder was renamed, or moved to another library. */
interface SeriesPair {
  old: SeriesRow
  fresh: SeriesRow
}

/** Locks both series; null unless they are of one kind, and the new one was made by the latest scan, after the old one. */
export async function lockSeriesPair(trx: Knex.Transaction, ids: LinkedSeries): Promise<SeriesPair | null> {
  const { rows } = await trx.raw(
    `SELECT id, library_id, path, name_key, title, folder_title, layout_title, layout_values, sidecar, sidecar_version, oneshot, created_at
     FROM series WHERE id = ANY(CAST(? AS uuid[])) ORDER BY id FOR UPDATE`,
    [[ids.oldId, ids.newId]],
  )
  const series = rows as (SeriesRow & { oneshot: boolean; created_at: Date })[]
  const old = series.find((row) => row.id === ids.oldId)
  const fresh = series.find((row) => row.id === ids.newId)
  if (!old || !fresh || old.oneshot !== fresh.oneshot || old.created_at >= fresh.created_at) return null
  const scan = await trx('scans').where('library_id', fresh.library_id).orderBy('started_at', 'desc').first('started_at')
  return scan && fresh.created_at >= scan.started_at ? { old, fresh } : null
}

/** Whether a book of the series is where it was, as far as scans have seen. */
export async function hasPresentBooks(trx: Knex, seriesId: string): Promise<boolean> {
  const book = await trx('books').where('series_id', seriesId).whereNull('deleted_at').whereNull('missing_why').first('id')
  return book !== undefined
}

/**
 * The old series takes the place and the books of the new one; the caller decides its title. Its own books that have not come along, because they are missing,
 * stay in their library, in a series that has the place of the old one.
 */
export async function joinSeries(trx: Knex.Transaction, { old, fresh }: SeriesPair): Promise<void> {
  await trx('series')
    .where('id', fresh.id)
    .update({ name_key: trx.raw('chr(1) || id') })
  const isLeaving = old.library_id !== fresh.library_id
  // Books of a hidden series may have come to the new one before.
  await passProtection(trx, [{ seriesId: fresh.id, to: old.id }], { isChange: false, isMove: true })
  await trx('books').where('series_id', fresh.id).update({ series_id: old.id })
  const missing = isLeaving
    ? await trx('books').where({ series_id: old.id, library_id: old.library_id }).update({ series_id: fresh.id })
    : 0
  await trx('series')
    .where('id', old.id)
    .update({ ...placeOf(fresh), library_id: fresh.library_id, updated_at: trx.fn.now() })
  if (missing > 0) {
    const { library_id, title, folder_title } = old
    await trx('series')
      .where('id', fresh.id)
      .update({ ...placeOf(old), library_id, title, folder_title })
    await passProtection(trx, [{ seriesId: old.id, to: fresh.id }], { isChange: false })
    await announceSeries(trx, [fresh.id], ['path', 'books', 'libraryId'])
  } else await deleteEmpty(trx, fresh)
  await announceSeries(trx, [old.id], isLeaving ? ['path', 'books', 'libraryId'] : ['path', 'books'])
}

const placeOf = ({ path, name_key, layout_title, layout_values, sidecar, sidecar_version }: SeriesRow) => ({
  path,
  name_key,
  layout_title,
  layout_values,
  sidecar,
  sidecar_version,
})

async function deleteEmpty(trx: Knex.Transaction, { id, library_id }: { id: string; library_id: string }): Promise<void> {
  await announceSeriesGone(trx, { libraryId: library_id, ids: [id] }, async () => {
    const { rows } = await trx.raw(
      'DELETE FROM series s WHERE id = ? AND NOT EXISTS (SELECT 1 FROM books WHERE series_id = s.id) RETURNING id',
      [id],
    )
    return rows.map((row: { id: string }) => row.id)
  })
}

/** The last book of a series has moved to another library: nothing of it is left, not even missing books. */
export async function deleteLeftSeries(trx: Knex.Transaction, { oldId, newId }: LinkedSeries): Promise<void> {
  const { rows } = await trx.raw(
    `SELECT o.id, o.library_id FROM series o JOIN series n ON n.id = ? AND n.library_id <> o.library_id
     WHERE o.id = ? AND NOT EXISTS (SELECT 1 FROM books b WHERE b.series_id = o.id)`,
    [newId, oldId],
  )
  for (const left of rows) await deleteEmpty(trx, left)
}
