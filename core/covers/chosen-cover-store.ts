import type { Knex } from 'knex'
import { COVER_OWNERS, COVERS_PER_OWNER_MAX, type CoverGiver, type CoverOwner, type RecordOwner } from '#core/covers/cover.ts'
import { countRows } from '#core/database/select.ts'
import { announceCoverChange } from '#core/events/event-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { readLocks, touchRecords } from '#core/metadata/metadata-record-store.ts'

export interface CoverRow {
  id: string
  source: string
  hash: string
  width: number
  height: number
  /** Null for one from before this column. */
  color: string | null
  is_selected: boolean
  given_by: CoverGiver
  created_at: Date
  updated_at: Date
}

const COLUMNS = ['id', 'source', 'hash', 'width', 'height', 'color', 'is_selected', 'given_by', 'created_at', 'updated_at']
const ownerColumn = (owner: CoverOwner) => `${owner.kind}_id`
/** In sentences. */
export const nounOf = ({ kind }: CoverOwner): string => kind.replace('_', ' ')
const coversOf = (database: Knex, owner: CoverOwner) => database('covers').where(ownerColumn(owner), owner.id)

const isRecord = (owner: CoverOwner): owner is RecordOwner => owner.kind === 'book' || owner.kind === 'series'

/** Locks the owner until the transaction ends: otherwise two users who select covers at the same time could both succeed. @throws not_found */
async function lockOwner(trx: Knex, owner: CoverOwner): Promise<void> {
  const row = await trx(COVER_OWNERS[owner.kind]).where('id', owner.id).forNoKeyUpdate().first('id')
  if (!row) refuse('not_found', `The ${nounOf(owner)} ${owner.id} does not exist any more.`)
}

/** Oldest first. */
export async function listCoverRows(database: Knex, owner: CoverOwner): Promise<CoverRow[]> {
  return await coversOf(database, owner).orderBy(['created_at', 'id']).select(COLUMNS)
}

export async function findCoverRow(database: Knex, owner: CoverOwner, which: { id: string } | 'selected'): Promise<CoverRow | null> {
  const query =
    which === 'selected' ? coversOf(database, owner).where('is_selected', true) : coversOf(database, owner).where('id', which.id)
  return (await query.first(COLUMNS)) ?? null
}

/**
 * Records a cover before its files are written, so that a later cleanup finds the files if the server is killed before {@link addCover} has
 * inserted their row.
 */
export async function announceCover(database: Knex, owner: CoverOwner, coverId: string): Promise<void> {
  const due = database.raw("now() + interval '1 hour'")
  await database('cover_orphans').insert({ kind: owner.kind, owner_id: owner.id, cover_id: coverId, due_at: due })
}

/**
 * Adds a cover whose files exist, and selects it.
 * @throws conflict if the owner has the maximum number of covers, or if a plugin gives the cover and a lock or a selected cover prevents it
 */
export async function addCover(
  database: Knex,
  owner: CoverOwner,
  cover: Pick<CoverRow, 'id' | 'source' | 'hash' | 'width' | 'height' | 'color' | 'given_by'>,
): Promise<CoverRow> {
  return await database.transaction(async (trx) => {
    await lockOwner(trx, owner)
    if (cover.given_by !== 'user' && isRecord(owner)) await checkMachineMayChoose(trx, owner)
    const count = await countRows(coversOf(trx, owner))
    if (count >= COVERS_PER_OWNER_MAX) {
      refuse('conflict', `This ${nounOf(owner)} has ${count} covers, the maximum; delete one first.`)
    }
    await coversOf(trx, owner).where('is_selected', true).update({ is_selected: false })
    await trx('cover_orphans').where('cover_id', cover.id).delete()
    const [row] = await trx('covers').insert({ ...cover, [ownerColumn(owner)]: owner.id, is_selected: true }, COLUMNS)
    await recordChange(trx, owner)
    return row
  })
}

/** Changes the time of the record, which clients compare with their copies. */
async function recordChange(trx: Knex.Transaction, owner: CoverOwner): Promise<void> {
  if (!isRecord(owner)) return void (await trx(COVER_OWNERS[owner.kind]).where('id', owner.id).update({ updated_at: trx.fn.now() }))
  await touchRecords(trx, owner.kind, [owner.id])
  await announceCoverChange(trx, owner)
}

/** A user may have locked or selected a cover while the plugin's picture was fetched. @throws conflict */
async function checkMachineMayChoose(trx: Knex, owner: RecordOwner): Promise<void> {
  const locks = (await readLocks(trx, owner.kind, [owner.id])).get(owner.id)
  if (locks?.has('cover')) refuse('conflict', 'The cover was locked in the meantime.')
  if (await findCoverRow(trx, owner, 'selected')) refuse('conflict', 'A cover was chosen in the meantime.')
}

/** Selects this cover for a user, or with null the one from the file. @throws not_found if the owner has no such cover */
export async function selectCover(database: Knex, owner: CoverOwner, coverId: string | null): Promise<void> {
  await database.transaction(async (trx) => {
    await lockOwner(trx, owner)
    await coversOf(trx, owner).where('is_selected', true).update({ is_selected: false, updated_at: trx.fn.now() })
    await recordChange(trx, owner)
    if (coverId === null) return
    const changed = await coversOf(trx, owner)
      .where('id', coverId)
      .update({ is_selected: true, given_by: 'user', updated_at: trx.fn.now() })
    if (changed === 0) refuse('not_found', `The ${nounOf(owner)} has no cover ${coverId}.`)
  })
}

/**
 * Deletes the row of a cover; a cleanup deletes its files.
 * @param by a machine removes only a cover that a machine gave and that no user has selected since
 * @throws not_found if the owner has no such cover; conflict if it is a user's
 */
export async function removeCoverRow(
  database: Knex,
  owner: CoverOwner,
  { coverId, by }: { coverId: string; by: CoverGiver },
): Promise<void> {
  await database.transaction(async (trx) => {
    await lockOwner(trx, owner)
    const cover = (await findCoverRow(trx, owner, { id: coverId })) ?? refuse('not_found', `The ${nounOf(owner)} has no cover ${coverId}.`)
    if (by !== 'user' && cover.given_by === 'user') refuse('conflict', 'A user has chosen this cover since.')
    await coversOf(trx, owner).where('id', coverId).delete()
    await trx('cover_orphans').insert({ kind: owner.kind, owner_id: owner.id, cover_id: coverId })
    await recordChange(trx, owner)
  })
}
