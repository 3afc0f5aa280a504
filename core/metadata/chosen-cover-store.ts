import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { announceCover as announceCoverChange } from '#core/events/event-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { COVERS_PER_OWNER_MAX, type CoverGiver, type CoverOwner } from '#core/metadata/cover.ts'
import { readLocks, touchRecords } from '#core/metadata/metadata-record-store.ts'

export interface CoverRow {
  id: string
  source: string
  hash: string
  width: number
  height: number
  is_selected: boolean
  given_by: CoverGiver
  created_at: Date
  updated_at: Date
}

const COLUMNS = ['id', 'source', 'hash', 'width', 'height', 'is_selected', 'given_by', 'created_at', 'updated_at']
const ownerColumn = (owner: CoverOwner) => (owner.kind === 'book' ? 'book_id' : 'series_id')
const coversOf = (database: Knex, owner: CoverOwner) => database('covers').where(ownerColumn(owner), owner.id)

/** @throws not_found when the book or series does not exist or is hidden */
export async function checkOwner(database: Knex, caller: Caller, owner: CoverOwner): Promise<void> {
  const query =
    owner.kind === 'book'
      ? database('books').where('books.id', owner.id).modify(visibleTo(caller, 'books.series_id'))
      : database('series').where('series.id', owner.id).modify(visibleTo(caller, 'series.id'))
  if (!(await query.first('id'))) refuse('not_found', `There is no ${owner.kind} ${owner.id}, or you may not see it.`)
}

/** Locks the owner until the transaction ends: two people choosing at once would both be the one chosen. @throws not_found */
async function lockOwner(trx: Knex, owner: CoverOwner): Promise<void> {
  const row = await trx(owner.kind === 'book' ? 'books' : 'series')
    .where('id', owner.id)
    .forNoKeyUpdate()
    .first('id')
  if (!row) refuse('not_found', `There is no ${owner.kind} ${owner.id} any more.`)
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
 * Says before its files are written that a cover may come, so that they do not stay should the server be killed before {@link addCover} has
 * made a row for them.
 */
export async function announceCover(database: Knex, owner: CoverOwner, coverId: string): Promise<void> {
  const due = database.raw("now() + interval '1 hour'")
  await database('cover_orphans').insert({ kind: owner.kind, owner_id: owner.id, cover_id: coverId, due_at: due })
}

/**
 * Adds a cover whose files are written, and makes it the selected one.
 * @throws conflict when the owner has as many as it may, or when a plugin gives it and a lock or a chosen cover stands against it
 */
export async function addCover(
  database: Knex,
  owner: CoverOwner,
  cover: Pick<CoverRow, 'id' | 'source' | 'hash' | 'width' | 'height' | 'given_by'>,
): Promise<CoverRow> {
  return await database.transaction(async (trx) => {
    await lockOwner(trx, owner)
    if (cover.given_by !== 'user') await checkMachineMayChoose(trx, owner)
    const { count } = (await coversOf(trx, owner).count({ count: '*' }).first()) as unknown as { count: string }
    if (Number(count) >= COVERS_PER_OWNER_MAX) {
      refuse('conflict', `There are ${count} covers of this ${owner.kind}, the most that are kept; delete one first.`)
    }
    await coversOf(trx, owner).where('is_selected', true).update({ is_selected: false })
    await trx('cover_orphans').where('cover_id', cover.id).delete()
    const [row] = await trx('covers').insert({ ...cover, [ownerColumn(owner)]: owner.id, is_selected: true }, COLUMNS)
    await recordChange(trx, owner)
    return row
  })
}

/** Clients that keep copies compare the time of the book or series. */
async function recordChange(trx: Knex.Transaction, owner: CoverOwner): Promise<void> {
  await touchRecords(trx, owner.kind, [owner.id])
  await announceCoverChange(trx, owner)
}

/** A person may have spoken while a plugin's picture was fetched. @throws conflict */
async function checkMachineMayChoose(trx: Knex, owner: CoverOwner): Promise<void> {
  const locks = (await readLocks(trx, owner.kind, [owner.id])).get(owner.id)
  if (locks?.has('cover')) refuse('conflict', 'The cover was locked meanwhile.')
  if (await findCoverRow(trx, owner, 'selected')) refuse('conflict', 'A cover was chosen meanwhile.')
}

/** Shows this cover by the word of a person, or with null the one the file brings. @throws not_found when the owner has no such cover */
export async function selectCover(database: Knex, owner: CoverOwner, coverId: string | null): Promise<void> {
  await database.transaction(async (trx) => {
    await lockOwner(trx, owner)
    await coversOf(trx, owner).where('is_selected', true).update({ is_selected: false, updated_at: trx.fn.now() })
    await recordChange(trx, owner)
    if (coverId === null) return
    const changed = await coversOf(trx, owner)
      .where('id', coverId)
      .update({ is_selected: true, given_by: 'user', updated_at: trx.fn.now() })
    if (changed === 0) refuse('not_found', `The ${owner.kind} has no cover ${coverId}.`)
  })
}

/**
 * Its files are left over then.
 * @param by a machine removes only what a machine gave and nobody has chosen since
 * @throws not_found when the owner has no such cover; conflict when it is a person's
 */
export async function removeCoverRow(
  database: Knex,
  owner: CoverOwner,
  { coverId, by }: { coverId: string; by: CoverGiver },
): Promise<void> {
  await database.transaction(async (trx) => {
    await lockOwner(trx, owner)
    const cover = (await findCoverRow(trx, owner, { id: coverId })) ?? refuse('not_found', `The ${owner.kind} has no cover ${coverId}.`)
    if (by !== 'user' && cover.given_by === 'user') refuse('conflict', 'Somebody has chosen this cover since.')
    await coversOf(trx, owner).where('id', coverId).delete()
    await trx('cover_orphans').insert({ kind: owner.kind, owner_id: owner.id, cover_id: coverId })
    await recordChange(trx, owner)
  })
}
