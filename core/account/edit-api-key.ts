import type { Knex } from 'knex'
import { type ApiKey, type ApiKeyEdit, makeApiKey, type NewApiKey, type NewApiKeyAnswer } from '#core/account/api-key.ts'
import { deleteApiKey, findApiKey, insertApiKey, updateApiKey } from '#core/account/api-key-store.ts'
import type { Caller } from '#core/account/caller.ts'
import { readPermissions, refuseBeyond } from '#core/account/edit-user.ts'
import type { Permission } from '#core/account/permission.ts'
import { refuse } from '#core/errors.ts'

/**
 * Makes a key of the caller; without a wish it may do what the caller may.
 * @throws forbidden (more than the caller may), invalid_value (unknown permission, end in the past)
 */
export async function createApiKey(database: Knex, wanted: NewApiKey, by: Caller): Promise<NewApiKeyAnswer> {
  const permissions = wanted.permissions ? readPermissions(wanted.permissions) : [...by.permissions]
  refuseBeyond(by, permissions)
  const expiresAt = wanted.expiresAt ?? null
  refusePast(expiresAt)
  const { key, keyPrefix, keyHash } = makeApiKey()
  const made = await insertApiKey(database, { userId: by.userId, name: wanted.name, keyPrefix, keyHash, permissions, expiresAt })
  return { ...made, key }
}

/**
 * A key of the caller's own, or of anybody for whoever holds `others`.
 * @throws not_found for the keys of others otherwise: that they exist is nobody's business
 */
export async function getApiKey(database: Knex, id: string, by: Caller, others: Permission): Promise<ApiKey> {
  const key = await findApiKey(database, id)
  if (key === null || (key.userId !== by.userId && !by.permissions.has(others))) refuse('not_found', 'There is no such API key.')
  return key
}

/** @throws not_found, forbidden, invalid_value */
export async function editApiKey(database: Knex, id: string, edit: ApiKeyEdit, by: Caller): Promise<ApiKey> {
  const current = await getApiKey(database, id, by, 'users-write')
  const permissions = edit.permissions ? readPermissions(edit.permissions) : undefined
  refuseBeyond(
    by,
    (permissions ?? []).filter((permission) => !current.permissions.includes(permission)),
  )
  if (edit.expiresAt) refusePast(edit.expiresAt)
  const changed = await updateApiKey(database, id, {
    ...(edit.name && { name: edit.name }),
    ...(permissions && { permissions }),
    ...(typeof edit.isActive === 'boolean' && { isActive: edit.isActive }),
    ...(edit.expiresAt !== undefined && { expiresAt: edit.expiresAt }),
  })
  return changed ?? refuse('not_found', 'There is no such API key.')
}

/** @throws not_found */
export async function removeApiKey(database: Knex, id: string, by: Caller): Promise<void> {
  await getApiKey(database, id, by, 'users-delete')
  await deleteApiKey(database, id)
}

function refusePast(expiresAt: string | null): void {
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) {
    refuse('invalid_value', 'The key would have expired already; give a time that is still to come.', {
      details: [{ path: '/expiresAt', message: 'must be in the future' }],
    })
  }
}
