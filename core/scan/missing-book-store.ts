import type { Knex } from 'knex'
import { lockMoves } from '#core/analysis/relink-store.ts'
import { deleteSeriesWhenEmpty } from '#core/catalog/library-content-store.ts'
import { eachById } from '#core/database/each-by-id.ts'
import { announceBooks } from '#core/events/event-store.ts'
import { markBooksChanged } from '#core/metadata/series-aggregate-store.ts'
import { deleteUnread } from '#core/scan/moves/unread-store.ts'

/** Rows per step through a library; keeps a statement around a megabyte. */
const PAGE = 2_000

/** A book that a scan may find missing. */
export interface PresentBook {
  id: string
  path: string
  file_size: string | number
  provisional: boolean
  /** An earlier scan did not find it, and did not mark it as deleted. */
  isWithheld: boolean
}

const presentBooks = (database: Knex, { id, path }: { id: string; path: string }, part: string) => {
  const present = database('books').where('library_id', id).whereNull('deleted_at')
  return part === '' ? present : present.where('path', '>', `${path}/${part}/`).where('path', '<', `${path}/${part}0`)
}

/** How many books a part of a library has that are not deleted. */
export async function countPresentIn(database: Knex, library: { id: string; path: string }, part: string): Promise<number> {
  return Number((await presentBooks(database, library, part).count({ count: '*' }).first())?.['count'])
}

/** Iterates over the books that are not deleted, some thousand at a time. @param part the folder, relative to the library; '' for all of it */
export function eachPresentBook(database: Knex, library: { id: string; path: string }, part: string): AsyncGenerator<PresentBook[]> {
  const query = presentBooks(database, library, part).select(
    'id',
    'path',
    'file_size',
    'provisional',
    database.raw('missing_why IS NOT NULL AS "isWithheld"'),
  )
  return eachById<PresentBook>(query, PAGE)
}

interface LostBook {
  id: string
  path: string
  why: 'file' | 'folder'
  /** A user has said that it is gone for good. */
  isConfirmed: boolean
}

/**
 * Marks books whose files are missing; returns how many. Those that were never read are deleted instead. Skips a book that has another path by now: an analysis has found its file
 * elsewhere while the scan was looking.
 */
export async function markDeleted(database: Knex, books: readonly LostBook[]): Promise<number> {
  if (books.length === 0) return 0
  const { marked, seriesIds } = await database.transaction(async (trx) => {
    await lockMoves(trx)
    const { rows } = await trx.raw(
      `UPDATE books b SET deleted_at = now(), updated_at = now(), missing_since = coalesce(b.missing_since, now()), missing_why = gone.why,
         loss_confirmed = gone.confirmed
       FROM unnest(CAST(? AS uuid[]), CAST(? AS text[]), CAST(? AS text[]), CAST(? AS boolean[])) AS gone (id, path, why, confirmed)
       WHERE b.id = gone.id AND b.path = gone.path AND b.deleted_at IS NULL RETURNING b.id`,
      [books.map(({ id }) => id), books.map(({ path }) => path), books.map(({ why }) => why), books.map(({ isConfirmed }) => isConfirmed)],
    )
    const ids = rows.map(({ id }: { id: string }) => id)
    await markBooksChanged(
      trx,
      books.map(({ id }) => id),
    )
    const unread = await deleteUnread(trx, ids)
    await announceBooks(trx, ids, ['deleted'])
    return { marked: ids.length - unread.length, seriesIds: new Set(unread) }
  })
  // After the transaction: its order of locks is series first.
  for (const id of seriesIds) await deleteSeriesWhenEmpty(database, id)
  return marked
}

/** Records that these books are missing, without marking them as deleted. */
export async function markWithheld(database: Knex, books: readonly PresentBook[]): Promise<void> {
  const fresh = books.filter(({ isWithheld }) => !isWithheld)
  if (fresh.length === 0) return
  await database.transaction(async (trx) => {
    await lockMoves(trx)
    await trx.raw(
      `UPDATE books b SET missing_since = now(), missing_why = 'withheld'
       FROM unnest(CAST(? AS uuid[]), CAST(? AS text[])) AS gone (id, path) WHERE b.id = gone.id AND b.path = gone.path AND b.deleted_at IS NULL`,
      [fresh.map(({ id }) => id), fresh.map(({ path }) => path)],
    )
  })
}

/** The files of books that were withheld are there again. @param books null for all of the library */
export async function unmarkWithheld(database: Knex, libraryId: string, books: readonly { id: string }[] | null): Promise<void> {
  await database.transaction(async (trx) => {
    await lockMoves(trx)
    const back = trx('books').where({ library_id: libraryId, missing_why: 'withheld' })
    if (books) back.whereRaw('id = ANY(CAST(? AS uuid[]))', [books.map(({ id }) => id)])
    await back.update({ missing_since: null, missing_why: null })
  })
}

/** A user has confirmed that the missing books of the library are gone for good. */
export async function confirmLosses(database: Knex, libraryId: string): Promise<void> {
  await database('books')
    .where({ library_id: libraryId, loss_confirmed: false })
    .whereNotNull('deleted_at')
    .update({ loss_confirmed: true })
}

/** Folders of books that a scan may purge, absolute, except those whose loss was confirmed or that are missing for long. */
export async function listPurgeFolders(database: Knex, libraryId: string, days: number): Promise<string[]> {
  const { rows } = await database.raw(
    `SELECT DISTINCT regexp_replace(path, '/[^/]*$', '') AS folder FROM books
     WHERE library_id = ? AND deleted_at IS NOT NULL AND missed_by IS NOT NULL AND NOT loss_confirmed AND missing_since > now() - make_interval(days => ?)`,
    [libraryId, days],
  )
  return rows.map(({ folder }: { folder: string }) => folder)
}
