import type { Knex } from 'knex'

/** Those of the ids that a table has. */
export async function listKnownIds(database: Knex, table: string, ids: readonly string[]): Promise<Set<string>> {
  const rows = database(table).whereRaw('id = ANY(CAST(? AS uuid[]))', [[...ids]])
  return new Set(await rows.pluck('id'))
}
