import type { Knex } from 'knex'
import { isSwitchedOn, readSetting } from '#core/settings/chosen-setting-store.ts'

export const REGISTRATION_TAGS = 'auth.registration_tags'

/** Whether people may create accounts of their own: the sharing tags that each new account is allowed, or why registration is closed. */
type Registration = { isOpen: true; tagIds: string[] } | { isOpen: false; reason: string }

const closed = (reason: string): Registration => ({ isOpen: false, reason })

/**
 * In a transaction the tags stay locked until its end. A new account without grants sees everything. Where grants hide series from some users, those
 * users could simply create another account; so registration then needs tags for new accounts.
 */
export async function readRegistration(database: Knex): Promise<Registration> {
  if (!(await isSwitchedOn(database, 'auth.registration_enabled')))
    return closed('Registration is closed on this server; ask an administrator for an account.')
  const listed = await readSetting(database, REGISTRATION_TAGS)
  const names = namesOf(listed)
  if (names.length === 0) {
    const isRuled = (await database('user_sharing_grants').first('id')) !== undefined
    return isRuled
      ? closed(
          `Registration is closed while sharing tags decide who sees what. An administrator can open it with the setting ${REGISTRATION_TAGS}, which names the tags that new accounts are allowed.`,
        )
      : { isOpen: true, tagIds: [] }
  }
  const tagIds: string[] = await namedTags(database, names).orderBy('t.id').forShare().pluck('t.id')
  const missing = await listUnknownTags(database, listed)
  return missing.length > 0
    ? closed(`Registration is closed: the setting ${REGISTRATION_TAGS} names a sharing tag that does not exist. Tell an administrator.`)
    : { isOpen: true, tagIds }
}

/** The names in the setting that no sharing tag has, ignoring case. */
export async function listUnknownTags(database: Knex, listed: string): Promise<string[]> {
  const rows = await database
    .from(database.raw('unnest(CAST(? AS text[])) AS listed(name)', [namesOf(listed)]))
    .whereNotExists(database('sharing_tags AS t').whereRaw('lower(t.name) = lower(listed.name)').select(database.raw('1')))
    .select('listed.name')
  return rows.map(({ name }) => name)
}

const namedTags = (database: Knex, names: readonly string[]): Knex.QueryBuilder =>
  database('sharing_tags AS t').whereRaw('lower(t.name) IN (SELECT lower(listed) FROM unnest(CAST(? AS text[])) AS listed)', [[...names]])

const namesOf = (listed: string): string[] =>
  listed
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
