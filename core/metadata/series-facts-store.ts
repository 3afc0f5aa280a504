import type { Knex } from 'knex'

/** What stands in tables of its own beside a series or book: further titles, and what other services know of it. */
export type Facts =
  | 'series_alternate_titles'
  | 'series_external_ids'
  | 'series_external_links'
  | 'series_external_ratings'
  | 'book_external_ids'
  | 'book_external_links'

const ownerColumn = (facts: Facts) => (facts.startsWith('book') ? 'book_id' : 'series_id')

/** Rows of many owners, oldest first, as the wire names them. */
export async function listFacts<Fact>(database: Knex, facts: Facts, ownerIds: readonly string[]): Promise<(Fact & { ownerId: string })[]> {
  const owner = ownerColumn(facts)
  const rows = await database(facts)
    .whereRaw(`${owner} = ANY(CAST(? AS uuid[]))`, [[...ownerIds]])
    .orderBy('created_at')
    .orderBy('id')
  return rows.map((row) => ({ ...(factOf(row) as Fact), ownerId: row[owner] as string }))
}

/** One more row, by the word of a person; of a source there is only one, which takes the new values. */
export async function saveFact<Fact>(database: Knex, facts: Facts, row: Record<string, unknown>): Promise<Fact> {
  const owner = ownerColumn(facts)
  const given = { ...row, given_by: 'user' }
  const query = database(facts).insert(given)
  if (facts !== 'series_alternate_titles') {
    query.onConflict([owner, 'source']).merge({ ...given, updated_at: database.fn.now() })
  }
  const [saved] = await query.returning('*')
  return factOf(saved) as Fact
}

export async function updateFact<Fact>(
  database: Knex,
  facts: Facts,
  where: { id: string; ownerId: string },
  change: Record<string, unknown>,
): Promise<Fact | null> {
  const [row] = await database(facts)
    .where({ id: where.id, [ownerColumn(facts)]: where.ownerId })
    .update({ ...change, given_by: 'user', updated_at: database.fn.now() })
    .returning('*')
  return row ? (factOf(row) as Fact) : null
}

/** @param which an id, or the source of which an owner has one row. False when there is none */
export async function deleteFact(
  database: Knex,
  facts: Facts,
  ownerId: string,
  which: { id: string } | { source: string },
): Promise<boolean> {
  return (
    (await database(facts)
      .where({ ...which, [ownerColumn(facts)]: ownerId })
      .delete()) > 0
  )
}

/** Takes all of them from many owners. */
export async function deleteFactsOf(trx: Knex, facts: Facts, ownerIds: readonly string[]): Promise<void> {
  await trx(facts)
    .whereRaw(`${ownerColumn(facts)} = ANY(CAST(? AS uuid[]))`, [[...ownerIds]])
    .delete()
}

/** As the record calls them: `externalLinks`. */
export const memberOfFacts = (facts: Facts): string =>
  facts.replace(/^(book|series)_/, '').replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase())

/** Columns as the wire names them; times as ISO 8601. */
function factOf({ given_by: _, ...row }: Record<string, unknown>): Record<string, unknown> {
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
  return factOf(saved)
}

export async function deleteUserRating(database: Knex, userId: string, seriesId: string): Promise<void> {
  await database('series_user_ratings').where({ user_id: userId, series_id: seriesId }).delete()
}

/** @param seriesId all of the user's without it */
export async function listUserRatings(database: Knex, userId: string, seriesId?: string): Promise<Record<string, unknown>[]> {
  const query = database('series_user_ratings').where({ user_id: userId }).orderBy('updated_at', 'desc').orderBy('id')
  if (seriesId !== undefined) query.where({ series_id: seriesId })
  return (await query).map(factOf)
}

/** Null when nobody has rated. */
export async function averageRating(database: Knex, seriesId: string): Promise<{ average: number | null; count: number }> {
  const row = await database('series_user_ratings').where({ series_id: seriesId }).avg({ average: 'rating' }).count({ count: '*' }).first()
  return { average: row?.average == null ? null : Number(row.average), count: Number(row?.count ?? 0) }
}
