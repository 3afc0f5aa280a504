import type { Knex } from 'knex'

/** Those of the ids that belong to existing covers, or to covers that are being added. */
export async function listKnownCovers(database: Knex, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await database.raw(
    `SELECT id FROM covers WHERE id = ANY(CAST(:ids AS uuid[]))
     UNION SELECT cover_id FROM cover_orphans WHERE due_at > now() AND cover_id = ANY(CAST(:ids AS uuid[]))`,
    { ids: [...ids] },
  )
  return new Set(rows.map(({ id }: { id: string }) => id))
}
