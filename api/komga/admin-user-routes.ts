import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { type KomgaCall, LISTED_AT_ONCE } from '#api/komga/lists.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { getLabelIds } from '#api/komga/sharing-labels.ts'
import { KomgaUserEdit, NEW_USER, NewKomgaUser, readUserEdit, type UserChange, usernameOf } from '#api/komga/user-change.ts'
import { KomgaUser, komgaUser, rolesOf } from '#api/komga/user-view.ts'
import { listGrants, removeGrant, setGrant } from '#core/account/sharing-store.ts'
import { Password } from '#core/account/user.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { readNames } from '#core/metadata/name.ts'

type Services = AccountServices & Pick<DataServices, 'database'>
const komgaEndpoint = komgaEndpointOf<Services>()

/** This list is not paginated. A household or a club has fewer users. */
const USERS_MAX = 1_000
const params = Type.Object({ userId: Uuid })

async function shownUser(call: KomgaCall<Services>, userId: string): Promise<KomgaUser> {
  const user = await call.services.accounts.getUser(userId)
  return komgaUser(user, rolesOf(user), user.sharingTags)
}

/** The labels of a change, by access mode. Only administrators decide who sees which series. @throws forbidden, invalid_value */
function readLabels(call: KomgaCall<Services>, { labelsAllow, labelsExclude }: UserChange) {
  const modes = [
    { accessMode: 'deny', given: labelsExclude, path: '/labelsExclude' },
    { accessMode: 'allow', given: labelsAllow, path: '/labelsAllow' },
  ] as const
  const read = modes.flatMap(({ accessMode, given, path }) => (given ? [{ accessMode, names: readNames(given, path) }] : []))
  if (read.length > 0 && !call.caller.permissions.has('system-admin'))
    refuse('forbidden', 'Sharing labels decide who sees a series; only administrators change them.')
  return read
}

async function setLabels(call: KomgaCall<Services>, userId: string, labels: ReturnType<typeof readLabels>): Promise<void> {
  if (labels.length === 0) return
  const caller = call.caller
  // In one transaction: with only some of the labels the user could see series that they should not.
  await call.services.database.transaction(async (trx) => {
    for (const { accessMode, names } of labels) {
      const wanted = await getLabelIds(trx, caller, names)
      for (const grant of await listGrants(trx, userId))
        if (grant.accessMode === accessMode && !wanted.includes(grant.sharingTagId))
          await removeGrant(trx, caller, userId, grant.sharingTagId)
      for (const sharingTagId of wanted) await setGrant(trx, caller, userId, { sharingTagId, accessMode })
    }
  })
}

/** The password in the Basic credentials of this request; null without them. */
function passwordShown(call: KomgaCall & { header(name: string): string | null }): string | null {
  const [scheme = '', credentials = ''] = (call.header('authorization') ?? '').split(' ')
  if (scheme.toLowerCase() !== 'basic') return null
  const text = Buffer.from(credentials, 'base64').toString()
  return text.slice(text.indexOf(':') + 1)
}

const PasswordBody = Type.Object({ password: Password }, { additionalProperties: true, maxProperties: 100 })

export const komgaAdminUserRoutes = [
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/users',
    summary: 'All users',
    who: 'users-read',
    reply: Type.Array(KomgaUser),
    run: async (call) => {
      const { users } = await call.services.accounts.listUsers({ filter: {}, offset: 0, limit: USERS_MAX })
      const shown: KomgaUser[] = []
      for (let at = 0; at < users.length; at += LISTED_AT_ONCE)
        shown.push(...(await Promise.all(users.slice(at, at + LISTED_AT_ONCE).map(({ id }) => shownUser(call, id)))))
      return shown
    },
  }),
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/users',
    summary: 'Create a user; the part of the address before the @ is the user name',
    who: 'users-write',
    status: 201,
    body: NewKomgaUser,
    reply: KomgaUser,
    run: async (call, { body: { email, password, ...edit } }) => {
      const { accounts } = call.services
      const change = readUserEdit(edit, NEW_USER)
      const labels = readLabels(call, change)
      const wanted = { username: usernameOf(email), email, password, ...(change.role && { role: change.role }) }
      const { id } = await accounts.createUser(wanted, call.caller)
      try {
        await setLabels(call, id, labels)
      } catch (error) {
        // Without its labels the user could see series that they should not.
        await accounts.removeUser(id, call.caller)
        throw error
      }
      return await shownUser(call, id)
    },
  }),
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/users/:userId',
    summary: 'Change the role and the labels of a user',
    who: 'users-write',
    params,
    status: 204,
    body: KomgaUserEdit,
    run: async (call, { params, body }) => {
      const change = readUserEdit(body, await shownUser(call, params.userId))
      const labels = readLabels(call, change)
      // The role first, because that change may be refused (the last administrator keeps the role), and then the labels stay too.
      if (change.role) await call.services.accounts.editUser(params.userId, { role: change.role }, call.caller)
      await setLabels(call, params.userId, labels)
    },
  }),
  komgaEndpoint({
    method: 'DELETE',
    path: '/api/v1/users/:userId',
    summary: 'Delete a user and all of their data',
    who: 'users-delete',
    params,
    status: 204,
    run: async (call, { params }) => {
      await call.services.accounts.removeUser(params.userId, call.caller)
    },
  }),
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/users/me/password',
    changes: 'the password, which the request must contain',
    summary: 'Change my password; the request must carry the current one by HTTP Basic',
    who: 'user',
    status: 204,
    body: PasswordBody,
    run: async (call, { body }) => {
      const currentPassword = passwordShown(call) ?? refuse('forbidden', 'Send your current password with the request, by HTTP Basic.')
      const change = { currentPassword, newPassword: body.password }
      await call.services.accounts.changePassword(call.caller, change, { address: call.address, device: null })
    },
  }),
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/users/:userId/password',
    summary: 'Change the password of a user, which ends their sessions',
    who: 'users-write',
    params,
    status: 204,
    body: PasswordBody,
    run: async (call, { params, body }) => {
      await call.services.accounts.editUser(params.userId, { password: body.password }, call.caller)
    },
  }),
]
