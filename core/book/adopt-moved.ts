import { lstat } from 'node:fs/promises'
import type { Knex } from 'knex'
import { type BookToAnalyse, folderOf, listTwins } from '#core/book/book-store.ts'

/**
 * A new file with the content of a book whose own file is gone is that book, moved: the old row takes the new place and keeps its id, and with
 * it progress, locks and metadata; the new row goes. Answers the id of the old row, or null when nothing moved.
 */
export async function adoptMoved(database: Knex, found: BookToAnalyse, sha256: string): Promise<string | null> {
  const twins = await listTwins(database, { id: found.id, libraryId: found.library_id, sha256 })
  for (const twin of twins) {
    if (!(await isGone(twin.path))) continue
    const adopted = await database.transaction(async (trx) => await moveRow(trx, found, twin))
    if (adopted) return twin.id
  }
  return null
}

async function isGone(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return false
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR'
  }
}

async function moveRow(trx: Knex.Transaction, found: BookToAnalyse, twin: { id: string; path: string }): Promise<boolean> {
  const { rows } = await trx.raw('SELECT id, path, series_id FROM books WHERE id = ANY(?::uuid[]) ORDER BY id FOR UPDATE', [
    [found.id, twin.id],
  ])
  const locked = rows as { id: string; path: string; series_id: string }[]
  const old = locked.find((row) => row.id === twin.id && row.path === twin.path)
  const fresh = locked.find((row) => row.id === found.id && row.path === found.path)
  // Another copy of the file was quicker.
  if (!old || !fresh) return false
  const { rows: taken } = await trx.raw(
    `DELETE FROM books WHERE id = ? RETURNING path, file_name, series_id, file_size::text, file_mtime_ns::text, title, number, volume, chapter, file_format`,
    [fresh.id],
  )
  // Pending until the analysis that found it is written, a moment later; if the server dies in between, the next scan has it written.
  await trx('books')
    .where('id', old.id)
    .update({ ...taken[0], state: 'pending', deleted_at: null, updated_at: trx.fn.now() })
  // Should the file come back to where it was, it must be looked at there.
  await trx('scanned_folders')
    .where({ library_id: found.library_id, path: folderOf(found.library_path, old.path) })
    .delete()
  if (old.series_id !== fresh.series_id) await moveSeries(trx, found, { oldId: old.series_id, newId: fresh.series_id })
  return true
}

/**
 * When a folder was renamed, its series is the old one: if the old folder is gone and the new series was made by the latest scan, the old row takes
 * the new folder and all its books.
 */
async function moveSeries(trx: Knex.Transaction, found: BookToAnalyse, ids: { oldId: string; newId: string }): Promise<void> {
  const { rows } = await trx.raw(
    'SELECT id, path, title, oneshot, created_at FROM series WHERE id = ANY(?::uuid[]) ORDER BY path FOR UPDATE',
    [[ids.oldId, ids.newId]],
  )
  const series = rows as { id: string; path: string; title: string; oneshot: boolean; created_at: Date }[]
  const old = series.find((row) => row.id === ids.oldId)
  const fresh = series.find((row) => row.id === ids.newId)
  if (!old || !fresh || old.oneshot !== fresh.oneshot || !(await isGone(`${found.library_path}/${old.path}`))) return
  const scan = await trx('scans').where('library_id', found.library_id).orderBy('started_at', 'desc').first('started_at')
  if (!scan || fresh.created_at < scan.started_at) return
  await trx('books').where('series_id', fresh.id).update({ series_id: old.id })
  await trx('series').where('id', fresh.id).delete()
  await trx('series').where('id', old.id).update({ path: fresh.path, title: fresh.title, updated_at: trx.fn.now() })
}
