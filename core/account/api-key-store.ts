import type { Knex } from 'knex'
import type { ApiKeyRecord } from '#core/account/api-key.ts'
import type { Permission } from '#core/account/permission.ts'
import type { User } from '#core/account/user.ts'
import { readUser } from '#core/account/user-store.ts'
import { countRows } from '#core/database/select.ts'
import { announceAccess } from '#core/events/event-store.ts'

const COLUMNS = [
  'id',
  'user_id',
  'name',
  'key_prefix',
  'permissions',
  'is_active',
  'expires_at',
  'last_used_at',
  'created_at',
  'updated_at',
] as const

interface ApiKeyRow {
  id: string
  user_id: string
  name: string
  key_prefix: string
  permissions: Permission[]
  is_active: boolean
  expires_at: Date | null
  last_used_at: Date | null
  created_at: Date
  updated_at: Date
}

function readApiKey(row: ApiKeyRow): ApiKeyRecord {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    keyPrefix: row.key_prefix,
    permissions: row.permissions,
    isActive: row.is_active,
    expiresAt: row.expires_at?.toISOString() ?? null,
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

/** @returns null when the user has `keysMax` keys already, or was deleted */
export async function insertApiKey(
  trx: Knex.Transaction,
  keysMax: number,
  key: {
    userId: string
    name: string
    keyPrefix: string
    keyHash: Uint8Array
    permissions: readonly Permission[]
    expiresAt: Date | null
  },
): Promise<ApiKeyRecord | null> {
  // Locked: of many concurrent requests, each counts the keys of those before it.
  if (!(await trx('users').where({ id: key.userId }).first('id').forUpdate())) return null
  if ((await countRows(trx('api_keys').where({ user_id: key.userId }))) >= keysMax) return null
  const [row] = await trx('api_keys').insert(
    {
      user_id: key.userId,
      name: key.name,
      key_prefix: key.keyPrefix,
      key_hash: key.keyHash,
      permissions: key.permissions,
      expires_at: key.expiresAt,
    },
    COLUMNS,
  )
  return readApiKey(row)
}

/** A key with its hash and its owner, for checking a credential; used inside core/account only. */
export interface ApiKeyProof {
  key: ApiKeyRecord
  keyHash: Uint8Array
  user: User
}

export async function findApiKeyByPrefix(database: Knex, keyPrefix: string): Promise<ApiKeyProof | null> {
  const row = await database('api_keys')
    .first(...COLUMNS, 'key_hash')
    .where({ key_prefix: keyPrefix })
  if (!row) return null
  const user = await database('users').first('*').where({ id: row.user_id })
  return user ? { key: readApiKey(row), keyHash: row.key_hash, user: readUser(user) } : null
}

export async function findApiKey(database: Knex, id: string): Promise<ApiKeyRecord | null> {
  const row = await database<ApiKeyRow>('api_keys')
    .first(...COLUMNS)
    .where({ id })
  return row ? readApiKey(row) : null
}

/** A key and its owner, both locked, so that neither changes between a check and what follows it. */
export async function lockApiKey(transaction: Knex.Transaction, id: string): Promise<{ key: ApiKeyRecord; owner: User } | null> {
  const found = await findApiKey(transaction, id)
  if (found === null) return null
  // Lock order: first the user, then the user's rows, as in every other change.
  const owner = await transaction('users').first('*').where({ id: found.userId }).forNoKeyUpdate()
  const row = await transaction<ApiKeyRow>('api_keys')
    .first(...COLUMNS)
    .where({ id })
    .forUpdate()
  return owner && row ? { key: readApiKey(row), owner: readUser(owner) } : null
}

/** The keys of one user, oldest first. */
export async function listApiKeys(
  database: Knex,
  { userId, offset, limit }: { userId: string; offset: number; limit: number },
): Promise<{ items: ApiKeyRecord[]; total: number }> {
  const total = await countRows(database('api_keys').where({ user_id: userId }))
  const rows: ApiKeyRow[] = await database('api_keys')
    .select(COLUMNS)
    .where({ user_id: userId })
    .orderBy(['created_at', 'id'])
    .offset(offset)
    .limit(limit)
  return { items: rows.map(readApiKey), total }
}

/** @returns null when the key does not exist any more */
export async function updateApiKey(
  trx: Knex.Transaction,
  id: string,
  change: { name?: string; permissions?: readonly Permission[]; isActive?: boolean; expiresAt?: Date | null },
): Promise<ApiKeyRecord | null> {
  const [row] = await trx('api_keys')
    .where({ id })
    .update(
      {
        ...(change.name !== undefined && { name: change.name }),
        ...(change.permissions !== undefined && { permissions: change.permissions }),
        ...(change.isActive !== undefined && { is_active: change.isActive }),
        ...(change.expiresAt !== undefined && { expires_at: change.expiresAt }),
        updated_at: new Date(),
      },
      COLUMNS,
    )
  if (row && Object.keys(change).some((member) => member !== 'name')) await announceAccess(trx, [row.user_id])
  return row ? readApiKey(row) : null
}

export async function deleteApiKey(trx: Knex.Transaction, id: string): Promise<void> {
  const gone = await trx('api_keys').where({ id }).delete(['user_id'])
  await announceAccess(
    trx,
    gone.map(({ user_id }) => user_id),
  )
}

/** Deactivates all keys of a user. */
export async function revokeApiKeysOfUser(trx: Knex.Transaction, userId: string): Promise<void> {
  await trx('api_keys').where({ user_id: userId, is_active: true }).update({ is_active: false, updated_at: new Date() })
  await announceAccess(trx, [userId])
}

/** How many keys of a user are active and have not expired. */
export async function countValidApiKeys(database: Knex, userId: string): Promise<number> {
  return await countRows(
    database('api_keys')
      .where({ user_id: userId, is_active: true })
      .where((lasting) => lasting.whereNull('expires_at').orWhere('expires_at', '>', new Date())),
  )
}

/** Records when keys were last used, all in one statement. */
export async function recordApiKeyUses(database: Knex, uses: ReadonlyMap<string, Date>): Promise<void> {
  if (uses.size === 0) return
  await database.raw(
    `UPDATE api_keys SET last_used_at = greatest(last_used_at, used.at)
     FROM unnest(?::uuid[], ?::timestamptz[]) AS used(id, at) WHERE api_keys.id = used.id`,
    [[...uses.keys()], [...uses.values()].map((at) => at.toISOString())],
  )
}
