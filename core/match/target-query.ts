import type { Knex } from 'knex'
import type { Kind } from '#core/metadata/holding-store.ts'

/** The library of a series or book, with what it asks of those that are matched by themselves; null where the record is gone. */
export async function findTargetLibrary(
  database: Knex,
  kind: Kind,
  id: string,
): Promise<{ libraryId: string; autoMatchConditions: unknown } | null> {
  const query =
    kind === 'series'
      ? database('series AS r').join('libraries AS l', 'l.id', 'r.library_id')
      : database('books AS r').join('libraries AS l', 'l.id', 'r.library_id')
  return (await query.where('r.id', id).first('l.id AS libraryId', 'l.auto_match_conditions AS autoMatchConditions')) ?? null
}

/** Series of a library behind one, in the order of their ids, and how many there are in all. */
export async function listLibrarySeriesIds(database: Knex, libraryId: string, after: string | null, limit: number): Promise<string[]> {
  const query = database('series').where('library_id', libraryId).orderBy('id').limit(limit)
  if (after !== null) query.where('id', '>', after)
  return await query.pluck('id')
}

export async function countLibrarySeries(database: Knex, libraryId: string): Promise<number> {
  const row = await database('series').where('library_id', libraryId).count({ count: '*' }).first()
  return Number(row?.['count'] ?? 0)
}
