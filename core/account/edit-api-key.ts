import type { Knex } from 'knex'
import { type AccessRuleEdit, restricts } from '#core/account/access.ts'
import { isRuled, lockLibraries, readRules, refuseNarrowed, writeKeyRule } from '#core/account/access-store.ts'
import { type ApiKey, type ApiKeyEdit, type ApiKeyRecord, makeApiKey, type NewApiKey, type NewApiKeyAnswer } from '#core/account/api-key.ts'
import { deleteApiKey, findApiKey, insertApiKey, listApiKeys, lockApiKey, updateApiKey } from '#core/account/api-key-store.ts'
import { type Caller, refuseBeyond } from '#core/account/caller.ts'
import { readPermissions } from '#core/account/edit-user.ts'
import type { Permission } from '#core/account/permission.ts'
import { permissionsOf, type User } from '#core/account/user.ts'
import { announceGrants } from '#core/account/user-store.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { refuse, refuseValue } from '#core/foundation/errors.ts'

/** More keys than one user has devices and scripts; without a limit one user could fill the table. */
const KEYS_MAX = 50

/**
 * With these, a key could see what its rule hides: as an administrator, with an account that it has made or taken over, or by what a plugin reads. Nor
 * does a key with a rule delete accounts: it is made for a device that a child may hold.
 */
const UNRULED: readonly Permission[] = ['system-admin', 'users-write', 'users-delete', 'plugins-manage']

/** The last moment that ISO 8601 writes with a four-digit year. */
const END_MAX = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Creates a key for the caller; by default it may do what the caller may, and ends when the caller's own key ends. With a rule it may by default do no
 * more than a key with a rule can.
 * @throws forbidden (more than the caller may, or longer; for a session of an app, or a key with a rule), invalid_value (unknown permission or library, end
 *   in the past, a permission that a key with a rule cannot have), conflict (too many keys)
 */
export async function createApiKey(database: Knex, request: NewApiKey, by: Caller): Promise<NewApiKeyAnswer> {
  refuseSession(by)
  await refuseNarrowed(database, by, CHANGE_KEYS)
  const rule = request.access && restricts(request.access) ? request.access : null
  const byDefault = () => [...by.permissions].filter((permission) => rule === null || !UNRULED.includes(permission))
  const permissions = request.permissions ? readPermissions(request.permissions) : byDefault()
  refuseBeyond(by, permissions)
  if (rule) refuseUnruled(permissions)
  const expiresAt = request.expiresAt === undefined ? endOf(by) : readEnd(request.expiresAt)
  refuseLonger(by, expiresAt)
  const { key, keyPrefix, keyHash } = makeApiKey()
  const fields = { userId: by.userId, name: request.name, keyPrefix, keyHash, permissions, expiresAt }
  return await database.transaction(async (trx) => {
    if (request.access) await lockLibraries(trx, by, request.access, '/access')
    const made = await insertApiKey(trx, KEYS_MAX, fields)
    if (made === null) refuse('conflict', `A user has ${KEYS_MAX} API keys at most; delete one first.`)
    if (rule) await writeKeyRule(trx, made.id, rule)
    return { ...(await withRule(trx, by, made)), key }
  })
}

/** The caller's own keys, oldest first. */
export async function listOwnApiKeys(
  database: Knex,
  by: Viewer,
  window: { offset: number; limit: number },
): Promise<{ items: ApiKey[]; total: number }> {
  const { items, total } = await listApiKeys(database, { userId: by.userId, ...window })
  return { items: await withRules(database, by, items), total }
}

/**
 * A key of the caller, or of any user if the caller has the permission `others`.
 * @throws not_found for other users' keys otherwise, which hides that they exist
 */
export async function getApiKey(database: Knex, id: string, by: Caller, others: Permission): Promise<ApiKey> {
  const key = await findApiKey(database, id)
  if (key === null || (key.userId !== by.userId && !by.permissions.has(others))) refuseUnknown()
  return await withRule(database, by, key)
}

/**
 * @throws not_found, forbidden (the key or its owner may do more than the caller, or longer; the caller uses an app session, or a key with a rule),
 *   invalid_value
 */
export async function editApiKey(database: Knex, id: string, edit: ApiKeyEdit, by: Caller): Promise<ApiKey> {
  refuseSession(by)
  await refuseNarrowed(database, by, CHANGE_KEYS)
  const permissions = edit.permissions ? readPermissions(edit.permissions) : undefined
  const expiresAt = edit.expiresAt === undefined ? undefined : readEnd(edit.expiresAt)
  return await database.transaction(async (transaction) => {
    if (edit.access) await lockLibraries(transaction, by, edit.access, '/access')
    const current = await lockApiKey(transaction, id)
    const key = refuseRule(current, by, 'users-write')
    // Also for one that would become shorter: a key that ends cannot take over one that lasts.
    refuseLonger(by, key.expiresAt === null ? null : new Date(key.expiresAt))
    if (expiresAt !== undefined) refuseLonger(by, expiresAt)
    refuseBeyond(
      by,
      (permissions ?? []).filter((permission) => !key.permissions.includes(permission)),
    )
    await changeRule(transaction, key, edit.access, permissions ?? key.permissions)
    const changed = await updateApiKey(transaction, id, {
      ...(edit.name && { name: edit.name }),
      ...(permissions && { permissions }),
      ...(typeof edit.isActive === 'boolean' && { isActive: edit.isActive }),
      ...(expiresAt !== undefined && { expiresAt }),
    })
    return await withRule(transaction, by, changed ?? refuseUnknown())
  })
}

/**
 * @returns the deleted key
 * @throws not_found, forbidden (the key or its owner may do more than the caller; the caller uses an app session, or a key with a rule)
 */
export async function removeApiKey(database: Knex, id: string, by: Caller): Promise<ApiKeyRecord> {
  refuseSession(by)
  await refuseNarrowed(database, by, CHANGE_KEYS)
  return await database.transaction(async (transaction) => {
    const key = refuseRule(await lockApiKey(transaction, id), by, 'users-delete')
    await deleteApiKey(transaction, id)
    return key
  })
}

/** @param rule of the edit; absent: the present one stays @throws invalid_value when the key then has a rule and a permission that goes beyond it */
async function changeRule(
  trx: Knex.Transaction,
  key: ApiKeyRecord,
  rule: AccessRuleEdit | null | undefined,
  permissions: readonly Permission[],
): Promise<void> {
  if (rule === undefined ? await isRuled(trx, key.id) : rule !== null && restricts(rule)) refuseUnruled(permissions)
  if (rule === undefined) return
  await writeKeyRule(trx, key.id, rule)
  await announceGrants(trx, [key.userId])
}

/** The keys with their rules. Libraries that the viewer does not see are left out. */
async function withRules(database: Knex, viewer: Viewer, keys: readonly ApiKeyRecord[]): Promise<ApiKey[]> {
  const rules = await readRules(
    database,
    keys.map(({ id }) => id),
    viewer,
  )
  return keys.map((key) => ({ ...key, access: rules.get(key.id) ?? null }))
}

async function withRule(database: Knex, viewer: Viewer, key: ApiKeyRecord): Promise<ApiKey> {
  const [shown] = await withRules(database, viewer, [key])
  return shown as ApiKey
}

/** @throws invalid_value */
function refuseUnruled(permissions: readonly Permission[]): void {
  const beyond = permissions.filter((permission) => UNRULED.includes(permission))
  if (beyond.length > 0)
    refuseValue(
      '/permissions',
      `An API key with a rule cannot have ${beyond.join(', ')}: it could see more than the rule allows, or delete accounts. Leave them out.`,
    )
}

const CHANGE_KEYS = 'create, change or delete API keys'

/**
 * An app sends its cookie or token long after a person typed a password; a key that such a session created would outlive the session.
 * @throws forbidden
 */
function refuseSession({ via }: Caller): void {
  if (via === 'cookie' || via === 'app_session')
    refuse('forbidden', 'An app session cannot create or change API keys. Sign in first, or send the password or an API key.')
}

/** When the API key of the caller ends; null if it does not, and for a caller without a key. */
const endOf = ({ apiKeyId, endsAt }: Caller): Date | null => (apiKeyId === undefined || endsAt === undefined ? null : new Date(endsAt))

/** A key that ends must not be prolonged by itself, nor by a key that it creates or changes. @throws forbidden */
function refuseLonger(by: Caller, expiresAt: Date | null): void {
  const end = endOf(by)
  if (end === null || (expiresAt !== null && expiresAt <= end)) return
  const until = end.toISOString()
  refuse('forbidden', `Your own API key ends at ${until}: it cannot create or change keys that end later. Sign in for that.`, {
    details: { expiresAt: until },
  })
}

/**
 * Refuses a caller who may not change a key. Changing another user's key takes the permission `others` and every permission of the owner.
 * A credential changes keys of its own user only if they do no more than itself; else a narrow key could reactivate a revoked wide one.
 * @throws not_found, forbidden
 */
function refuseRule(found: { key: ApiKeyRecord; owner: User } | null, by: Caller, others: Permission): ApiKeyRecord {
  if (found === null) refuseUnknown()
  const { key, owner } = found
  const permissions = permissionsOf(owner)
  if (owner.id === by.userId) {
    // What the owner lost may come back; another key must not lie in wait for it.
    const isOther = by.apiKeyId !== undefined && by.apiKeyId !== key.id
    refuseBeyond(by, isOther ? key.permissions : key.permissions.filter((permission) => permissions.has(permission)))
    return key
  }
  if (!by.permissions.has(others)) refuseUnknown()
  refuseBeyond(by, permissions)
  return key
}

function refuseUnknown(): never {
  refuse('not_found', 'There is no such API key.')
}

/**
 * Parses when a key expires. PostgreSQL never gets the text: it accepts fewer offsets than the format allows, and no leap seconds.
 * @throws invalid_value
 */
function readEnd(expiresAt: string | null): Date | null {
  if (expiresAt === null) return null
  const at = Date.parse(expiresAt)
  // NaN (a leap second, an invalid offset) compares false with everything.
  if (!(at > Date.now() && at <= END_MAX)) {
    refuse('invalid_value', 'A key must expire in the future, at the latest in the year 9999.', {
      details: [{ path: '/expiresAt', message: 'must be in the future, and not after the year 9999' }],
    })
  }
  return new Date(at)
}
