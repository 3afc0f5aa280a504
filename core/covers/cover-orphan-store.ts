import type { Knex } from 'knex'
import type { CoverOwner } from '#core/covers/cover.ts'

/** Files that nothing needs any more: those of one cover, or of all covers of a deleted owner. */
export interface CoverOrphan {
  /** Later orphans have larger ids. */
  id: string
  owner: CoverOwner
  coverId: string | null
}

/** Orphans that are due, with ids after `after`. */
export async function listCoverOrphans(database: Knex, window: { after: string; limit: number }): Promise<CoverOrphan[]> {
  const rows = await database('cover_orphans')
    .where('id', '>', window.after)
    .where('due_at', '<=', database.fn.now())
    .orderBy('id')
    .limit(window.limit)
  return rows.map((row) => ({ id: String(row.id), owner: { kind: row.kind, id: row.owner_id }, coverId: row.cover_id }))
}

/** Call after their files were removed. */
export async function forgetCoverOrphans(database: Knex, ids: readonly string[]): Promise<void> {
  await database('cover_orphans')
    .whereRaw('id = ANY(CAST(? AS bigint[]))', [[...ids]])
    .delete()
}

/** Deletes the record of a cover that was not added. */
export async function forgetCover(database: Knex, coverId: string): Promise<void> {
  await database('cover_orphans').where('cover_id', coverId).delete()
}
