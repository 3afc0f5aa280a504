import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { type KomgaCall, LISTED_AT_ONCE } from '#api/komga/lists.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { getLabelIds } from '#api/komga/sharing-labels.ts'
import { KomgaUserEdit, NEW_USER, NewKomgaUser, readUserEdit, refuseLibrary, type UserChange, usernameOf } from '#api/komga/user-change.ts'
import { KomgaUser, komgaAccess, komgaUser, rolesOf } from '#api/komga/user-view.ts'
import { type Access, type AccessEdit, type AccessRuleEdit, type NewGrant, NO_RULE } from '#core/account/access.ts'
import { isAdministrator } from '#core/account/caller.ts'
import { readDefaultRule } from '#core/account/registration-query.ts'
import { Password, type UserDetail } from '#core/account/user.ts'
import { listKnownIds } from '#core/database/known-ids-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { nameKey } from '#core/metadata/name.ts'
import { refuseMember } from '#core/metadata/patch-rules.ts'

type Services = AccountServices & Pick<DataServices, 'database'>
const komgaEndpoint = komgaEndpointOf<Services>()

/** This list is not paginated. A household or a club has fewer users. */
const USERS_MAX = 1_000
const params = Type.Object({ userId: Uuid })

const accessOf = ({ access, sharingTags }: UserDetail): Access => ({ ...access, sharingTags })

async function shownUser(call: KomgaCall<Services>, userId: string): Promise<KomgaUser> {
  const user = await call.services.accounts.getUserDetail(userId, call.caller)
  return komgaUser(user, rolesOf(user), accessOf(user))
}

type Current = AccessRuleEdit & Pick<Access, 'sharingTags'>

/** What a user may see after a change; undefined if it changes nothing of that. Adds labels that do not exist yet. @throws forbidden, invalid_value */
async function changedAccess(call: KomgaCall<Services>, change: UserChange, current: Current): Promise<AccessEdit | undefined> {
  const { libraries, age, labelsAllow, labelsExclude } = change
  const isLabels = labelsAllow !== undefined || labelsExclude !== undefined
  if (libraries === undefined && age === undefined && !isLabels) return undefined
  if (!isAdministrator(call.caller))
    refuse('forbidden', 'Libraries, age restrictions and labels decide what a user sees; only administrators change them.')
  const { database } = call.services
  const known = await listKnownIds(database, 'libraries', libraries?.libraryIds ?? [])
  const unknown = libraries?.libraryIds.find((id) => !known.has(id))
  if (unknown !== undefined) refuseLibrary(unknown)
  const { sharingTags, ...rule } = current
  return {
    ...rule,
    ...libraries,
    // An app cannot say what happens to series without a rating: while the kind of rule stays, so does that.
    ...(age !== undefined && { age: age && { ...age, ...(rule.age?.mode === age.mode && { unrated: rule.age.unrated ?? null }) } }),
    ...(isLabels && { sharingTags: await readGrants(call, change, sharingTags) }),
  }
}

async function readGrants(call: KomgaCall<Services>, change: UserChange, current: Access['sharingTags']): Promise<NewGrant[]> {
  const namesOf = (mode: string) => current.filter(({ accessMode }) => accessMode === mode).map(({ sharingTagName }) => sharingTagName)
  const { labelsAllow: allowed = namesOf('allow'), labelsExclude: excluded = namesOf('deny') } = change
  const keys = new Set(excluded.map(nameKey))
  const both = allowed.find((name) => keys.has(nameKey(name)))
  if (both !== undefined)
    refuseMember(change.labelsAllow ? '/labelsAllow' : '/labelsExclude', `has "${both}", but no label can be both allowed and excluded`)
  const { caller, services } = call
  return await services.database.transaction(async (trx) => {
    const grants = async (names: readonly string[], accessMode: NewGrant['accessMode']) =>
      (await getLabelIds(trx, caller, names)).map((sharingTagId) => ({ sharingTagId, accessMode }))
    return [...(await grants(allowed, 'allow')), ...(await grants(excluded, 'deny'))]
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
      const { items: users } = await call.services.accounts.listUsers({ filter: {}, offset: 0, limit: USERS_MAX })
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
      const { accounts, database } = call.services
      const isAdmin = edit.roles?.some((role) => role.toUpperCase() === 'ADMIN')
      const current = { ...(isAdmin ? NO_RULE : await readDefaultRule(database)), sharingTags: [] }
      const change = readUserEdit(edit, { ...NEW_USER, ...komgaAccess(current) })
      const access = await changedAccess(call, change, current)
      const wanted = { username: usernameOf(email), email, password, ...(change.role && { role: change.role }), ...(access && { access }) }
      const { id } = await accounts.createUser(wanted, call.caller)
      return await shownUser(call, id)
    },
  }),
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/users/:userId',
    summary: 'Change the role of a user and what they may see',
    who: 'users-write',
    params,
    status: 204,
    body: KomgaUserEdit,
    run: async (call, { params, body }) => {
      const { accounts } = call.services
      const user = await accounts.getUserDetail(params.userId, call.caller)
      const change = readUserEdit(body, komgaUser(user, rolesOf(user), accessOf(user)))
      const access = await changedAccess(call, change, accessOf(user))
      const edit = { ...(change.role && { role: change.role }), ...(access && { access }) }
      if (Object.keys(edit).length > 0) await accounts.editUser(params.userId, edit, call.caller)
    },
  }),
  komgaEndpoint({
    method: 'DELETE',
    path: '/api/v1/users/:userId',
    summary: 'Delete a user and all of their data',
    who: 'users-delete',
    params,
    status: 204,
    run: (call, { params }) => call.services.accounts.removeUser(params.userId, call.caller),
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
