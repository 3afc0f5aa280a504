import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { isUniqueViolation } from '#core/database/unique-violation.ts'
import type { SeriesFacts } from '#core/events/event.ts'
import { announce } from '#core/events/event-store.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { SHELF_MEMBERS_MAX, type Shelf, type ShelfEdit, type ShelfKind } from '#core/shelves/shelf.ts'
import { findShelf } from '#core/shelves/shelf-query.ts'
import { SHELF_TABLES } from '#core/shelves/shelf-table.ts'

const IDS_LISTED_MAX = 5

/**
 * Creates a shelf with its members in this order.
 * @throws conflict when the name is taken; not_found for an unknown or hidden member; forbidden for an empty one that the caller would not see
 */
export async function addShelf(
  database: Knex,
  caller: Caller,
  kind: ShelfKind,
  shelf: { name: string; summary?: string | null; ordered?: boolean; memberIds: readonly string[] },
): Promise<Shelf> {
  const { name, summary = null, ordered = kind === 'read_list' } = shelf
  return await database
    .transaction(async (trx) => {
      const [row] = await trx(SHELF_TABLES[kind].shelves).insert({ name, summary, ordered }, 'id')
      await writeMembers(trx, caller, kind, { id: row.id, memberIds: shelf.memberIds })
      await announceShelf(trx, kind, 'created', { id: row.id })
      const { noun, things } = SHELF_TABLES[kind]
      return (
        (await findShelf(trx, caller, kind, row.id)) ??
        refuse('forbidden', `You do not see every series, and would not see an empty ${noun}: name at least one of its ${things}.`)
      )
    })
    .catch((error) => refuseTaken(kind, error))
}

/**
 * Changes a shelf, completely or not at all. @param shelf.memberIds the new list of members, in order; if absent, the members stay
 * @throws not_found, conflict
 */
export async function editShelf(
  database: Knex,
  caller: Caller,
  kind: ShelfKind,
  shelf: { id: string; edit: ShelfEdit; memberIds?: readonly string[] },
): Promise<Shelf> {
  const { name, summary, ordered } = shelf.edit
  const change = {
    ...(name !== undefined && { name }),
    ...(summary !== undefined && { summary }),
    ...(ordered !== undefined && { ordered }),
  }
  return await database
    .transaction(async (trx) => {
      const before = await lockShelf(trx, caller, kind, shelf.id)
      await trx(SHELF_TABLES[kind].shelves)
        .where('id', shelf.id)
        .update({ ...change, updated_at: trx.fn.now() })
      const earlier = await listAllMemberIds(trx, kind, shelf.id)
      if (shelf.memberIds) await changeMembers(trx, caller, kind, { id: shelf.id, how: 'replace', memberIds: shelf.memberIds })
      // Apps send along what stays as it is.
      const isOfMembers = Object.entries(change).every(([name, value]) => value === before[name as keyof ShelfEdit])
      await announceShelf(trx, kind, 'updated', { id: shelf.id, before: earlier, isOfMembers })
      return await viewOfChanged(trx, caller, kind, before)
    })
    .catch((error) => refuseTaken(kind, error))
}

/** @throws not_found */
export async function removeShelf(database: Knex, caller: Caller, kind: ShelfKind, id: string): Promise<void> {
  await database.transaction(async (trx) => {
    await lockShelf(trx, caller, kind, id)
    await announceShelf(trx, kind, 'deleted', { id })
    await trx(SHELF_TABLES[kind].shelves).where('id', id).delete()
  })
}

/**
 * Changes the members of a shelf. `replace`: exactly these, in this order; `append`: adds these at the end; `remove`: removes these.
 * Members that the caller may not see stay, at the end. @throws not_found for the shelf or a member that is unknown or hidden
 */
export async function editMembers(database: Knex, caller: Caller, kind: ShelfKind, change: MemberChange): Promise<Shelf> {
  return await database.transaction(async (trx) => {
    const before = await lockShelf(trx, caller, kind, change.id)
    const earlier = await listAllMemberIds(trx, kind, change.id)
    await changeMembers(trx, caller, kind, change)
    await trx(SHELF_TABLES[kind].shelves).where('id', change.id).update({ updated_at: trx.fn.now() })
    await announceShelf(trx, kind, 'updated', { id: change.id, before: earlier, isOfMembers: true })
    return await viewOfChanged(trx, caller, kind, before)
  })
}

interface MemberChange {
  id: string
  how: 'replace' | 'append' | 'remove'
  memberIds: readonly string[]
}

async function changeMembers(trx: Knex, caller: Caller, kind: ShelfKind, change: MemberChange): Promise<void> {
  const { members, shelf } = SHELF_TABLES[kind]
  const given = change.memberIds.map((id) => id.toLowerCase())
  const present = await listAllMemberIds(trx, kind, change.id)
  const visible = new Set(await visibleIds(trx, caller, kind, present))
  const visiblePresent = present.filter((id) => visible.has(id))
  const absent = given.filter((id) => !visible.has(id))
  if (change.how === 'remove' && absent.length > 0)
    refuse('not_found', `${absent.slice(0, IDS_LISTED_MAX).join(', ')} is not on this shelf.`)
  const wanted =
    change.how === 'replace'
      ? given
      : change.how === 'append'
        ? [...visiblePresent, ...absent]
        : visiblePresent.filter((id) => !given.includes(id))
  const hidden = present.filter((id) => !visible.has(id))
  await trx(members).where(shelf, change.id).delete()
  await writeMembers(trx, caller, kind, { id: change.id, memberIds: wanted, hidden })
}

/** If only hidden members are left, the shelf itself is now hidden: the response shows it as it was. */
async function viewOfChanged(trx: Knex, caller: Caller, kind: ShelfKind, before: Shelf): Promise<Shelf> {
  return (await findShelf(trx, caller, kind, before.id)) ?? { ...before, cover: null, count: 0 }
}

/**
 * @param of.before its earlier members: users who could see it then but not now must be notified too
 * @param of.isOfMembers nothing but its members has changed: it concerns who sees one that came or went
 */
export async function announceShelf(
  trx: Knex.Transaction,
  kind: ShelfKind,
  how: 'created' | 'updated' | 'deleted',
  of: { id: string; before?: readonly string[]; isOfMembers?: boolean },
): Promise<void> {
  const now = await listAllMemberIds(trx, kind, of.id)
  const { before = now, isOfMembers = false } = of
  const [had, has] = [new Set(before), new Set(now)]
  const all = [...new Set([...before, ...now])]
  const changed = isOfMembers ? all.filter((id) => had.has(id) !== has.has(id)) : []
  const members = await listFacts(trx, kind, changed.length > 0 ? changed : all)
  const event =
    kind === 'collection'
      ? { type: `collection_${how}` as const, collectionId: of.id }
      : { type: `read_list_${how}` as const, readListId: of.id }
  // Only who may see every series sees an empty one; an id that is none of a series says so.
  await announce(trx, [{ event, members, ...(all.length === 0 && { seriesId: of.id }) }])
}

async function listAllMemberIds(trx: Knex, kind: ShelfKind, id: string): Promise<string[]> {
  const { members, member, shelf } = SHELF_TABLES[kind]
  return await trx(members).where(shelf, id).orderBy(['position', member]).pluck(member)
}

/** What decides who sees the series of these members, each once. Who sees one of an age sees those of lower ages too, so only the lowest is listed. */
async function listFacts(trx: Knex.Transaction, kind: ShelfKind, ids: readonly string[]): Promise<SeriesFacts[]> {
  const { things, seriesOf } = SHELF_TABLES[kind]
  const { rows } = await trx.raw(
    `SELECT "libraryId", min(age) AS age, "tagIds" FROM (
       SELECT ${things}.library_id AS "libraryId", a.age_rating AS age,
         ARRAY(SELECT CAST(t.sharing_tag_id AS text) FROM series_sharing_tags t WHERE t.series_id = ${seriesOf} ORDER BY 1) AS "tagIds"
       FROM ${things} LEFT JOIN series_metadata a ON a.series_id = ${seriesOf} WHERE ${things}.id = ANY(CAST(? AS uuid[]))
     ) AS listed GROUP BY "libraryId", age IS NULL, "tagIds"`,
    [[...ids]],
  )
  return rows as SeriesFacts[]
}

/** Locks first and reads afterwards, so that it sees the latest change. */
async function lockShelf(trx: Knex, caller: Caller, kind: ShelfKind, id: string): Promise<Shelf> {
  await trx(SHELF_TABLES[kind].shelves).where('id', id).forUpdate().first('id')
  const found = await findShelf(trx, caller, kind, id)
  return found ?? refuse('not_found', `There is no ${SHELF_TABLES[kind].noun} ${id}, or you may not see it.`)
}

async function writeMembers(
  trx: Knex,
  caller: Caller,
  kind: ShelfKind,
  list: { id: string; memberIds: readonly string[]; hidden?: readonly string[] },
): Promise<void> {
  const { members, member, shelf, things } = SHELF_TABLES[kind]
  const visible = new Set(await visibleIds(trx, caller, kind, list.memberIds))
  const ids = [...new Set(list.memberIds.map((id) => id.toLowerCase()))]
  const missing = ids.filter((id) => !visible.has(id))
  if (missing.length > 0)
    refuse('not_found', `There is no ${things} ${missing.slice(0, IDS_LISTED_MAX).join(', ')}, or you may not see it.`)
  const all = [...ids, ...(list.hidden ?? []).filter((id) => !visible.has(id))]
  if (all.length > SHELF_MEMBERS_MAX) refuse('invalid_value', `A ${SHELF_TABLES[kind].noun} has at most ${SHELF_MEMBERS_MAX} members.`)
  if (all.length === 0) return
  await trx.raw(
    `INSERT INTO ?? (??, ??, position) SELECT ?::uuid, m.id, m.place - 1 FROM unnest(?::uuid[]) WITH ORDINALITY AS m (id, place)`,
    [members, shelf, member, list.id, all],
  )
}

/** Which of these ids exist and are visible to the caller. Shared lock: none is deleted before it is added. */
async function visibleIds(trx: Knex, caller: Caller, kind: ShelfKind, ids: readonly string[]): Promise<string[]> {
  const { things, seriesOf } = SHELF_TABLES[kind]
  return await trx(things)
    .whereRaw('??.id = ANY(?::uuid[])', [things, [...ids]])
    .modify(visibleTo(caller, seriesOf))
    .orderBy(`${things}.id`)
    .forKeyShare()
    .pluck(`${things}.id`)
}

function refuseTaken(kind: ShelfKind, error: unknown): never {
  if (isUniqueViolation(error)) {
    throw new AppError('conflict', `Another ${kind === 'collection' ? 'collection' : 'read list'} has this name.`, { cause: error })
  }
  throw error
}
