import type { Knex } from 'knex'
import { announceBooks, announceSeries } from '#core/events/event-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { GIVERS, type Giver } from '#core/metadata/field.ts'
import { cleanName, NAMES_MAX, nameKey } from '#core/metadata/name.ts'

/** Genres and tags are the same thing in two tables. */
export type Taxonomy = 'genre' | 'tag'
/** What carries them. */
export type Bearer = 'series' | 'book'

/** Two hundred names for each are ten thousand rows: a second's work, where five hundred at once outlast the limit of a statement. */
const BEARERS_AT_ONCE = 50
/** Tags that a person has taken from one book: more than twice of what it can have. */
const REMOVED_MAX = 500

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

interface NameChange {
  taxonomy: Taxonomy
  bearer: Bearer
  bearerIds: readonly string[]
  names: readonly string[]
}

/**
 * Gives names to many bearers, as many as each has room for; what they have already stays, and is from then on given by the stronger of the two.
 * Where a person gives them, those that machines gave make room. A machine gives no tag to a book that a person has taken from it.
 * Answers whose names changed. For a person {@link checkRoom} comes first.
 */
export async function addNames(trx: Knex, change: NameChange & { giver: Giver }): Promise<Set<string>> {
  const { taxonomy, bearer, giver } = change
  const ids = await ensureNames(trx, taxonomy, change.names)
  if (ids.length === 0) return new Set()
  const changed = new Set<string>()
  const table = `${bearer}_${taxonomy}s`
  const weaker = GIVERS.slice(GIVERS.indexOf(giver) + 1)
  // In one order over all statements, so that two calls never wait for each other in a circle.
  const bearerIds = [...change.bearerIds].sort()
  for (let start = 0; start < bearerIds.length; start += BEARERS_AT_ONCE) {
    const some = bearerIds.slice(start, start + BEARERS_AT_ONCE)
    const given = { bearerIds: some, ids, most: NAMES_MAX, giver }
    await trx(table)
      .whereRaw(`${bearer}_id = ANY(CAST(? AS uuid[])) AND ${taxonomy}_id = ANY(CAST(? AS uuid[]))`, [some, ids])
      .whereIn('given_by', weaker)
      .update({ given_by: giver })
    if (giver === 'user') await makeRoom(trx, table, { taxonomy, bearer }, given)
    if (giver === 'user' && remembersRemoved(change)) await forgetRemoved(trx, some, change.names)
    const unwanted = giver !== 'user' && remembersRemoved(change)
    const { rows } = await trx.raw(
      `WITH added AS (
         INSERT INTO ${table} (${bearer}_id, ${taxonomy}_id, given_by)
         SELECT b, fresh.n, :giver FROM unnest(CAST(:bearerIds AS uuid[])) AS b
         JOIN LATERAL (SELECT array_agg(${taxonomy}_id) AS ids FROM ${table} WHERE ${bearer}_id = b) AS had ON true
         JOIN LATERAL (SELECT n FROM unnest(CAST(:ids AS uuid[])) AS n WHERE n <> ALL(coalesce(had.ids, '{}'))
           ${unwanted ? 'AND NOT EXISTS (SELECT 1 FROM book_metadata m JOIN tags g ON g.id = n WHERE m.book_id = b AND g.name_key = ANY(m.removed_tags))' : ''}
           LIMIT greatest(0, :most - coalesce(cardinality(had.ids), 0))) AS fresh ON true
         ORDER BY b, fresh.n ON CONFLICT DO NOTHING RETURNING ${bearer}_id AS id
       ) SELECT DISTINCT id FROM added`,
      given,
    )
    for (const { id } of rows as { id: string }[]) changed.add(id)
  }
  return changed
}

/** Takes away of what machines gave as much as stands in the way of a person, what files gave first. */
async function makeRoom(
  trx: Knex,
  table: string,
  { taxonomy, bearer }: Pick<NameChange, 'taxonomy' | 'bearer'>,
  given: { bearerIds: readonly string[]; ids: readonly string[]; most: number },
): Promise<void> {
  await trx.raw(
    `DELETE FROM ${table} j USING unnest(CAST(:bearerIds AS uuid[])) AS b
     JOIN LATERAL (SELECT array_agg(${taxonomy}_id) AS ids FROM ${table} WHERE ${bearer}_id = b) AS had ON true
     JOIN LATERAL (
       SELECT o.${taxonomy}_id AS n FROM ${table} o WHERE o.${bearer}_id = b AND o.given_by <> 'user'
       ORDER BY o.given_by, n LIMIT greatest(0, coalesce(cardinality(had.ids), 0) - :most
         + (SELECT count(*) FROM unnest(CAST(:ids AS uuid[])) AS i WHERE i <> ALL(coalesce(had.ids, '{}'))))
     ) AS spare ON true
     WHERE j.${bearer}_id = b AND j.${taxonomy}_id = spare.n`,
    given as never,
  )
}

/**
 * Whether bearers can take names too, for a person who would else look for the rest in vain: what machines gave makes room. The caller holds locks
 * on them.
 * @throws invalid_value
 */
export async function checkRoom(trx: Knex, change: NameChange): Promise<void> {
  const { taxonomy, bearer } = change
  const { rows } = await trx.raw(
    `SELECT j.${bearer}_id AS id, count(*) AS others FROM ${bearer}_${taxonomy}s j JOIN ${taxonomy}s n ON n.id = j.${taxonomy}_id
     WHERE j.${bearer}_id = ANY(CAST(:bearerIds AS uuid[])) AND j.given_by = 'user' AND n.name_key <> ALL(CAST(:keys AS text[]))
     GROUP BY j.${bearer}_id HAVING count(*) > :room LIMIT 1`,
    { bearerIds: [...change.bearerIds], keys: change.names.map(nameKey), room: NAMES_MAX - change.names.length },
  )
  const [full] = rows as { id: string; others: string }[]
  if (!full) return
  refuse(
    'invalid_value',
    `A ${bearer} has at most ${NAMES_MAX} ${taxonomy}s, and ${full.id} has ${full.others} others from people already. Take some away first. Nothing was changed.`,
  )
}

/**
 * Takes names from many bearers, by name; a file only those that it gave. What a person takes from a book stays away. Answers whose names changed.
 */
export async function removeNames(trx: Knex, change: NameChange & { giver: 'user' | 'embedded' }): Promise<Set<string>> {
  const { taxonomy, bearer, giver } = change
  const remembers = giver === 'user' && remembersRemoved(change)
  // The names stay in the database: 500 books with 200 each are 20 MB.
  const { rows } = await trx.raw(
    `WITH removed AS (
       DELETE FROM ${bearer}_${taxonomy}s j USING ${taxonomy}s n
       WHERE n.id = j.${taxonomy}_id AND j.${bearer}_id = ANY(CAST(:bearerIds AS uuid[])) AND n.name_key = ANY(CAST(:keys AS text[]))
         ${giver === 'user' ? '' : `AND j.given_by = '${giver}'`} RETURNING j.${bearer}_id AS id, n.name_key AS key
     ) ${remembers ? REMEMBER_REMOVED : ''}
     SELECT DISTINCT id FROM removed`,
    { bearerIds: [...change.bearerIds], keys: change.names.map(nameKey), ...(remembers && { most: REMOVED_MAX }) },
  )
  return new Set((rows as { id: string }[]).map(({ id }) => id))
}

/** Tags of books have no lock, which for genres and series keeps what a person took away from coming back. */
const remembersRemoved = ({ taxonomy, bearer }: Pick<NameChange, 'taxonomy' | 'bearer'>) => taxonomy === 'tag' && bearer === 'book'

/** The latest first. */
const REMEMBER_REMOVED = `, remembered AS (
       INSERT INTO book_metadata (book_id, removed_tags) SELECT id, (array_agg(key))[1::most] FROM removed GROUP BY id ORDER BY id
       ON CONFLICT (book_id) DO UPDATE SET removed_tags = (excluded.removed_tags || array(
         SELECT key FROM unnest(book_metadata.removed_tags) AS key WHERE key <> ALL(excluded.removed_tags)))[1::most]
     )`

async function forgetRemoved(trx: Knex, bookIds: readonly string[], names: readonly string[]): Promise<void> {
  const keys = names.map(nameKey)
  await trx.raw(
    `UPDATE book_metadata SET removed_tags = array(SELECT key FROM unnest(removed_tags) AS key WHERE key <> ALL(CAST(:keys AS text[])))
     WHERE book_id = ANY(CAST(:bookIds AS uuid[])) AND removed_tags && CAST(:keys AS text[])`,
    { bookIds: [...bookIds], keys },
  )
}

/** Whether these are the names of one bearer, and no others, however they are spelled. */
export async function hasNames(
  database: Knex,
  { taxonomy, bearer, bearerId, names }: { taxonomy: Taxonomy; bearer: Bearer; bearerId: string; names: readonly string[] },
): Promise<boolean> {
  const keys: string[] = await database(`${bearer}_${taxonomy}s AS j`)
    .join(`${taxonomy}s AS n`, 'n.id', `j.${taxonomy}_id`)
    .where(`j.${bearer}_id`, bearerId)
    .pluck('n.name_key')
  const wanted = new Set(names.map(nameKey))
  return keys.length === wanted.size && keys.every((key) => wanted.has(key))
}

/** The names that one bearer has beside these. */
export async function listOtherNames(
  trx: Knex,
  of: { taxonomy: Taxonomy; bearer: Bearer; bearerId: string; names: readonly string[] },
): Promise<string[]> {
  const { taxonomy, bearer, bearerId, names } = of
  return await trx(`${bearer}_${taxonomy}s AS j`)
    .join(`${taxonomy}s AS n`, 'n.id', `j.${taxonomy}_id`)
    .where(`j.${bearer}_id`, bearerId)
    .whereRaw('n.name_key <> ALL(CAST(? AS text[]))', [names.map(nameKey)])
    .pluck('n.name')
}

/** Makes these the names of one bearer, and no others, by the word of a person. */
export async function setNames(
  trx: Knex,
  change: { taxonomy: Taxonomy; bearer: Bearer; bearerId: string; names: readonly string[] },
): Promise<void> {
  await replaceNames(trx, { ...change, names: change.names.map((name) => ({ name, giver: 'user' })) })
}

/** Makes these the names of one bearer, and no others, each with who gave it. */
export async function replaceNames(
  trx: Knex,
  change: { taxonomy: Taxonomy; bearer: Bearer; bearerId: string; names: readonly { name: string; giver: Giver }[] },
): Promise<void> {
  const { taxonomy, bearer, bearerId, names } = change
  const table = `${bearer}_${taxonomy}s`
  const keys = names.map(({ name }) => nameKey(name))
  await trx.raw(
    `DELETE FROM ${table} j USING ${taxonomy}s n
     WHERE n.id = j.${taxonomy}_id AND j.${bearer}_id = ? AND NOT n.name_key = ANY(CAST(? AS text[]))`,
    [bearerId, keys],
  )
  if (names.length === 0) return
  await ensureNames(
    trx,
    taxonomy,
    names.map(({ name }) => name),
  )
  await trx.raw(
    `INSERT INTO ${table} AS j (${bearer}_id, ${taxonomy}_id, given_by)
     SELECT CAST(? AS uuid), n.id, given.by FROM unnest(CAST(? AS text[]), CAST(? AS text[])) AS given (key, by) JOIN ${taxonomy}s n ON n.name_key = given.key
     ORDER BY n.id LIMIT ? ON CONFLICT (${bearer}_id, ${taxonomy}_id) DO UPDATE SET given_by = excluded.given_by WHERE j.given_by <> excluded.given_by`,
    [bearerId, keys, names.map(({ giver }) => giver), NAMES_MAX],
  )
}

/** Takes one genre or tag away everywhere. False when there is none. */
export async function deleteName(database: Knex, taxonomy: Taxonomy, id: string): Promise<boolean> {
  return await database.transaction(async (trx) => {
    // Locked first: nothing takes it meanwhile.
    const name = await trx(`${taxonomy}s`).where({ id }).forUpdate().first('id')
    if (!name) return false
    const carriedBy = async (bearer: Bearer): Promise<string[]> =>
      await trx(`${bearer}_${taxonomy}s`).where(`${taxonomy}_id`, id).pluck(`${bearer}_id`)
    await announceSeries(trx, await carriedBy('series'), [`${taxonomy}s`])
    await announceBooks(trx, await carriedBy('book'), [`${taxonomy}s`])
    await trx(`${taxonomy}s`).where({ id }).delete()
    return true
  })
}

/** Deletes what nothing carries any more; answers the names. */
export async function deleteUnused(database: Knex, taxonomy: Taxonomy): Promise<string[]> {
  const { rows } = await database.raw(
    `DELETE FROM ${taxonomy}s n WHERE NOT EXISTS (SELECT 1 FROM series_${taxonomy}s j WHERE j.${taxonomy}_id = n.id)
       AND NOT EXISTS (SELECT 1 FROM book_${taxonomy}s j WHERE j.${taxonomy}_id = n.id) RETURNING name`,
  )
  return (rows as { name: string }[]).map(({ name }) => name).sort()
}
