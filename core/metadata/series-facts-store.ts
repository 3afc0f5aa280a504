import type { Knex } from 'knex'

/** The sets whose entries have rows of their own, with their ids and times. */
export type EntryTable =
  | 'series_alternate_titles'
  | 'series_external_ids'
  | 'series_external_links'
  | 'series_external_ratings'
  | 'book_external_ids'
  | 'book_external_links'

const ownerColumn = (table: EntryTable) => (table.startsWith('book') ? 'book_id' : 'series_id')

/** Rows of many owners, oldest first, as the wire names them. */
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
  return rows.map((row) => ({ ...(entryOf(row) as Entry), ownerId: row[owner] as string }))
}

/** Columns as the wire names them; times as ISO 8601. */
function entryOf({ given_by: _, ...row }: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase()),
      value instanceof Date ? value.toISOString() : value,
    ]),
  )
}

/** What a user thinks of a series, from 1 to 100. */
export async function saveUserRating(
  database: Knex,
  rating: { userId: string; seriesId: string; rating: number; notes: string | null },
): Promise<Record<string, unknown>> {
  const row = { user_id: rating.userId, series_id: rating.seriesId, rating: rating.rating, notes: rating.notes }
  const [saved] = await database('series_user_ratings')
    .insert(row)
    .onConflict(['user_id', 'series_id'])
    .merge({ rating: rating.rating, notes: rating.notes, updated_at: database.fn.now() })
    .returning('*')
  return entryOf(saved)
}

export async function deleteUserRating(database: Knex, userId: string, seriesId: string): Promise<void> {
  await database('series_user_ratings').where({ user_id: userId, series_id: seriesId }).delete()
}

/** @param seriesId all of the user's without it */
export async function listUserRatings(database: Knex, userId: string, seriesId?: string): Promise<Record<string, unknown>[]> {
  const query = database('series_user_ratings').where({ user_id: userId }).orderBy('updated_at', 'desc').orderBy('id')
  if (seriesId !== undefined) query.where({ series_id: seriesId })
  return (await query).map(entryOf)
}

/** Null when nobody has rated. */
export async function averageRating(database: Knex, seriesId: string): Promise<{ average: number | null; count: number }> {
  const row = await database('series_user_ratings').where({ series_id: seriesId }).avg({ average: 'rating' }).count({ count: '*' }).first()
  return { average: row?.average == null ? null : Number(row.average), count: Number(row?.count ?? 0) }
}
