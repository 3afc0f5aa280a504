import type { Knex } from 'knex'
import { isSwitchedOn, readSetting } from '#core/settings/chosen-setting-store.ts'

export const REGISTRATION_TAGS = 'auth.registration_tags'

/** Whether people may make accounts of their own: the sharing tags that each is then allowed, or why not. */
export type Registration = { isOpen: true; tagIds: string[] } | { isOpen: false; reason: string }

const closed = (reason: string): Registration => ({ isOpen: false, reason })

/**
 * In a transaction the tags stay until its end. A new account sees everything unless it is allowed something: where some are kept from something, that
 * would make nothing of it, for they need only make another account.
 */
export async function readRegistration(database: Knex): Promise<Registration> {
  if (!(await isSwitchedOn(database, 'auth.registration_enabled')))
    return closed('Nobody makes an account of their own here; ask an administrator for one.')
  const said = await readSetting(database, REGISTRATION_TAGS)
  const names = namesOf(said)
  if (names.length === 0) {
    const isRuled = (await database('user_sharing_grants').first('id')) !== undefined
    return isRuled
      ? closed(
          `Nobody makes an account of their own here while sharing tags rule who sees what. An administrator can change that: the setting ${REGISTRATION_TAGS} names the tags that new accounts are allowed.`,
        )
      : { isOpen: true, tagIds: [] }
  }
  const tagIds: string[] = await namedTags(database, names).orderBy('t.id').forShare().pluck('t.id')
  const missing = await listUnknownTags(database, said)
  return missing.length > 0
    ? closed(
        `Nobody makes an account of their own here: the setting ${REGISTRATION_TAGS} names a sharing tag that there is not. Tell an administrator.`,
      )
    : { isOpen: true, tagIds }
}

/** Those names of the setting that no sharing tag has, in any case. */
export async function listUnknownTags(database: Knex, said: string): Promise<string[]> {
  const rows = await database
    .from(database.raw('unnest(CAST(? AS text[])) AS said(name)', [namesOf(said)]))
    .whereNotExists(database('sharing_tags AS t').whereRaw('lower(t.name) = lower(said.name)').select(database.raw('1')))
    .select('said.name')
  return rows.map(({ name }) => name)
}

const namedTags = (database: Knex, names: readonly string[]): Knex.QueryBuilder =>
  database('sharing_tags AS t').whereRaw('lower(t.name) IN (SELECT lower(said) FROM unnest(CAST(? AS text[])) AS said)', [[...names]])

const namesOf = (said: string): string[] =>
  said
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
