import type { Knex } from 'knex'
import { COVER_OWNERS, type CoverOwner } from '#core/covers/cover.ts'

/** Those of the ids that belong to records of this kind, including deleted ones. */
export async function listKnownOwners(database: Knex, kind: CoverOwner['kind'], ids: readonly string[]): Promise<Set<string>> {
  const rows = await database(COVER_OWNERS[kind])
    .whereRaw('id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .pluck('id')
  return new Set(rows)
}

/** Those of the ids that belong to existing covers, or to covers that are being added. */
export async function listKnownCovers(database: Knex, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await database.raw(
    `SELECT id FROM covers WHERE id = ANY(CAST(:ids AS uuid[]))
     UNION SELECT cover_id FROM cover_orphans WHERE due_at > now() AND cover_id = ANY(CAST(:ids AS uuid[]))`,
    { ids: [...ids] },
  )
  return new Set(rows.map(({ id }: { id: string }) => id))
}
