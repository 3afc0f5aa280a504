import type { Knex } from 'knex'
import { refuse } from '#core/errors.ts'
import { cleanName, NAMES_MAX, nameKey } from '#core/taxonomy/name.ts'

/** Genres and tags are the same thing in two tables. */
export type Taxonomy = 'genre' | 'tag'
/** What carries them. */
export type Bearer = 'series' | 'book'

/** Two hundred names for each are ten thousand rows: a second's work, where five hundred at once outlast the limit of a statement. */
const BEARERS_AT_ONCE = 50

/** The ids of the names; those that were not known are made. The first spelling of a name stands. */
export async function ensureNames(trx: Knex, taxonomy: Taxonomy, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  // In one order, so that two calls never wait for each other in a circle.
  const entries = names
    .map((name) => ({ name: cleanName(name), name_key: nameKey(name) }))
    .sort((a, b) => (a.name_key < b.name_key ? -1 : 1))
  await trx(`${taxonomy}s`).insert(entries).onConflict('name_key').ignore()
  return await trx(`${taxonomy}s`)
    .whereIn(
      'name_key',
      entries.map(({ name_key }) => name_key),
    )
    .pluck('id')
}

/**
 * Gives names to many bearers, as many as each has room for; what they have already stays. Answers whose names changed.
 * For a person {@link checkRoom} comes first.
 */
export async function addNames(
  trx: Knex,
  change: { taxonomy: Taxonomy; bearer: Bearer; bearerIds: readonly string[]; names: readonly string[] },
): Promise<Set<string>> {
  const { taxonomy, bearer } = change
  const ids = await ensureNames(trx, taxonomy, change.names)
  if (ids.length === 0) return new Set()
  const changed = new Set<string>()
  // In one order over all statements, so that two calls never wait for each other in a circle.
  const bearerIds = [...change.bearerIds].sort()
  for (let start = 0; start < bearerIds.length; start += BEARERS_AT_ONCE) {
    const { rows } = await trx.raw(
      `WITH added AS (
         INSERT INTO ${bearer}_${taxonomy}s (${bearer}_id, ${taxonomy}_id)
         SELECT b, fresh.n FROM unnest(CAST(:bearerIds AS uuid[])) AS b
         JOIN LATERAL (SELECT array_agg(${taxonomy}_id) AS ids FROM ${bearer}_${taxonomy}s WHERE ${bearer}_id = b) AS had ON true
         JOIN LATERAL (SELECT n FROM unnest(CAST(:ids AS uuid[])) AS n WHERE n <> ALL(coalesce(had.ids, '{}'))
           LIMIT greatest(0, :most - coalesce(cardinality(had.ids), 0))) AS fresh ON true
         ORDER BY b, fresh.n ON CONFLICT DO NOTHING RETURNING ${bearer}_id AS id
       ) SELECT DISTINCT id FROM added`,
      { bearerIds: bearerIds.slice(start, start + BEARERS_AT_ONCE), ids, most: NAMES_MAX },
    )
    for (const { id } of rows as { id: string }[]) changed.add(id)
  }
  return changed
}

/**
 * Whether bearers can take names too, for a person who would else look for the rest in vain. The caller holds locks on them.
 * @throws invalid_value
 */
export async function checkRoom(
  trx: Knex,
  change: { taxonomy: Taxonomy; bearer: Bearer; bearerIds: readonly string[]; names: readonly string[] },
): Promise<void> {
  const { taxonomy, bearer } = change
  const { rows } = await trx.raw(
    `SELECT j.${bearer}_id AS id, count(*) AS others FROM ${bearer}_${taxonomy}s j JOIN ${taxonomy}s n ON n.id = j.${taxonomy}_id
     WHERE j.${bearer}_id = ANY(CAST(:bearerIds AS uuid[])) AND n.name_key <> ALL(CAST(:keys AS text[]))
     GROUP BY j.${bearer}_id HAVING count(*) > :room LIMIT 1`,
    { bearerIds: [...change.bearerIds], keys: change.names.map(nameKey), room: NAMES_MAX - change.names.length },
  )
  const [full] = rows as { id: string; others: string }[]
  if (!full) return
  refuse(
    'invalid_value',
    `A ${bearer} has at most ${NAMES_MAX} ${taxonomy}s, and ${full.id} has ${full.others} others already. Take some away first. Nothing was changed.`,
  )
}

/** Takes names from many bearers, by name. Answers whose names changed. */
export async function removeNames(
  trx: Knex,
  change: { taxonomy: Taxonomy; bearer: Bearer; bearerIds: readonly string[]; names: readonly string[] },
): Promise<Set<string>> {
  const { taxonomy, bearer } = change
  const { rows } = await trx.raw(
    `WITH removed AS (
       DELETE FROM ${bearer}_${taxonomy}s j USING ${taxonomy}s n
       WHERE n.id = j.${taxonomy}_id AND j.${bearer}_id = ANY(CAST(? AS uuid[])) AND n.name_key = ANY(CAST(? AS text[])) RETURNING j.${bearer}_id AS id
     ) SELECT DISTINCT id FROM removed`,
    [[...change.bearerIds], change.names.map(nameKey)],
  )
  return new Set((rows as { id: string }[]).map(({ id }) => id))
}

/** Makes these the names of one bearer, and no others. */
export async function setNames(
  trx: Knex,
  change: { taxonomy: Taxonomy; bearer: Bearer; bearerId: string; names: readonly string[] },
): Promise<void> {
  const { taxonomy, bearer, bearerId } = change
  await trx.raw(
    `DELETE FROM ${bearer}_${taxonomy}s j USING ${taxonomy}s n
     WHERE n.id = j.${taxonomy}_id AND j.${bearer}_id = ? AND NOT n.name_key = ANY(CAST(? AS text[]))`,
    [bearerId, change.names.map(nameKey)],
  )
  await addNames(trx, { ...change, bearerIds: [bearerId] })
}

/** Takes one genre or tag away everywhere. False when there is none. */
export async function deleteName(database: Knex, taxonomy: Taxonomy, id: string): Promise<boolean> {
  return (await database(`${taxonomy}s`).where({ id }).delete()) > 0
}

/** Deletes what nothing carries any more; answers the names. */
export async function deleteUnused(database: Knex, taxonomy: Taxonomy): Promise<string[]> {
  const { rows } = await database.raw(
    `DELETE FROM ${taxonomy}s n WHERE NOT EXISTS (SELECT 1 FROM series_${taxonomy}s j WHERE j.${taxonomy}_id = n.id)
       AND NOT EXISTS (SELECT 1 FROM book_${taxonomy}s j WHERE j.${taxonomy}_id = n.id) RETURNING name`,
  )
  return (rows as { name: string }[]).map(({ name }) => name).sort()
}
