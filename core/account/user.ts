import type { Static } from 'typebox'
import Type from 'typebox'
import { AccessEdit, AccessRule, SharingGrant } from '#core/account/access.ts'
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from '#core/account/password.ts'
import { PERMISSIONS, type Permission, ROLE_PERMISSIONS, ROLES, withIncluded } from '#core/account/permission.ts'
import { describedAs, Noun, Nullable, OneOf, Secret, Timestamp, Uuid } from '#core/foundation/schema.ts'

/**
 * Control characters, invisible characters, and characters that change the direction of text: they would allow a name that looks
 * like another one.
 */
const UNSEEN =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0'

/**
 * No `@`, so that a login name is either a user name or an e-mail address and never both; no `:`, which ends the name in HTTP
 * Basic; no invisible characters; no white space at the ends.
 */
export const Username = Type.String({
  title: 'Username',
  minLength: 1,
  maxLength: 100,
  pattern: `^[^\\s@:${UNSEEN}]([^@:${UNSEEN}]*[^\\s@:${UNSEEN}])?$`,
})
/** The name of a permission, as in the API. */
export const PermissionName = Type.Enum([...PERMISSIONS], { type: 'string', title: 'Permission' })

/** Permissions as people write them: `findPermission` accepts other spellings too. */
export const PermissionNames = describedAs(
  Type.Array(Type.String({ maxLength: 100 }), { maxItems: 100 }),
  Type.Array(PermissionName, { maxItems: 100 }),
)

/** 254: the longest address that SMTP carries (RFC 5321). */
export const Email = Type.String({ format: 'email', maxLength: 254 })
export const Password = Secret({ minLength: PASSWORD_LENGTH_MIN, maxLength: PASSWORD_LENGTH_MAX })

/** A user as administrators see one. `permissions` are those beyond the role's. */
export const User = Noun('User')({
  id: Uuid,
  username: Type.String(),
  email: Type.String(),
  role: OneOf(ROLES),
  permissions: Type.Array(PermissionName),
  isActive: Type.Boolean(),
  lastLoginAt: Nullable(Timestamp),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type User = Static<typeof User>

/** A user after a change. */
export const EditedUser = Noun('EditedUser')({
  ...User.properties,
  apiKeysValid: Type.Integer({ minimum: 0, description: 'How many API keys of the user still work.' }),
})
export type EditedUser = Static<typeof EditedUser>

/** A user with all that decides what they may see. */
export const UserDetail = Noun('UserDetail')({ ...User.properties, sharingTags: Type.Array(SharingGrant), access: AccessRule })
export type UserDetail = Static<typeof UserDetail>

/** The signed-in user as clients see themselves. `permissions` are all permissions of the user, including the role's. */
export const UserInfo = Noun('UserInfo')({
  id: Uuid,
  username: Type.String(),
  email: Type.String(),
  role: OneOf(ROLES),
  emailVerified: Type.Boolean(),
  permissions: Type.Array(PermissionName),
})
export type UserInfo = Static<typeof UserInfo>

/** Members of a request that creates a user. */
export const NewUser = Noun('NewUser')({
  username: Username,
  email: Email,
  password: Password,
  role: Type.Optional(Nullable(OneOf(ROLES))),
  permissions: Type.Optional(Nullable(PermissionNames)),
  access: Type.Optional(
    Nullable(AccessEdit, { description: 'Default: that of the settings for new accounts. Only administrators set it.' }),
  ),
})
export type NewUser = Static<typeof NewUser>

/** Members that a person may change. Null changes nothing, except in `permissions`, where it removes all. */
export const UserEdit = Noun('UserEdit')({
  username: Type.Optional(Nullable(Username)),
  email: Type.Optional(Nullable(Email)),
  password: Type.Optional(Nullable(Password)),
  role: Type.Optional(Nullable(OneOf(ROLES))),
  permissions: Type.Optional(Nullable(PermissionNames)),
  isActive: Type.Optional(Nullable(Type.Boolean())),
  revokeApiKeys: Type.Optional(
    Nullable(Type.Boolean({ description: 'True deactivates all API keys of the user. A new password alone leaves them as they are.' })),
  ),
})
export type UserEdit = Static<typeof UserEdit>

const knownPermissions = new WeakMap<object, ReadonlySet<Permission>>()

/** All permissions of a user: the role's and their own. Made once for each record, which every request of the user reads. */
export function permissionsOf(user: Readonly<{ role: User['role']; permissions: readonly Permission[] }>): ReadonlySet<Permission> {
  let permissions = knownPermissions.get(user)
  if (permissions === undefined) {
    permissions = withIncluded([...ROLE_PERMISSIONS[user.role], ...user.permissions])
    knownPermissions.set(user, permissions)
  }
  return permissions
}

/** What the signed-in user sees of themselves. Addresses are not confirmed, so every address counts as verified. */
export function userInfo(user: User): UserInfo {
  const { id, username, email, role } = user
  return { id, username, email, role, emailVerified: true, permissions: [...permissionsOf(user)] }
}
