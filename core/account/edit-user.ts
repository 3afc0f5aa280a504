import type { Knex } from 'knex'
import { Check, Errors } from 'typebox/value'
import type { AccessEdit } from '#core/account/access.ts'
import { isRuled, lockNamed, setAccess, setFirstAccess } from '#core/account/access-store.ts'
import { countValidApiKeys, revokeApiKeysOfUser } from '#core/account/api-key-store.ts'
import { type Caller, isAdministrator, refuseBeyond } from '#core/account/caller.ts'
import { forgetMarks } from '#core/account/known-device-store.ts'
import type { Passwords } from '#core/account/password.ts'
import { findPermission, PERMISSIONS, type Permission } from '#core/account/permission.ts'
import { readDefaultRule, readRegistration } from '#core/account/registration-query.ts'
import { revokeSessionsOfUser } from '#core/account/session-store.ts'
import { type EditedUser, NewUser, permissionsOf, type User, type UserEdit } from '#core/account/user.ts'
import { deleteUser, insertFirstUser, insertUser, isRestricted, type UserFields, updateUser } from '#core/account/user-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'

/** What changes of users need. */
export interface UserDependencies {
  database: Knex
  passwords: Passwords
}

/** Parses permissions in any spelling. @throws invalid_value naming the first unknown one */
export function readPermissions(texts: readonly string[]): Permission[] {
  const permissions = new Set<Permission>()
  texts.forEach((text, index) => {
    const permission = findPermission(text)
    if (permission === null) {
      refuse('invalid_value', `"${text}" is not a permission.${didYouMean(text, PERMISSIONS)}`, {
        details: [{ path: `/permissions/${index}`, message: 'is not a permission' }],
      })
    }
    permissions.add(permission)
  })
  return [...permissions]
}

/** Who may not see everything must not get more by the account of another, one that they make or whose password they set. @throws forbidden */
async function refuseRestricted(database: Knex, by: Caller | null): Promise<void> {
  if (by !== null && !isAdministrator(by) && (await isRestricted(database, by)))
    refuse('forbidden', 'You cannot create or change users, because something is hidden from you, and not from them. Ask an administrator.')
}

/**
 * Creates a user. Unless the request says what they may see, the settings do; administrators see everything.
 * @param by the caller; null: the operator at the command line
 * @throws invalid_value, conflict (name or address taken; a rule for an administrator; the settings name a library that is not there), forbidden
 *   (permissions that the caller does not have; something is hidden from the caller; rules by somebody who is no administrator)
 */
export async function createUser({ database, passwords }: UserDependencies, request: NewUser, by: Caller | null): Promise<User> {
  await refuseRestricted(database, by)
  const fields = await readNewUser(passwords, request)
  const permissions = permissionsOf(fields)
  refuseBeyond(by, permissions)
  return await database.transaction(async (trx) => {
    const user = await insertUser(trx, fields)
    if (request.access) await setFirstAccess(trx, by, user, request.access, '/access')
    else if (!permissions.has('system-admin')) await setFirstAccess(trx, null, user, await readDefaultRule(trx), '/access')
    return user
  })
}

/**
 * Creates an account for the person who requests it, with the rules and sharing tags that the settings have for new accounts.
 * @throws forbidden where registration is closed, invalid_value, conflict (name or address taken)
 */
export async function registerUser(
  { database, passwords }: UserDependencies,
  request: Pick<NewUser, 'username' | 'email' | 'password'>,
): Promise<User> {
  // Checked before the costly hash, and again in the transaction.
  const check = async (from: Knex) => {
    const registration = await readRegistration(from)
    return registration.isOpen ? registration.access : refuse('forbidden', registration.reason)
  }
  await check(database)
  const fields = await readNewUser(passwords, { ...request, role: 'reader' })
  return await database.transaction(async (trx) => {
    const access = await check(trx)
    const user = await insertUser(trx, fields)
    await setFirstAccess(trx, null, user, access, '')
    return user
  })
}

/** Creates the first user, an administrator; null when a user exists already. @throws invalid_value */
export async function createFirstAdmin({ database, passwords }: UserDependencies, request: NewUser): Promise<User | null> {
  return insertFirstUser(database, { ...(await readNewUser(passwords, request)), role: 'admin' })
}

/** A change of a user, and of what they may see: both or neither. */
export type AccountEdit = UserEdit & { access?: AccessEdit }

/**
 * Changes a user. A new password or a disabled account ends all sessions of that user; with `revokeApiKeys` it deactivates their API keys too.
 * @throws not_found, invalid_value, forbidden, conflict (name or address taken; last active administrator; somebody with a rule as an administrator), and
 *   for what they may see as setAccess
 */
export async function editUser(
  { database, passwords }: UserDependencies,
  id: string,
  edit: AccountEdit & { /** Refuses when the password has changed since this hash was read. */ passwordHashBefore?: string },
  by: Caller | null,
): Promise<EditedUser> {
  await refuseRestricted(database, by)
  const permissions = edit.permissions === undefined ? undefined : readPermissions(edit.permissions ?? [])
  const passwordHash = edit.password ? await passwords.hash(edit.password) : undefined
  const decide = (current: User, hash: string) => {
    if (edit.passwordHashBefore !== undefined && edit.passwordHashBefore !== hash)
      refuse('conflict', 'The password was changed in the meantime; sign in again.')
    const change: Partial<UserFields> = {
      ...(edit.username && { username: edit.username }),
      ...(edit.email && { email: edit.email }),
      ...(edit.role && { role: edit.role }),
      ...(typeof edit.isActive === 'boolean' && { isActive: edit.isActive }),
      ...(permissions && { permissions }),
      ...(passwordHash && { passwordHash }),
    }
    refuseBeyond(by, permissionsOf(current))
    refuseBeyond(by, permissionsOf({ ...current, ...change }))
    return change
  }
  const follow = async (transaction: Knex.Transaction, after: User) => {
    // With the new role, which a rule may need.
    if (edit.access) await setAccess(transaction, by, id, edit.access)
    if (permissionsOf(after).has('system-admin') && (await isRuled(transaction, id)))
      refuse('conflict', `Administrators see everything, and ${after.username} has a rule of what they may see. Remove the rule first.`)
    if (passwordHash !== undefined || !after.isActive) await revokeSessionsOfUser(transaction, id)
    // A device that used the old password may be a stranger's.
    if (passwordHash !== undefined) await forgetMarks(transaction, id)
    if (edit.revokeApiKeys) await revokeApiKeysOfUser(transaction, id)
    return { ...after, apiKeysValid: after.isActive ? await countValidApiKeys(transaction, id) : 0 }
  }
  return await database.transaction(async (trx) => {
    // What is named is locked before users, as where it is deleted.
    if (edit.access) await lockNamed(trx, by, edit.access, '')
    return await updateUser(trx, id, decide, follow)
  })
}

/** @returns the deleted user. @throws not_found, forbidden, conflict (last active administrator) */
export async function removeUser(database: Knex, id: string, by: Caller | null): Promise<User> {
  return await deleteUser(database, id, (current) => refuseBeyond(by, permissionsOf(current)))
}

async function readNewUser(passwords: Passwords, request: NewUser): Promise<UserFields> {
  // Routes check requests before they come here; flags and environment variables are checked only here.
  if (!Check(NewUser, request)) {
    const details = Errors(NewUser, request).map(({ instancePath, message }) => ({ path: instancePath, message }))
    const [first] = details
    refuse('invalid_value', `The new user's ${first?.path.slice(1) || 'data'} ${first?.message ?? 'is not valid'}.`, { details })
  }
  const permissions = readPermissions(request.permissions ?? [])
  return {
    username: request.username,
    email: request.email,
    passwordHash: await passwords.hash(request.password),
    role: request.role ?? 'reader',
    permissions,
    isActive: true,
  }
}
