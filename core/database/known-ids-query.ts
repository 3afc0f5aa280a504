import type { Knex } from 'knex'

/**
 * SQL of some ids, for `= ANY(…)` in prepared statements. In a subquery, because PostgreSQL plans a statement anew for each array whose length it knows,
 * which takes longer than reading a few rows.
 */
export const GIVEN_IDS = 'CAST((SELECT CAST(? AS uuid[])) AS uuid[])'

/** Those of the ids that a table has. */
export async function listKnownIds(database: Knex, table: string, ids: readonly string[]): Promise<Set<string>> {
  const rows = database(table).whereRaw('id = ANY(CAST(? AS uuid[]))', [[...ids]])
  return new Set(await rows.pluck('id'))
}
