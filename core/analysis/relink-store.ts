import type { Knex } from 'knex'
import { folderOf } from '#core/catalog/library-folder.ts'
import { announce, announceSeries, announceSeriesGone, bookEvent } from '#core/events/event-store.ts'

/** A new book that may be a moved one. */
export interface NewBook {
  id: string
  library_id: string
  library_path: string
  path: string
  file_name: string
}

/** Another row with the same content as a book. */
export interface Duplicate {
  id: string
  path: string
}

/** Rows per book: one of them suffices, and a file may have thousands of copies. */
const DUPLICATES_MAX = 20

/**
 * Other books of the library with the content of each of these: those marked as deleted first, since a scan has found them missing already, and among those the
 * one with the same name, so that equal files in a renamed folder stay the same books.
 */
export async function listBooksWithContent(
  database: Knex,
  found: readonly (NewBook & { sha256: string })[],
): Promise<(Duplicate & { foundId: string })[]> {
  const { rows } = await database.raw(
    `SELECT f.id AS "foundId", b.id, b.path
       FROM unnest(CAST(? AS uuid[]), CAST(? AS uuid[]), CAST(? AS text[]), CAST(? AS text[])) WITH ORDINALITY AS f (id, library_id, hash, name, n)
       CROSS JOIN LATERAL (
         SELECT id, path, deleted_at IS NULL AS lives, file_name <> f.name AS renamed FROM books
         WHERE library_id = f.library_id AND file_hash = f.hash AND id <> f.id ORDER BY lives, renamed, id LIMIT ${DUPLICATES_MAX}
       ) AS b ORDER BY f.n, b.lives, b.renamed, b.id`,
    [found.map((one) => one.id), found.map((one) => one.library_id), found.map((one) => one.sha256), found.map((one) => one.file_name)],
  )
  return rows
}

/**
 * Gives the path of a new book to the row of its duplicate; deletes the new row. Returns the series of both, or null when one of the
 * rows has changed in the meantime.
 */
export async function relinkBook(trx: Knex.Transaction, found: NewBook, duplicate: Duplicate): Promise<SeriesIds | null> {
  // One move at a time in a library: several moves of books from one renamed folder would deadlock.
  await trx.raw('SELECT 1 FROM libraries WHERE id = ? FOR NO KEY UPDATE', [found.library_id])
  const { rows } = await trx.raw('SELECT id, path, series_id FROM books WHERE id = ANY(?::uuid[]) ORDER BY id FOR UPDATE', [
    [found.id, duplicate.id],
  ])
  const locked = rows as { id: string; path: string; series_id: string }[]
  const old = locked.find((row) => row.id === duplicate.id && row.path === duplicate.path)
  const fresh = locked.find((row) => row.id === found.id && row.path === found.path)
  if (!old || !fresh) return null
  const { rows: taken } = await trx.raw(
    `DELETE FROM books WHERE id = ? RETURNING path, file_name, series_id, file_size::text, file_mtime_ns::text, retry_due, sidecars, layout_values, side, title, number, position, volume, chapter, file_format`,
    [fresh.id],
  )
  const { title, number, position, volume, chapter, ...moved } = taken[0]
  // Stored metadata has the source of the title, which the analysis compares with the new name.
  const described = await trx('book_metadata').where('book_id', old.id).first('book_id')
  const named = described ? {} : { title, number, position, volume, chapter }
  await trx('books')
    .where('id', old.id)
    .update({ ...moved, ...named, deleted_at: null, updated_at: trx.fn.now() })
  // If the file returns to its old path, the next scan must compare it there.
  await trx('scanned_folders')
    .where({ library_id: found.library_id, path: folderOf(found.library_path, old.path) })
    .delete()
  await announce(trx, [
    { event: bookEvent('book_deleted', { ...fresh, library_id: found.library_id }) },
    {
      event: {
        ...bookEvent('book_updated', { id: old.id, series_id: fresh.series_id, library_id: found.library_id }),
        fields: ['filePath', 'seriesId', 'deleted'],
      },
    },
  ])
  return { oldId: old.series_id, newId: fresh.series_id }
}

interface SeriesIds {
  oldId: string
  newId: string
}

/** Two series that may be one whose folder was renamed. */
interface SeriesPair {
  old: { id: string; path: string }
  fresh: {
    id: string
    path: string
    name_key: string
    title: string
    folder_title: string | null
    layout_title: string | null
    layout_values: object | null
  }
}

/** Locks both series; null unless they are of one kind and the new one was made by the latest scan. */
export async function lockSeriesPair(trx: Knex.Transaction, libraryId: string, ids: SeriesIds): Promise<SeriesPair | null> {
  const { rows } = await trx.raw(
    'SELECT id, path, name_key, title, folder_title, layout_title, layout_values, oneshot, created_at FROM series WHERE id = ANY(?::uuid[]) ORDER BY path FOR UPDATE',
    [[ids.oldId, ids.newId]],
  )
  const series = rows as (SeriesPair['fresh'] & { oneshot: boolean; created_at: Date })[]
  const old = series.find((row) => row.id === ids.oldId)
  const fresh = series.find((row) => row.id === ids.newId)
  if (!old || !fresh || old.oneshot !== fresh.oneshot) return null
  const scan = await trx('scans').where('library_id', libraryId).orderBy('started_at', 'desc').first('started_at')
  return scan && fresh.created_at >= scan.started_at ? { old, fresh } : null
}

/** The old series takes the folder and the books of the new one, whose row is deleted; the caller decides its title. */
export async function joinSeries(trx: Knex.Transaction, { old, fresh }: SeriesPair): Promise<void> {
  await trx('books').where('series_id', fresh.id).update({ series_id: old.id })
  const [moved] = await trx('series').where('id', old.id).select('library_id')
  const [{ sidecar, sidecar_version }] = await trx('series').where('id', fresh.id).select('sidecar', 'sidecar_version')
  await announceSeriesGone(trx, { libraryId: moved.library_id, ids: [fresh.id] }, async () => {
    await trx('series').where('id', fresh.id).delete()
    return [fresh.id]
  })
  const { path, name_key, layout_title, layout_values } = fresh
  await trx('series')
    .where('id', old.id)
    .update({ path, name_key, layout_title, layout_values, sidecar, sidecar_version, updated_at: trx.fn.now() })
  await announceSeries(trx, [old.id], ['path', 'books'])
}
