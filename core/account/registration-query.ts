import type { Knex } from 'knex'
import { type AccessEdit, type AccessRuleEdit, NO_RULE } from '#core/account/access.ts'
import { refuse } from '#core/foundation/errors.ts'
import { type ListedAge, readAge } from '#core/settings/age-text.ts'
import { isSwitchedOn, readSetting } from '#core/settings/chosen-setting-store.ts'

const REGISTRATION_TAGS = 'auth.registration_tags'
const NEW_USER_LIBRARIES = 'auth.new_user_libraries'
const NEW_USER_AGE = 'auth.new_user_age'

/** Whether people may create accounts of their own: what each new account may see, or why registration is closed. */
type Registration = { isOpen: true; access: AccessEdit } | { isOpen: false; reason: string }

const closed = (reason: string): Registration => ({ isOpen: false, reason })

/**
 * In a transaction the tags stay locked until its end. A new account without rules sees everything. Where rules of one kind hide something from some
 * users, those users could simply create another account; so registration then needs a rule of that kind for new accounts.
 */
export async function readRegistration(database: Knex): Promise<Registration> {
  if (!(await isSwitchedOn(database, 'auth.registration_enabled')))
    return closed('Registration is closed on this server; ask an administrator for an account.')
  const listed = await readSetting(database, REGISTRATION_TAGS)
  const names = namesOf(listed)
  const unnamed = (await listUnknownTags(database, listed)).length > 0
  if (unnamed)
    return closed(
      `Registration is closed: the setting ${REGISTRATION_TAGS} names a sharing tag that does not exist. Tell an administrator.`,
    )
  const { rule, problem } = await readDefault(database)
  if (problem !== null) return closed(`Registration is closed: ${problem} Tell an administrator.`)
  const tagIds: string[] = names.length === 0 ? [] : await namedTags(database, names).orderBy('t.id').forShare().pluck('t.id')
  if (tagIds.length === 0 && (await database('user_sharing_grants').first('id')))
    return closed(closedWhile('sharing tags decide', REGISTRATION_TAGS, 'the tags that new accounts are allowed'))
  if (rule.allLibraries && (await database('access_rules').where('all_libraries', false).first('viewer_id')))
    return closed(closedWhile('lists of libraries decide', NEW_USER_LIBRARIES, 'the libraries of new accounts'))
  if (rule.age === null && (await database('access_rules').whereNotNull('age_mode').first('viewer_id')))
    return closed(closedWhile('age rules decide', NEW_USER_AGE, 'the age rule of new accounts'))
  return { isOpen: true, access: { ...rule, sharingTags: tagIds.map((sharingTagId) => ({ sharingTagId, accessMode: 'allow' as const })) } }
}

const closedWhile = (what: string, setting: string, named: string): string =>
  `Registration is closed while ${what} who sees what. An administrator can open it with the setting ${setting}, which names ${named}.`

/** The rule of accounts that an administrator creates without another. @throws conflict when the settings name a library that is not there */
export async function readDefaultRule(database: Knex): Promise<AccessRuleEdit> {
  const { rule, problem } = await readDefault(database)
  return problem === null ? rule : refuse('conflict', `${problem} Correct it, or say what the new user may see.`)
}

async function readDefault(database: Knex): Promise<{ rule: AccessRuleEdit; problem: string | null }> {
  const listed = await readSetting(database, NEW_USER_LIBRARIES)
  const { libraryIds, problem } = await findLibraries(database, listed)
  const age: ListedAge | null = readAge(await readSetting(database, NEW_USER_AGE))
  const rule = namesOf(listed).length === 0 ? { ...NO_RULE, age } : { allLibraries: false, libraryIds, age }
  return { rule, problem: problem && `The setting ${NEW_USER_LIBRARIES} ${problem}.` }
}

/** What is wrong with a value of a setting about new accounts, as a predicate after its name; null: nothing. */
export async function findAccountProblem(database: Knex, key: string, value: string): Promise<string | null> {
  if (key === NEW_USER_LIBRARIES) return (await findLibraries(database, value)).problem
  const [unknown] = key === REGISTRATION_TAGS ? await listUnknownTags(database, value) : []
  return unknown === undefined ? null : `names "${unknown}", which is not a sharing tag`
}

/** The libraries in a list of names or ids, ignoring case, each once. */
async function findLibraries(database: Knex, listed: string): Promise<{ libraryIds: string[]; problem: string | null }> {
  const rows: { name: string; ids: string[] }[] = await database
    .from(database.raw('unnest(CAST(? AS text[])) AS listed(name)', [namesOf(listed)]))
    .select(
      'listed.name',
      database.raw(
        'array(SELECT l.id::text FROM libraries l WHERE lower(l.name) = lower(listed.name) OR l.id::text = lower(listed.name)) AS ids',
      ),
    )
  const wrong = rows.find(({ ids }) => ids.length !== 1)
  const problem =
    wrong === undefined
      ? null
      : wrong.ids.length === 0
        ? `names "${wrong.name}", which is not a library`
        : `names "${wrong.name}", the name of ${wrong.ids.length} libraries: write the id of one`
  return { libraryIds: [...new Set(rows.flatMap(({ ids }) => ids))], problem }
}

/** The names in the setting that no sharing tag has, ignoring case. */
async function listUnknownTags(database: Knex, listed: string): Promise<string[]> {
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
