import type { Static } from 'typebox'
import Type from 'typebox'
import { type KomgaUser, rolesOf } from '#api/komga/user-view.ts'
import type { Role } from '#core/account/permission.ts'
import { Email, Password, type User } from '#core/account/user.ts'
import { Nullable } from '#core/foundation/schema.ts'
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
        { age: Type.Optional(Nullable(Type.Integer())), restriction: Type.Optional(Nullable(Type.String({ maxLength: 100 }))) },
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

/** What an edit changes of a user; what it says as it was shown changes nothing. */
export interface UserChange {
  role?: Role
  /** Names of sharing tags: who has some of the first sees only these, and nobody sees what has one of the second. */
  labelsAllow?: string[]
  labelsExclude?: string[]
}

/** Roles that say what everybody here may do, so that they cannot be taken away. */
const ALWAYS = ['FILE_DOWNLOAD', 'PAGE_STREAMING']
const KNOWN = ['ADMIN', ...ALWAYS, 'KOREADER_SYNC', 'USER']

const sorted = (names: readonly string[]) => JSON.stringify([...names].sort())

/**
 * Reads what apps say that a user may do. What cannot be kept here is refused and never left out: somebody would see what they should not.
 * @param shown the user as apps see them; of a new one what everybody may do
 * @throws invalid_value with a sentence
 */
export function readUserEdit(edit: KomgaUserEdit, shown: Pick<KomgaUser, 'roles' | 'labelsAllow' | 'labelsExclude'>): UserChange {
  const { sharedLibraries, ageRestriction, labelsAllow, labelsExclude } = edit
  if (sharedLibraries && (sharedLibraries.all === false || (sharedLibraries.all === undefined && sharedLibraries.libraryIds?.length)))
    refuseMember(
      '/sharedLibraries',
      'cannot keep a user to some libraries: all libraries are shared here, and series are kept from users by sharing labels',
    )
  if (ageRestriction && ageRestriction.restriction?.toUpperCase() !== 'NONE')
    refuseMember('/ageRestriction', 'cannot be kept: series are kept from users by sharing labels here, and not by their age rating')
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
  if (unknown !== undefined) refuseMember('/roles', `holds "${unknown.slice(0, 40)}", which is no role here; there are ${KNOWN.join(', ')}`)
  const missing = ALWAYS.filter((role) => shown.includes(role) && !roles.includes(role))
  if (missing.length > 0)
    refuseMember('/roles', `leaves out ${missing.join(' and ')}: everybody who may sign in here may read and download what they see`)
  const isAdmin = roles.includes('ADMIN')
  if (isAdmin === shown.includes('ADMIN')) return {}
  return { role: isAdmin ? 'admin' : 'reader' }
}

/** What apps are shown of a user who has just been made. */
export const NEW_USER: Pick<KomgaUser, 'roles' | 'labelsAllow' | 'labelsExclude'> = {
  roles: rolesOf({ role: 'reader', permissions: [] } satisfies Pick<User, 'role' | 'permissions'>),
  labelsAllow: [],
  labelsExclude: [],
}

/** A user name for an app that knows e-mail addresses alone: what stands before the @, without what no name may hold. */
export function usernameOf(email: string): string {
  const local = email.slice(0, email.lastIndexOf('@')).replace(/[@:\s]+/g, '-')
  return local.slice(0, 100) || 'user'
}
