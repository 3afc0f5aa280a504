import { readdir } from 'node:fs/promises'
import type { Knex } from 'knex'
import type { Viewer } from '#core/account/visibility.ts'
import { getLibraryRow } from '#core/analysis/named-records.ts'
import { deleteEmptySeries, deleteSeriesWhenEmpty, PIECE } from '#core/catalog/library-content-store.ts'
import { countMarkedBooks, deleteMarkedBooks, type LongMissed } from '#core/catalog/library-store.ts'
import { clearCoverOrphans } from '#core/covers/clear-cover-orphans.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { refuse } from '#core/foundation/errors.ts'
import { holdsNothing } from '#core/foundation/foreign-folder.ts'
import { checkVisible } from '#core/metadata/visible-records-query.ts'
import { listPurgeable } from '#core/scan/missing-book-query.ts'
import { listPurgeFolders } from '#core/scan/missing-book-store.ts'
import type { TaskAdder } from '#core/tasks/task.ts'

interface Dependencies {
  database: Knex
  dataFolder: string
}

/**
 * Purges books that are marked as deleted, and series that are then empty; also their covers, but never users' files.
 * Returns how many books were purged.
 * @param options.longMissed purges only books that two complete scans found missing; otherwise all of them, because a user requested it
 */
export async function purgeDeleted(
  { database, dataFolder }: Dependencies,
  libraryId: string,
  signal?: AbortSignal,
  options: { longMissed?: LongMissed } = {},
): Promise<number> {
  const purged = await deleteAll(database, { libraryId }, { signal, ...options })
  await deleteEmptySeries(database, libraryId)
  await clearCoverOrphans({ database, dataFolder }, signal)
  return purged
}

/** Folders of missing books that are gone or empty now: a disk may be missing, so that their books are not purged automatically. */
export async function listSparedFolders(database: Knex, { id, path }: { id: string; path: string }, days: number): Promise<string[]> {
  const spared: string[] = []
  for (const folder of await listPurgeFolders(database, id, days)) {
    const names = await askDisk(path, () => readdir(folder)).catch(() => [])
    if (holdsNothing(names)) spared.push(folder)
  }
  return spared
}

/** Purges the deleted books of a library in a task. @throws not_found */
export async function requestPurge(
  dependencies: { database: Knex; tasks: TaskAdder },
  caller: Viewer,
  libraryId: string,
): Promise<{ taskId: string }> {
  await getLibraryRow(dependencies.database, caller, libraryId)
  const { taskId } = await dependencies.tasks.add({ type: 'purge_deleted', libraryId, dedupeKey: libraryId })
  return { taskId }
}

/**
 * Purges the deleted books of a library immediately; returns how many of those that the caller could see.
 * @param by null for the server itself
 * @throws not_found
 */
export async function purgeDeletedOf(dependencies: Dependencies, by: Viewer | null, libraryId: string): Promise<number> {
  const { database } = dependencies
  await getLibraryRow(database, by, libraryId)
  if (by === null) return await purgeDeleted(dependencies, libraryId)
  // Before: of a book that is gone nobody knows who could see it.
  const seen = await countMarkedBooks(database, by, libraryId)
  await purgeDeleted(dependencies, libraryId)
  return seen
}

/** The same for one series, at a user's request; returns how many books were purged. @throws not_found */
export async function purgeDeletedOfSeries({ database, dataFolder }: Dependencies, caller: Viewer, seriesId: string): Promise<number> {
  const id = await checkVisible(database, caller, 'series', seriesId)
  const purged = await deleteAll(database, { seriesId: id }, {})
  if (purged > 0) await deleteSeriesWhenEmpty(database, id)
  await clearCoverOrphans({ database, dataFolder })
  return purged
}

/**
 * Purges these books, which are marked as deleted, all or none.
 * @param caller null for the operator at the command line
 * @throws not_found for a hidden or unknown book; conflict for one that is not marked as deleted
 */
export async function purgeBooks(
  { database, dataFolder }: Dependencies,
  caller: Viewer | null,
  bookIds: readonly string[],
): Promise<number> {
  const books = await listPurgeable(database, caller, bookIds)
  for (const id of bookIds) {
    const book = books.get(id.toLowerCase()) ?? refuse('not_found', `There is no book ${id}, or you may not see it.`)
    if (book.isDeleted) continue
    const reason = book.isWithheld
      ? 'its disk may be missing: confirm its folder with a scan first (confirm)'
      : 'the last scan has found its file: scan its library if the file is gone'
    refuse('conflict', `The book ${id} is not marked as deleted, because ${reason}. Nothing was removed.`)
  }
  const purged = await deleteAll(database, { bookIds: [...books.keys()] }, {})
  for (const seriesId of new Set([...books.values()].map((book) => book.seriesId))) await deleteSeriesWhenEmpty(database, seriesId)
  await clearCoverOrphans({ database, dataFolder })
  return purged
}

async function deleteAll(
  database: Knex,
  of: Parameters<typeof deleteMarkedBooks>[1],
  { signal, ...options }: { signal?: AbortSignal | undefined; longMissed?: LongMissed },
): Promise<number> {
  let purged = 0
  for (;;) {
    signal?.throwIfAborted()
    const ids = await database.transaction((trx) => deleteMarkedBooks(trx, of, { limit: PIECE, ...options }))
    purged += ids.length
    if (ids.length < PIECE) return purged
  }
}
