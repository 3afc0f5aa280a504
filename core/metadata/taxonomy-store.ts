import type { Knex } from 'knex'
import { announceRecords } from '#core/events/event-store.ts'
import { lockRecords, touchRecords } from '#core/metadata/metadata-record-store.ts'
import { cleanName, nameKey } from '#core/metadata/name.ts'

/** Genres and tags are the same thing in two tables. */
export type Taxonomy = 'genre' | 'tag'
/** What carries them. */
export type Bearer = 'series' | 'book'

/** Makes the names that are not known. The first spelling of a name stands. */
export async function ensureNames(trx: Knex, taxonomy: Taxonomy, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  // In one order, so that two calls never wait for each other in a circle.
  const entries = names
    .map((name) => ({ name: cleanName(name), name_key: nameKey(name) }))
    .sort((a, b) => (a.name_key < b.name_key ? -1 : 1))
  await trx(`${taxonomy}s`).insert(entries).onConflict('name_key').ignore()
}

/** Takes one genre or tag away everywhere. False when there is none. */
export async function deleteName(database: Knex, taxonomy: Taxonomy, id: string): Promise<boolean> {
  return await database.transaction(async (trx) => {
    const carriedBy = async (bearer: Bearer): Promise<string[]> =>
      await trx(`${bearer}_${taxonomy}s`).where(`${taxonomy}_id`, id).pluck(`${bearer}_id`)
    // The records before the name, as every change locks them; a change that took the name meanwhile is finished when the name is locked.
    for (const bearer of ['series', 'book'] as const) await lockRecords(trx, bearer, await carriedBy(bearer))
    const name = await trx(`${taxonomy}s`).where({ id }).forUpdate().first('id')
    if (!name) return false
    for (const bearer of ['series', 'book'] as const) {
      const ids = await carriedBy(bearer)
      await touchRecords(trx, bearer, ids)
      await announceRecords(trx, bearer, ids, [`${taxonomy}s`])
    }
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
