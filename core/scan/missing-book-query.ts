import type { Knex } from 'knex'
import { type Viewer, visibleTo } from '#core/account/visibility.ts'
import { folderOf } from '#core/catalog/library-folder.ts'

interface PurgeableBook {
  seriesId: string
  isDeleted: boolean
  isWithheld: boolean
}

/** Those of the books that the viewer may see, by id, with what decides whether they may be purged. @param by null for the operator */
export async function listPurgeable(database: Knex, by: Viewer | null, ids: readonly string[]): Promise<Map<string, PurgeableBook>> {
  const books = database('books').whereRaw('books.id = ANY(CAST(? AS uuid[]))', [[...ids]])
  if (by) books.modify(visibleTo(by, 'books.series_id'))
  const rows = await books.select('books.id', 'books.series_id', 'books.deleted_at', 'books.missing_why')
  return new Map(
    rows.map((row) => [
      row.id,
      { seriesId: row.series_id, isDeleted: row.deleted_at !== null, isWithheld: row.missing_why === 'withheld' },
    ]),
  )
}

interface MissingBook {
  id: string
  path: string
  since: Date
  why: 'file' | 'folder' | 'withheld'
}

/** The missing books of a library, by path. */
export async function listMissingBooks(database: Knex, libraryId: string, limit: number): Promise<{ books: MissingBook[]; total: number }> {
  const missing = () => database('books').where('library_id', libraryId).whereRaw('(deleted_at IS NOT NULL OR missing_why IS NOT NULL)')
  const [counted, books] = await Promise.all([
    missing().count({ count: '*' }).first(),
    missing()
      .orderBy('path')
      .limit(limit)
      .select(
        'id',
        'path',
        database.raw('coalesce(missing_since, deleted_at) AS since'),
        database.raw(`coalesce(missing_why, 'file') AS why`),
      ),
  ])
  return { books, total: Number(counted?.['count']) }
}

/** The path of a recorded book that is `place` or below it; null if there is none. @param place absolute */
export async function findBelow(database: Knex, libraryId: string, place: string): Promise<string | null> {
  const found = await database('books')
    .where('library_id', libraryId)
    .where((either) =>
      either.where('path', place).orWhere((below) => below.where('path', '>', `${place}/`).where('path', '<', `${place}0`)),
    )
    .orderBy('path')
    .first('path')
  return found?.path ?? null
}

/** Folders whose missing books are withheld, relative to the library. */
export async function listWithheldFolders(database: Knex, libraryId: string, root: string): Promise<Set<string>> {
  const paths: string[] = await database('books').where({ library_id: libraryId, missing_why: 'withheld' }).pluck('path')
  return new Set(paths.map((path) => folderOf(root, path)))
}
