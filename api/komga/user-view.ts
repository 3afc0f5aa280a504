import type { Static } from 'typebox'
import Type from 'typebox'
import type { Permission } from '#core/account/permission.ts'
import { permissionsOf, type User, type UserDetail } from '#core/account/user.ts'

/** Every user sees all libraries; sharing tags hide series, and only administrators see who has which tags. */
export const KomgaUser = Type.Object(
  {
    id: Type.String(),
    email: Type.String(),
    roles: Type.Array(Type.String()),
    sharedAllLibraries: Type.Boolean(),
    sharedLibrariesIds: Type.Array(Type.String()),
    labelsAllow: Type.Array(Type.String()),
    labelsExclude: Type.Array(Type.String()),
    ageRestriction: Type.Null(),
    contentRestrictions: Type.Object({
      ageRestriction: Type.Null(),
      labelsAllow: Type.Array(Type.String()),
      labelsExclude: Type.Array(Type.String()),
    }),
  },
  { title: 'KomgaUser' },
)
export type KomgaUser = Static<typeof KomgaUser>

/** @param permissions from which the roles follow: those of the user, or fewer for a restricted API key */
export function rolesOf(user: Pick<User, 'role' | 'permissions'>, permissions: ReadonlySet<Permission> = permissionsOf(user)): string[] {
  const may = (role: string, permission: Permission) => (permissions.has(permission) ? [role] : [])
  return [...may('ADMIN', 'system-admin'), ...may('FILE_DOWNLOAD', 'books-read'), ...may('PAGE_STREAMING', 'pages-read'), 'USER']
}

export function komgaUser(user: User, roles: string[], grants: UserDetail['sharingTags'] = []): KomgaUser {
  const labels = (mode: string) => grants.filter(({ accessMode }) => accessMode === mode).map(({ sharingTagName }) => sharingTagName)
  const restrictions = { ageRestriction: null, labelsAllow: labels('allow'), labelsExclude: labels('deny') }
  return {
    id: user.id,
    email: user.email,
    roles,
    sharedAllLibraries: true,
    sharedLibrariesIds: [],
    ...restrictions,
    contentRestrictions: restrictions,
  }
}
