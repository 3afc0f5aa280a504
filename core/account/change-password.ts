import { editUser, type UserDependencies } from '#core/account/edit-user.ts'
import type { ClientDevice, KnownDevices } from '#core/account/known-devices.ts'
import type { LoginThrottle } from '#core/account/login-throttle.ts'
import type { EditedUser } from '#core/account/user.ts'
import { findUserWithHash } from '#core/account/user-store.ts'
import { refuse } from '#core/foundation/errors.ts'

/** The request of a user who changes their own password. */
export interface PasswordChange {
  currentPassword: string
  newPassword: string
  revokeApiKeys?: boolean | null | undefined
}

/**
 * Changes the password of a user who sends the current one; wrong ones count as failed sign-ins.
 * @param client where the request comes from
 * @throws unauthorized (wrong password), rate_limit_exceeded, unavailable
 */
export async function changePassword(
  { database, passwords, throttle, devices }: UserDependencies & { throttle: LoginThrottle; devices: KnownDevices },
  userId: string,
  { currentPassword, newPassword, revokeApiKeys }: PasswordChange,
  client: ClientDevice,
): Promise<EditedUser> {
  const found = await findUserWithHash(database, userId)
  // The same account name as core/account/user-store.ts gives a sign-in.
  const login = { account: `user ${userId}`, address: client.address, known: await devices.find(userId, client) }
  const proven = await throttle.attempt(login, async () =>
    (await passwords.verify(currentPassword, found?.passwordHash ?? null)) ? found : null,
  )
  if (proven === null)
    refuse('unauthorized', 'The current password is wrong.', { details: [{ path: '/currentPassword', message: 'is not your password' }] })
  const edit = { password: newPassword, passwordHashBefore: proven.passwordHash, ...(revokeApiKeys && { revokeApiKeys }) }
  return await editUser({ database, passwords }, userId, edit, null)
}
