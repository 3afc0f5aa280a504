import type { Knex } from 'knex'
import { announceRecords } from '#core/events/event-store.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { lockRecords, touchRecords } from '#core/metadata/metadata-record-store.ts'
import { cleanName, nameKey } from '#core/metadata/name.ts'

/** Genres and tags are the same thing in two tables. */
export type Taxonomy = 'genre' | 'tag'

/** Inserts names that do not exist yet. A name keeps its first spelling. */
export async function ensureNames(trx: Knex, taxonomy: Taxonomy, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  // Always in the same order, so that two calls never deadlock.
  const entries = names
    .map((name) => ({ name: cleanName(name), name_key: nameKey(name) }))
    .sort((a, b) => (a.name_key < b.name_key ? -1 : 1))
  await trx(`${taxonomy}s`).insert(entries).onConflict('name_key').ignore()
}

/** Deletes one genre or tag everywhere. Returns false if it does not exist. */
export async function deleteName(database: Knex, taxonomy: Taxonomy, id: string): Promise<boolean> {
  return await database.transaction(async (trx) => {
    const listOwners = async (kind: Kind): Promise<string[]> =>
      await trx(`${kind}_${taxonomy}s`).where(`${taxonomy}_id`, id).pluck(`${kind}_id`)
    // Locks the records before the name, in the order of every change; once the name is locked, changes that used it in the meantime have ended.
    for (const kind of ['series', 'book'] as const) await lockRecords(trx, kind, await listOwners(kind))
    const name = await trx(`${taxonomy}s`).where({ id }).forUpdate().first('id')
    if (!name) return false
    for (const kind of ['series', 'book'] as const) {
      const ids = await listOwners(kind)
      await touchRecords(trx, kind, ids)
      await announceRecords(trx, kind, ids, [`${taxonomy}s`])
    }
    await trx(`${taxonomy}s`).where({ id }).delete()
    return true
  })
}

/** Deletes unused genres or tags; returns their names. */
export async function deleteUnused(database: Knex, taxonomy: Taxonomy): Promise<string[]> {
  const { rows } = await database.raw(
    `DELETE FROM ${taxonomy}s n WHERE NOT EXISTS (SELECT 1 FROM series_${taxonomy}s j WHERE j.${taxonomy}_id = n.id)
       AND NOT EXISTS (SELECT 1 FROM book_${taxonomy}s j WHERE j.${taxonomy}_id = n.id) RETURNING name`,
  )
  return (rows as { name: string }[]).map(({ name }) => name).sort()
}
