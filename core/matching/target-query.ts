import type { Knex } from 'knex'
import { type Viewer, visibleTo } from '#core/account/visibility.ts'
import type { Kind } from '#core/fields/record-kind.ts'

/** The library of a series or book, with its conditions for automatic matching; null if the record does not exist. */
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

/** Selects the records of a pass. */
export interface Pass {
  kind: Kind
  libraryId: string
  /** Skips records that were requested from this source within so many seconds. */
  synced?: { source: string; withinSeconds: number } | undefined
  /** Skips records that the caller may not see. */
  by?: Viewer | undefined
}

export function ofPass(database: Knex, { kind, libraryId, synced, by }: Pass): Knex.QueryBuilder {
  const table = kind === 'series' ? 'series' : 'books'
  const query = database(`${table} AS r`).where('r.library_id', libraryId)
  if (kind === 'book') query.whereNull('r.deleted_at')
  if (by) query.modify(visibleTo(by, kind === 'series' ? 'r.id' : 'r.series_id'))
  if (synced)
    query.whereNotExists(
      database(`${kind}_external_ids AS e`)
        .select(database.raw('1'))
        .whereRaw(`e.${kind}_id = r.id`)
        .where('e.source', synced.source)
        .whereRaw('e.last_synced_at > now() - make_interval(secs => ?)', [synced.withinSeconds]),
    )
  return query
}

export async function countPass(database: Knex, pass: Pass): Promise<number> {
  const row = (await ofPass(database, pass).count({ count: '*' }).first()) as { count: string } | undefined
  return Number(row?.count ?? 0)
}

/** Number of records of a library with an identifier of a source. */
export async function countIdentified(database: Knex, { kind, libraryId, by }: Pass, source: string): Promise<number> {
  const row = (await ofPass(database, { kind, libraryId, by })
    .join(`${kind}_external_ids AS e`, `e.${kind}_id`, 'r.id')
    .where('e.source', source)
    .count({ count: '*' })
    .first()) as { count: string } | undefined
  return Number(row?.count ?? 0)
}

/** A sample of a pass, spread evenly and always the same. */
export async function samplePass(database: Knex, pass: Pass, size: number): Promise<{ id: string; title: string }[]> {
  return await ofPass(database, pass).orderByRaw('md5(r.id::text)').limit(size).select('r.id', 'r.title')
}

/** Records that the data of a record was requested from a provider now. */
export async function recordSynced(trx: Knex, kind: Kind, id: string, source: string): Promise<void> {
  await trx(`${kind}_external_ids`)
    .where({ [`${kind}_id`]: id, source })
    .update({ last_synced_at: trx.fn.now() })
}
