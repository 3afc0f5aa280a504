import { isDeepStrictEqual } from 'node:util'
import type { Static } from 'typebox'
import Type from 'typebox'
import { Check } from 'typebox/value'
import { type KomgaAccess, type KomgaUser, komgaAccess, rolesOf } from '#api/komga/user-view.ts'
import { ACCESS_LIBRARIES_MAX, type AccessRule, AgeRule, NO_RULE } from '#core/account/access.ts'
import type { Role } from '#core/account/permission.ts'
import { Email, Password, type User } from '#core/account/user.ts'
import { AnyInteger, isUuid, Nullable } from '#core/foundation/schema.ts'
import { readNames } from '#core/metadata/name.ts'
import { refuseMember } from '#core/metadata/patch-rules.ts'

const Texts = (maxItems: number) => Type.Optional(Nullable(Type.Array(Type.String({ maxLength: 200 }), { maxItems })))
const restrictions = {
  roles: Texts(200),
  sharedLibraries: Type.Optional(
    Nullable(
      Type.Object(
        { all: Type.Optional(Type.Boolean()), libraryIds: Texts(ACCESS_LIBRARIES_MAX) },
        { additionalProperties: true, maxProperties: 10 },
      ),
    ),
  ),
  ageRestriction: Type.Optional(
    Nullable(
      Type.Object(
        { age: Type.Optional(Nullable(AnyInteger())), restriction: Type.Optional(Nullable(Type.String({ maxLength: 100 }))) },
        { additionalProperties: true, maxProperties: 10 },
      ),
    ),
  ),
  labelsAllow: Texts(200),
  labelsExclude: Texts(200),
}
const open = { additionalProperties: true, maxProperties: 100 } as const

export const NewKomgaUser = Type.Object({ email: Email, password: Password, ...restrictions }, { ...open, title: 'NewKomgaUser' })
export const KomgaUserEdit = Type.Object(restrictions, { ...open, title: 'KomgaUserEdit' })
export type KomgaUserEdit = Static<typeof KomgaUserEdit>

/** The changes of an edit of a user; a member that is absent, or equals what was shown, changes nothing. */
export interface UserChange {
  role?: Role
  libraries?: Pick<AccessRule, 'allLibraries' | 'libraryIds'>
  /** Null removes the rule. */
  age?: Pick<AgeRule, 'mode' | 'years'> | null
  /** Names of sharing tags: a user with allowed tags sees only series with one of them, and never one with an excluded tag. */
  labelsAllow?: string[]
  labelsExclude?: string[]
}

/** Every user has these rights here, so that they cannot be removed. */
const ALWAYS = ['FILE_DOWNLOAD', 'PAGE_STREAMING']
const KNOWN = ['ADMIN', ...ALWAYS, 'KOREADER_SYNC', 'USER']

const sorted = (names: readonly string[]) => JSON.stringify([...names].sort())

/**
 * Reads the roles and restrictions of a user. Refuses what this server does not have instead of ignoring it: the user would see series that they should not.
 * @param shown the user as apps see them, or NEW_USER with what new accounts see
 * @throws invalid_value with a sentence
 */
export function readUserEdit(edit: KomgaUserEdit, shown: Pick<KomgaUser, 'roles'> & KomgaAccess): UserChange {
  const libraries = readLibraries(edit.sharedLibraries)
  const age = readAge(edit.ageRestriction)
  const [labelsAllow, labelsExclude] = (['labelsAllow', 'labelsExclude'] as const).map((name) => {
    const given = edit[name]
    // Null removes all, as from Komga.
    return given === undefined || sorted(given ?? []) === sorted(shown[name]) ? undefined : readNames(given ?? [], `/${name}`)
  })
  const isSameList =
    libraries?.allLibraries === shown.sharedAllLibraries && sorted(libraries.libraryIds) === sorted(shown.sharedLibrariesIds)
  const isSameAge = isDeepStrictEqual(age?.shown ?? null, shown.ageRestriction)
  return {
    ...readRoles(edit.roles, shown.roles),
    ...(libraries && !isSameList && { libraries }),
    ...(age !== undefined && !isSameAge && { age: age === null ? null : age.rule }),
    ...(labelsAllow && { labelsAllow }),
    ...(labelsExclude && { labelsExclude }),
  }
}

/** Undefined if the edit does not say which libraries. */
function readLibraries(given: KomgaUserEdit['sharedLibraries']): UserChange['libraries'] {
  const ids = given?.libraryIds
  if (!given || (given.all === undefined && !ids)) return undefined
  // With all of them apps also send the list.
  if (given.all) return { allLibraries: true, libraryIds: [] }
  const wrong = ids?.find((id) => !isUuid(id))
  if (wrong !== undefined) refuseLibrary(wrong)
  return { allLibraries: false, libraryIds: [...new Set(ids?.map((id) => id.toLowerCase()))] }
}

/** @throws invalid_value: there is no library with this id */
export function refuseLibrary(id: string): never {
  refuseMember(
    '/sharedLibraries/libraryIds',
    `has "${id.slice(0, 40)}", which is no library of this server; read the list of libraries again`,
  )
}

const MODES = { ALLOW_ONLY: 'up_to', EXCLUDE: 'not_from' } as const

/** Null: no rule. Undefined if the edit does not say it. */
function readAge(given: KomgaUserEdit['ageRestriction']) {
  if (!given) return given
  const restriction = given.restriction?.toUpperCase()
  if (restriction === 'NONE') return null
  if (restriction !== 'ALLOW_ONLY' && restriction !== 'EXCLUDE')
    refuseMember('/ageRestriction/restriction', 'must be ALLOW_ONLY, EXCLUDE or NONE')
  const { age } = given
  if (!Check(AgeRule.properties.years, age)) refuseMember('/ageRestriction/age', 'must be a whole number from 0 to 99')
  return { shown: { age, restriction }, rule: { mode: MODES[restriction], years: age } }
}

function readRoles(given: readonly string[] | null | undefined, shown: readonly string[]): Pick<UserChange, 'role'> {
  if (!given) return {}
  const roles = given.map((role) => role.toUpperCase())
  const unknown = roles.find((role) => !KNOWN.includes(role) && !shown.includes(role))
  if (unknown !== undefined)
    refuseMember('/roles', `contains "${unknown.slice(0, 40)}", which is no role of this server; the roles are ${KNOWN.join(', ')}`)
  const missing = ALWAYS.filter((role) => shown.includes(role) && !roles.includes(role))
  if (missing.length > 0)
    refuseMember('/roles', `lacks ${missing.join(' and ')}: every user of this server may read and download the books that they see`)
  const isAdmin = roles.includes('ADMIN')
  if (isAdmin === shown.includes('ADMIN')) return {}
  return { role: isAdmin ? 'admin' : 'reader' }
}

/** A new user, as apps see them, without rules for new accounts. */
export const NEW_USER: Pick<KomgaUser, 'roles'> & KomgaAccess = {
  roles: rolesOf({ role: 'reader', permissions: [] } satisfies Pick<User, 'role' | 'permissions'>),
  ...komgaAccess({ ...NO_RULE, sharingTags: [] }),
}

/** A user name from an e-mail address, because apps send no other name: the part before the @, without characters that a name may not contain. */
export function usernameOf(email: string): string {
  const local = email.slice(0, email.lastIndexOf('@')).replace(/[@:\s]+/g, '-')
  return local.slice(0, 100) || 'user'
}
