import type { Knex } from 'knex'

/** Tables of the sets whose entries have rows of their own, with ids and times. */
export type EntryTable =
  | 'series_alternate_titles'
  | 'series_external_ids'
  | 'series_external_links'
  | 'series_external_ratings'
  | 'book_external_ids'
  | 'book_external_links'

const ownerColumn = (table: EntryTable) => (table.startsWith('book') ? 'book_id' : 'series_id')

/** The entries of many books or series, oldest first, with the member names of the API. */
export async function listEntries<Entry>(
  database: Knex,
  table: EntryTable,
  ownerIds: readonly string[],
): Promise<(Entry & { ownerId: string })[]> {
  const owner = ownerColumn(table)
  const rows = await database(table)
    .whereRaw(`${owner} = ANY(CAST(? AS uuid[]))`, [[...ownerIds]])
    .orderBy('created_at')
    .orderBy('id')
  return rows.map((row) => ({ ...entryOf<Entry>(row), ownerId: row[owner] as string }))
}

/** A row with the member names of the API; times as ISO 8601. */
export function entryOf<Entry>({ given_by: _, ...row }: Record<string, unknown>): Entry {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase()),
      value instanceof Date ? value.toISOString() : value,
    ]),
  ) as Entry
}
