import type { Knex } from 'knex'
import type { NewGrant, SharingGrant } from '#core/account/access.ts'
import { type Caller, refuseBeyond } from '#core/account/caller.ts'
import {
  type NewSharingTag,
  type SharingTag,
  type SharingTagEdit,
  type SharingTagSummary,
  TAGS_PER_SERIES_MAX,
} from '#core/account/sharing.ts'
import { permissionsOf } from '#core/account/user.ts'
import { announceGrants, listSharingGrants, lockUser } from '#core/account/user-store.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { countRows } from '#core/database/select.ts'
import { isUniqueViolation } from '#core/database/unique-violation.ts'
import { announceSeries } from '#core/events/event-store.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'

/** Of the users who would see more, the message names this many. */
const USERS_NAMED_MAX = 20
/** The changed field in the events of a series. */
const SHARING = ['sharingTags']

type TagRow = Omit<SharingTag, 'createdAt' | 'updatedAt'> & { createdAt: Date; updatedAt: Date }

/** One page of all sharing tags by name. Series that the caller may not see are not counted. */
export async function listSharingTags(
  database: Knex,
  caller: Caller,
  window: { offset: number; limit: number },
): Promise<{ items: SharingTag[]; total: number }> {
  const [rows, total] = await Promise.all([
    selectTags(database, caller).orderByRaw('lower(t.name), t.id').offset(window.offset).limit(window.limit),
    countRows(database('sharing_tags')),
  ])
  return { items: rows.map(tagOf), total }
}

/** @throws not_found */
export async function getSharingTag(database: Knex, caller: Caller, tagId: string): Promise<SharingTag> {
  const [row] = await selectTags(database, caller).where('t.id', tagId)
  return row ? tagOf(row) : refuseUnknown([tagId])
}

/** @throws conflict when the name is taken, whatever its case */
export async function addSharingTag(database: Knex, caller: Caller, tag: NewSharingTag): Promise<SharingTag> {
  const [row] = await database('sharing_tags')
    .insert({ name: tag.name, description: tag.description ?? null }, 'id')
    .catch(refuseTaken)
  return await getSharingTag(database, caller, row.id)
}

/** Absent members do not change. @throws not_found, conflict */
export async function editSharingTag(database: Knex, caller: Caller, tagId: string, edit: SharingTagEdit): Promise<SharingTag> {
  const change = {
    ...(edit.name !== undefined && { name: edit.name }),
    ...(edit.description !== undefined && { description: edit.description }),
  }
  if (Object.keys(change).length > 0) {
    await database('sharing_tags')
      .where('id', tagId)
      .update({ ...change, updated_at: database.fn.now() })
      .catch(refuseTaken)
  }
  return await getSharingTag(database, caller, tagId)
}

/**
 * Removes the tag from every series and every user. Without confirmation, refuses if a user would then see more: a user who is denied the tag, or
 * whose only allowed tag it is, since a user without allowed tags sees everything.
 * @throws not_found, conflict with those users
 */
export async function removeSharingTag(database: Knex, tagId: string, { isConfirmed }: { isConfirmed: boolean }): Promise<void> {
  await database.transaction(async (trx) => {
    // Locks out new grants of this tag.
    if (!(await trx('sharing_tags').where('id', tagId).forUpdate().first('id'))) refuseUnknown([tagId])
    const userIds: string[] = await trx('user_sharing_grants').where('sharing_tag_id', tagId).pluck('user_id')
    // Locked: if two tags are deleted at the same time, each would otherwise count the other as remaining.
    await trx('users').whereRaw('id = ANY(CAST(? AS uuid[]))', [userIds]).orderBy('id').forNoKeyUpdate().select('id')
    if (!isConfirmed) await refuseWider(trx, tagId)
    await trx('sharing_tags').where('id', tagId).delete()
    await announceGrants(trx, userIds)
  })
}

async function refuseWider(trx: Knex, tagId: string): Promise<void> {
  const wider: { id: string; username: string }[] = await trx('user_sharing_grants AS g')
    .join('users', 'users.id', 'g.user_id')
    .where('g.sharing_tag_id', tagId)
    .whereRaw(
      `(g.access_mode = 'deny' OR NOT EXISTS (
        SELECT 1 FROM user_sharing_grants o WHERE o.user_id = g.user_id AND o.access_mode = 'allow' AND o.sharing_tag_id <> g.sharing_tag_id))`,
    )
    .orderByRaw('lower(users.username)')
    .select('users.id', 'users.username')
  if (wider.length === 0) return
  const names = wider.slice(0, USERS_NAMED_MAX).map(({ username }) => username)
  const others = wider.length > names.length ? ` and ${wider.length - names.length} others` : ''
  refuse(
    'conflict',
    `Without this tag ${names.join(', ')}${others} would see more series. Give them other grants first, or delete the tag with ?confirm=true.`,
    { details: { users: wider.slice(0, USERS_NAMED_MAX) } },
  )
}

/** The tags of a series by name. @throws not_found also for a series that the caller may not see */
export async function listSeriesTags(database: Knex, caller: Caller, seriesId: string): Promise<SharingTagSummary[]> {
  await checkSeries(database, caller, seriesId)
  return await readSeriesTags(database, seriesId)
}

/** Replaces the tags of the series. @throws not_found for the series or any of the tags; then nothing has changed */
export async function setSeriesTags(
  database: Knex,
  caller: Caller,
  series: { seriesId: string; tagIds: readonly string[] },
): Promise<SharingTagSummary[]> {
  const { seriesId, tagIds } = series
  return await database.transaction(async (trx) => {
    await checkSeries(trx, caller, seriesId)
    await lockSeries(trx, seriesId)
    await checkTags(trx, tagIds)
    await trx('series_sharing_tags')
      .where('series_id', seriesId)
      .whereRaw('sharing_tag_id <> ALL(?::uuid[])', [[...tagIds]])
      .delete()
    await insertTags(trx, seriesId, tagIds)
    await announceSeries(trx, [seriesId], SHARING)
    return await readSeriesTags(trx, seriesId)
  })
}

/** Adds one tag to a series; does nothing when the series has it. @throws not_found */
export async function addSeriesTag(
  database: Knex,
  caller: Caller,
  series: { seriesId: string; tagId: string },
): Promise<SharingTagSummary[]> {
  return await database.transaction(async (trx) => {
    await checkSeries(trx, caller, series.seriesId)
    await lockSeries(trx, series.seriesId)
    await checkTags(trx, [series.tagId])
    await insertTags(trx, series.seriesId, [series.tagId])
    const tags = await readSeriesTags(trx, series.seriesId)
    if (tags.length > TAGS_PER_SERIES_MAX)
      refuse('invalid_value', `A series has at most ${TAGS_PER_SERIES_MAX} sharing tags; remove one first.`)
    await announceSeries(trx, [series.seriesId], SHARING)
    return tags
  })
}

/** Removes all sharing tags from many series. */
export async function clearSeriesTags(trx: Knex, seriesIds: readonly string[]): Promise<void> {
  await trx('series_sharing_tags')
    .whereRaw('series_id = ANY(CAST(? AS uuid[]))', [[...seriesIds]])
    .delete()
}

/** @throws not_found also when the series does not have the tag */
export async function removeSeriesTag(database: Knex, caller: Caller, series: { seriesId: string; tagId: string }): Promise<void> {
  await database.transaction(async (trx) => {
    await checkSeries(trx, caller, series.seriesId)
    const removed = await trx('series_sharing_tags').where({ series_id: series.seriesId, sharing_tag_id: series.tagId }).delete()
    if (removed === 0) refuse('not_found', `The series does not have the sharing tag ${series.tagId}.`)
    await announceSeries(trx, [series.seriesId], SHARING)
  })
}

/** @throws not_found for an unknown user */
export async function listGrants(database: Knex, userId: string): Promise<SharingGrant[]> {
  await checkUser(database, userId)
  return await listSharingGrants(database, userId)
}

/** Allows or denies a user the series with the tag; replaces a grant for the same tag. @throws not_found, forbidden (may do more than the caller) */
export async function setGrant(database: Knex, caller: Caller, userId: string, grant: NewGrant): Promise<SharingGrant> {
  await database.transaction(async (trx) => {
    // Lock order: the tag, its user, and then the grant, as where tags are deleted and rules are set.
    await checkTags(trx, [grant.sharingTagId])
    await checkRule(trx, caller, userId)
    await trx('user_sharing_grants')
      .insert({ user_id: userId, sharing_tag_id: grant.sharingTagId, access_mode: grant.accessMode })
      .onConflict(['user_id', 'sharing_tag_id'])
      .merge(['access_mode'])
    await announceGrants(trx, [userId])
  })
  const grants = await listSharingGrants(database, userId)
  return grants.find(({ sharingTagId }) => sharingTagId === grant.sharingTagId) ?? refuseUnknown([grant.sharingTagId])
}

/** @throws not_found also when the user has no grant for the tag; forbidden when the user may do more than the caller */
export async function removeGrant(database: Knex, caller: Caller, userId: string, tagId: string): Promise<void> {
  await database.transaction(async (trx) => {
    await checkRule(trx, caller, userId)
    const removed = await trx('user_sharing_grants').where({ user_id: userId, sharing_tag_id: tagId }).delete()
    if (removed === 0) refuse('not_found', `The user ${userId} has no grant for the sharing tag ${tagId}.`)
    await announceGrants(trx, [userId])
  })
}

function selectTags(database: Knex, caller: Caller): Knex.QueryBuilder<object, TagRow[]> {
  const series = database('series_sharing_tags AS s').whereRaw('s.sharing_tag_id = t.id').modify(visibleTo(caller, 's.series_id'))
  const users = database('user_sharing_grants AS g').whereRaw('g.sharing_tag_id = t.id')
  return database('sharing_tags AS t')
    .select('t.id', 't.name', 't.description', 't.created_at AS createdAt', 't.updated_at AS updatedAt')
    .select(series.select(database.raw('count(*)::int')).as('seriesCount'), users.select(database.raw('count(*)::int')).as('userCount'))
}

const tagOf = (row: TagRow): SharingTag => ({ ...row, createdAt: row.createdAt.toISOString(), updatedAt: row.updatedAt.toISOString() })

async function readSeriesTags(database: Knex, seriesId: string): Promise<SharingTagSummary[]> {
  return await database('series_sharing_tags AS s')
    .join('sharing_tags AS t', 't.id', 's.sharing_tag_id')
    .where('s.series_id', seriesId)
    .orderByRaw('lower(t.name), t.id')
    .select('t.id', 't.name', 't.description')
}

async function insertTags(database: Knex, seriesId: string, tagIds: readonly string[]): Promise<void> {
  if (tagIds.length === 0) return
  const rows = [...new Set(tagIds.map((id) => id.toLowerCase()))].map((id) => ({ series_id: seriesId, sharing_tag_id: id }))
  await database('series_sharing_tags').insert(rows).onConflict(['series_id', 'sharing_tag_id']).ignore()
}

async function checkSeries(database: Knex, caller: Caller, seriesId: string): Promise<void> {
  const found = await database('series').where('series.id', seriesId).modify(visibleTo(caller, 'series.id')).first('id')
  if (!found) refuse('not_found', `There is no series ${seriesId}, or you may not see it.`)
}

/** Serializes changes to the tags of one series; otherwise each would count without the tags of the other. */
async function lockSeries(trx: Knex, seriesId: string): Promise<void> {
  await trx('series').where('id', seriesId).forNoKeyUpdate().first('id')
}

async function checkUser(database: Knex, userId: string): Promise<void> {
  if (!(await database('users').where('id', userId).first('id'))) refuse('not_found', `There is no user ${userId}.`)
}

/** A caller may not change what a user with more permissions sees. Locks the user. @throws not_found, forbidden */
async function checkRule(trx: Knex, caller: Caller, userId: string): Promise<void> {
  const user = (await lockUser(trx, userId)) ?? refuse('not_found', `There is no user ${userId}.`)
  refuseBeyond(caller, permissionsOf(user))
}

/** Also locks the tags, so that none is deleted before it is used. */
async function checkTags(database: Knex, tagIds: readonly string[]): Promise<void> {
  const found: string[] = await database('sharing_tags')
    .whereRaw('id = ANY(?::uuid[])', [[...tagIds]])
    .orderBy('id')
    .forShare()
    .pluck('id')
  const missing = tagIds.filter((id) => !found.includes(id.toLowerCase()))
  if (missing.length > 0) refuseUnknown(missing)
}

function refuseUnknown(tagIds: readonly string[]): never {
  refuse('not_found', `There is no sharing tag ${tagIds.slice(0, 3).join(', ')}.`)
}

function refuseTaken(error: unknown): never {
  throw isUniqueViolation(error) ? new AppError('conflict', 'Another sharing tag has this name.', { cause: error }) : error
}
