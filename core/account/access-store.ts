import type { Knex } from 'knex'
import {
  type Access,
  type AccessEdit,
  type AccessRule,
  type AccessRuleEdit,
  type AgeRule,
  type NewGrant,
  NO_RULE,
  restricts,
} from '#core/account/access.ts'
import { type Caller, isAdministrator, refuseBeyond } from '#core/account/caller.ts'
import { permissionsOf, type User } from '#core/account/user.ts'
import { announceGrants, findUser, listSharingGrants, lockUser } from '#core/account/user-store.ts'
import { type Viewer, visibleLibrary } from '#core/account/visibility.ts'
import { refuse, refuseValue } from '#core/foundation/errors.ts'

interface RuleRow {
  viewer_id: string
  all_libraries: boolean
  library_ids: string[]
  age_mode: AgeRule['mode'] | null
  age_years: number
  shows_unrated: boolean
}

/**
 * All that decides what a user may see; without rules, all libraries and all ages.
 * @param viewer who asks: libraries that they do not see are left out; null: nobody but the server itself
 * @throws not_found
 */
export async function getAccess(database: Knex, userId: string, viewer: Viewer | null = null): Promise<Access> {
  if ((await findUser(database, userId)) === null) refuse('not_found', 'There is no such user.')
  const rules = await readRules(database, [userId], viewer)
  return { ...(rules.get(userId) ?? NO_RULE), sharingTags: await listSharingGrants(database, userId) }
}

/** The rules of users or of API keys, by their ids. @param viewer as above */
export async function readRules(database: Knex, ids: readonly string[], viewer: Viewer | null): Promise<Map<string, AccessRule>> {
  const listed = database('access_libraries AS listed')
    .whereRaw('listed.viewer_id = r.viewer_id')
    .modify((query) => viewer && query.modify(visibleLibrary(viewer, 'listed.library_id')))
    .select(database.raw(`coalesce(array_agg(listed.library_id::text ORDER BY listed.library_id), '{}')`))
  const rows: RuleRow[] = await database('access_rules AS r')
    .whereRaw('r.viewer_id = ANY(CAST(? AS uuid[]))', [[...ids]])
    .select('r.viewer_id', 'r.all_libraries', 'r.age_mode', 'r.age_years', 'r.shows_unrated', listed.as('library_ids'))
  return new Map(rows.map((row) => [row.viewer_id, ruleOf(row)]))
}

const ruleOf = (row: RuleRow): AccessRule => ({
  allLibraries: row.all_libraries,
  libraryIds: row.library_ids,
  age: row.age_mode && { mode: row.age_mode, years: row.age_years, unrated: row.shows_unrated ? 'show' : 'hide' },
})

/**
 * Replaces the rules of a user. Answers that are being sent to them end, and their event streams too.
 * @param database may be a transaction, which this then belongs to
 * @param caller null: the operator at the command line
 * @throws not_found; forbidden (only administrators do this, and only for users who may do no more than they); conflict (a rule for an administrator, or
 *   for oneself); invalid_value (a library or a tag is unknown or named twice; libraries with `allLibraries`)
 */
export async function setAccess(database: Knex, caller: Caller | null, userId: string, edit: AccessEdit): Promise<Access> {
  return await database.transaction(async (trx) => {
    refuseOthers(caller)
    // Lock order: what is named, and then the user, as where libraries and tags are deleted.
    await lockNamed(trx, caller, edit, '')
    const user = (await lockUser(trx, userId)) ?? refuse('not_found', 'There is no such user.')
    refuseBeyond(caller, permissionsOf(user))
    if (caller?.userId === userId && restricts(edit))
      refuse('conflict', 'You cannot set a rule for yourself: you are an administrator, and administrators see everything.')
    await writeAccess(trx, user, edit)
    await announceGrants(trx, [userId])
    return await getAccess(trx, userId, caller)
  })
}

/** Gives a user who was just added their rules, in the transaction that adds them. @param path of the rules in the request @throws as setAccess */
export async function setFirstAccess(trx: Knex, caller: Caller | null, user: User, edit: AccessEdit, path: string): Promise<void> {
  refuseOthers(caller)
  await lockNamed(trx, caller, edit, path)
  await writeAccess(trx, user, edit)
}

/** Whether a user, or an API key, has a rule. */
export async function isRuled(database: Knex, id: string): Promise<boolean> {
  return (await database('access_rules').where('viewer_id', id).first('viewer_id')) !== undefined
}

/**
 * Refuses what would let an API key with a rule see, or hand on, what the rule hides from it; in a session that an app has begun with such a key as well.
 * @param act what is refused, as the end of a sentence
 * @throws forbidden
 */
export async function refuseNarrowed(database: Knex, { narrowedBy }: Viewer, act: string): Promise<void> {
  if (narrowedBy === null) return
  // One that was deleted meanwhile has taken its rule along.
  const free = database('api_keys').where('id', narrowedBy).whereNotExists(database('access_rules').where('api_key_id', narrowedBy))
  if ((await free.first('id')) === undefined)
    refuse('forbidden', `This API key has a rule of what it may see, so it cannot ${act}. Sign in, or use an API key without a rule.`)
}

/** Replaces the rule of an API key; null removes it. The libraries are locked already. */
export async function writeKeyRule(trx: Knex, apiKeyId: string, rule: AccessRuleEdit | null): Promise<void> {
  await writeRule(trx, { api_key_id: apiKeyId }, rule)
}

/** Only administrators decide who sees what. @throws forbidden */
function refuseOthers(caller: Caller | null): void {
  if (caller === null || isAdministrator(caller)) return
  const permission = 'system-admin'
  refuse('forbidden', `Only administrators decide what a user may see: this requires the permission ${permission}.`, {
    details: { permission },
  })
}

async function writeAccess(trx: Knex, user: User, edit: AccessEdit): Promise<void> {
  if (restricts(edit)) refuseAdministrator(user)
  await writeRule(trx, { user_id: user.id }, edit)
  if (edit.sharingTags) await replaceGrants(trx, user.id, edit.sharingTags)
}

/** A rule for an administrator would only seem to hide anything: they can remove it. @throws conflict */
function refuseAdministrator(user: User): void {
  if (!permissionsOf(user).has('system-admin')) return
  refuse(
    'conflict',
    `${user.username} is an administrator, and administrators see everything. Take the permission system-admin away first.`,
  )
}

async function writeRule(trx: Knex, owner: { user_id: string } | { api_key_id: string }, rule: AccessRuleEdit | null): Promise<void> {
  // Its list goes with it.
  await trx('access_rules').where(owner).delete()
  if (rule === null || !restricts(rule)) return
  const { age } = rule
  const [{ viewer_id }] = await trx('access_rules').insert(
    {
      ...owner,
      all_libraries: rule.allLibraries,
      ...(age && {
        age_mode: age.mode,
        age_years: age.years,
        shows_unrated: (age.unrated ?? (age.mode === 'up_to' ? 'hide' : 'show')) === 'show',
      }),
    },
    ['viewer_id'],
  )
  if (rule.libraryIds.length > 0) await trx('access_libraries').insert(rule.libraryIds.map((id) => ({ viewer_id, library_id: id })))
}

async function replaceGrants(trx: Knex, userId: string, grants: readonly NewGrant[]): Promise<void> {
  const kept = grants.map(({ sharingTagId }) => sharingTagId)
  await trx('user_sharing_grants').where('user_id', userId).whereRaw('sharing_tag_id <> ALL(CAST(? AS uuid[]))', [kept]).delete()
  if (grants.length === 0) return
  await trx('user_sharing_grants')
    .insert(grants.map((grant) => ({ user_id: userId, sharing_tag_id: grant.sharingTagId, access_mode: grant.accessMode })))
    .onConflict(['user_id', 'sharing_tag_id'])
    .merge(['access_mode'])
}

/** Locks the libraries and tags of an edit until its end, so that none is deleted before it is used. @throws invalid_value */
export async function lockNamed(trx: Knex, viewer: Viewer | null, edit: AccessEdit, path: string): Promise<void> {
  await lockLibraries(trx, viewer, edit, path)
  const tagIds = edit.sharingTags?.map(({ sharingTagId }) => sharingTagId) ?? []
  const known = trx('sharing_tags').whereRaw('id = ANY(CAST(? AS uuid[]))', [tagIds])
  const found: string[] = await known.orderBy('id').forShare().pluck('id')
  checkIds(tagIds, found, { noun: 'sharing tag', pathOf: (index) => `${path}/sharingTags/${index}/sharingTagId` })
}

/**
 * Locks the libraries of a rule, before its user is locked.
 * @param viewer who names them; null: the operator at the command line
 * @throws invalid_value (a library is unknown, or named twice; libraries with `allLibraries`)
 */
export async function lockLibraries(trx: Knex, viewer: Viewer | null, rule: AccessRuleEdit, path: string): Promise<void> {
  const { allLibraries, libraryIds } = rule
  if (allLibraries && libraryIds.length > 0)
    refuseValue(
      `${path}/libraryIds`,
      'With allLibraries the list of libraries must be empty. Set allLibraries to false to show only these.',
    )
  const known = trx('libraries').whereRaw('libraries.id = ANY(CAST(? AS uuid[]))', [libraryIds])
  if (viewer !== null) known.modify(visibleLibrary(viewer, 'libraries.id'))
  const found: string[] = await known.orderBy('libraries.id').forKeyShare().pluck('libraries.id')
  checkIds(libraryIds, found, { noun: 'library', pathOf: (index) => `${path}/libraryIds/${index}` })
}

/** @throws invalid_value for the first id that is unknown, or given twice */
function checkIds(ids: readonly string[], found: readonly string[], of: { noun: string; pathOf: (index: number) => string }): void {
  const left = new Set(found)
  ids.forEach((id, index) => {
    if (left.delete(id.toLowerCase())) return
    const wrong = found.includes(id.toLowerCase()) ? `The ${of.noun} ${id} is named twice; name it once.` : `There is no ${of.noun} ${id}.`
    refuseValue(of.pathOf(index), wrong)
  })
}

/** Announces to those whose rules name a library that it is about to be deleted; call it in the transaction that deletes the library. */
export async function announceListed(trx: Knex.Transaction, libraryId: string): Promise<void> {
  const listed = trx('access_libraries AS l')
    .join('access_rules AS r', 'r.viewer_id', 'l.viewer_id')
    .leftJoin('api_keys AS k', 'k.id', 'r.api_key_id')
    .where('l.library_id', libraryId)
    .select(trx.raw('coalesce(r.user_id, k.user_id)'))
  // Locked in the order of other changes of several users.
  const userIds: string[] = await trx('users').whereIn('id', listed).orderBy('id').forNoKeyUpdate().pluck('id')
  await announceGrants(trx, userIds)
}
