import type { Static } from 'typebox'
import Type from 'typebox'
import { type KomgaUser, rolesOf } from '#api/komga/user-view.ts'
import type { Role } from '#core/account/permission.ts'
import { Email, Password, type User } from '#core/account/user.ts'
import { AnyInteger, Nullable } from '#core/foundation/schema.ts'
import { refuseMember } from '#core/metadata/patch-rules.ts'

const Texts = Type.Optional(Nullable(Type.Array(Type.String({ maxLength: 200 }), { maxItems: 200 })))
const restrictions = {
  roles: Texts,
  sharedLibraries: Type.Optional(
    Nullable(Type.Object({ all: Type.Optional(Type.Boolean()), libraryIds: Texts }, { additionalProperties: true, maxProperties: 10 })),
  ),
  ageRestriction: Type.Optional(
    Nullable(
      Type.Object(
        { age: Type.Optional(Nullable(AnyInteger())), restriction: Type.Optional(Nullable(Type.String({ maxLength: 100 }))) },
        { additionalProperties: true, maxProperties: 10 },
      ),
    ),
  ),
  labelsAllow: Texts,
  labelsExclude: Texts,
}
const open = { additionalProperties: true, maxProperties: 100 } as const

export const NewKomgaUser = Type.Object({ email: Email, password: Password, ...restrictions }, { ...open, title: 'NewKomgaUser' })
export const KomgaUserEdit = Type.Object(restrictions, { ...open, title: 'KomgaUserEdit' })
export type KomgaUserEdit = Static<typeof KomgaUserEdit>

/** The changes of an edit of a user; a member that equals what was shown changes nothing. */
export interface UserChange {
  role?: Role
  /** Names of sharing tags: a user with allowed tags sees only series with one of them, and never one with an excluded tag. */
  labelsAllow?: string[]
  labelsExclude?: string[]
}

/** Every user has these rights here, so that they cannot be removed. */
const ALWAYS = ['FILE_DOWNLOAD', 'PAGE_STREAMING']
const KNOWN = ['ADMIN', ...ALWAYS, 'KOREADER_SYNC', 'USER']

const sorted = (names: readonly string[]) => JSON.stringify([...names].sort())

/**
 * Reads the roles and restrictions of a user. Refuses a restriction that this server does not have instead of ignoring it: the user would see series that they should not.
 * @param shown the user as apps see them, or NEW_USER
 * @throws invalid_value with a sentence
 */
export function readUserEdit(edit: KomgaUserEdit, shown: Pick<KomgaUser, 'roles' | 'labelsAllow' | 'labelsExclude'>): UserChange {
  const { sharedLibraries, ageRestriction, labelsAllow, labelsExclude } = edit
  if (sharedLibraries && (sharedLibraries.all === false || (sharedLibraries.all === undefined && sharedLibraries.libraryIds?.length)))
    refuseMember(
      '/sharedLibraries',
      'cannot restrict a user to some libraries: users of this server see all libraries; hide series with sharing labels instead',
    )
  if (ageRestriction && ageRestriction.restriction?.toUpperCase() !== 'NONE')
    refuseMember(
      '/ageRestriction',
      'is not supported: this server does not hide series by age rating; hide them with sharing labels instead',
    )
  return {
    ...readRoles(edit.roles, shown.roles),
    ...(labelsAllow && sorted(labelsAllow) !== sorted(shown.labelsAllow) && { labelsAllow }),
    ...(labelsExclude && sorted(labelsExclude) !== sorted(shown.labelsExclude) && { labelsExclude }),
  }
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

/** A new user, as apps see them. */
export const NEW_USER: Pick<KomgaUser, 'roles' | 'labelsAllow' | 'labelsExclude'> = {
  roles: rolesOf({ role: 'reader', permissions: [] } satisfies Pick<User, 'role' | 'permissions'>),
  labelsAllow: [],
  labelsExclude: [],
}

/** A user name from an e-mail address, because apps send no other name: the part before the @, without characters that a name may not contain. */
export function usernameOf(email: string): string {
  const local = email.slice(0, email.lastIndexOf('@')).replace(/[@:\s]+/g, '-')
  return local.slice(0, 100) || 'user'
}
