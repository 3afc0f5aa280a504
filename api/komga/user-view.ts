import type { Static } from 'typebox'
import Type from 'typebox'
import type { Access, AccessRuleEdit } from '#core/account/access.ts'
import type { Permission } from '#core/account/permission.ts'
import { permissionsOf, type User } from '#core/account/user.ts'
import { Nullable, OneOf } from '#core/foundation/schema.ts'

/** Which series an age rule leaves to a user: for this age and lower ones, or below this age. */
const AgeRestriction = Nullable(Type.Object({ age: Type.Integer(), restriction: OneOf(['ALLOW_ONLY', 'EXCLUDE']) }))
const restrictions = { ageRestriction: AgeRestriction, labelsAllow: Type.Array(Type.String()), labelsExclude: Type.Array(Type.String()) }

/** A user with what they may see. Only administrators see who has which labels. */
export const KomgaUser = Type.Object(
  {
    id: Type.String(),
    email: Type.String(),
    roles: Type.Array(Type.String()),
    sharedAllLibraries: Type.Boolean(),
    sharedLibrariesIds: Type.Array(Type.String()),
    ...restrictions,
    contentRestrictions: Type.Object(restrictions),
  },
  { title: 'KomgaUser' },
)
export type KomgaUser = Static<typeof KomgaUser>

/** @param permissions from which the roles follow: those of the user, or fewer for a restricted API key */
export function rolesOf(user: Pick<User, 'role' | 'permissions'>, permissions: ReadonlySet<Permission> = permissionsOf(user)): string[] {
  const may = (role: string, permission: Permission) => (permissions.has(permission) ? [role] : [])
  return [...may('ADMIN', 'system-admin'), ...may('FILE_DOWNLOAD', 'books-read'), ...may('PAGE_STREAMING', 'pages-read'), 'USER']
}

/** What a user may see, as apps show it. */
export type KomgaAccess = Omit<KomgaUser, 'id' | 'email' | 'roles' | 'contentRestrictions'>

export function komgaAccess({ allLibraries, libraryIds, age, sharingTags }: AccessRuleEdit & Pick<Access, 'sharingTags'>): KomgaAccess {
  const labels = (mode: string) => sharingTags.filter(({ accessMode }) => accessMode === mode).map(({ sharingTagName }) => sharingTagName)
  return {
    sharedAllLibraries: allLibraries,
    sharedLibrariesIds: libraryIds,
    ageRestriction: age && { age: age.years, restriction: age.mode === 'up_to' ? 'ALLOW_ONLY' : 'EXCLUDE' },
    labelsAllow: labels('allow'),
    labelsExclude: labels('deny'),
  }
}

export function komgaUser({ id, email }: User, roles: string[], access: Access): KomgaUser {
  const shown = komgaAccess(access)
  const { ageRestriction, labelsAllow, labelsExclude } = shown
  return { id, email, roles, ...shown, contentRestrictions: { ageRestriction, labelsAllow, labelsExclude } }
}
