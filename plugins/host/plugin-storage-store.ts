import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import { isEnabledForUser } from '#plugins/host/user-plugin-store.ts'

/** The owner of the storage: the plugin, or the plugin for one user. */
export interface StorageOwner {
  pluginId: string
  userId: string | null
  /** Data version of the running version. */
  dataVersion: number
}

const of = (database: Knex, { pluginId, userId, dataVersion }: StorageOwner) =>
  database('plugin_storage')
    .where({ plugin_id: pluginId, data_version: dataVersion })
    .whereRaw('user_id IS NOT DISTINCT FROM ?', [userId])
    .whereRaw('(expires_at IS NULL OR expires_at > now())')

/** The JSON text under a key; null when there is none. */
export async function readStored(database: Knex, owner: StorageOwner, key: string): Promise<string | null> {
  const row = await of(database, owner).where({ key }).first('value')
  return row?.value ?? null
}

/**
 * Stores a JSON text. Locks the owner while counting rows, so that concurrent writers cannot exceed the quota together.
 * @throws conflict when a limit would be exceeded, or the user has disabled the plugin
 */
export async function writeStored(
  database: Knex,
  owner: StorageOwner,
  entry: { key: string; value: string; ttlSeconds: number | null },
  limits: { keysMax: number; bytesMax: number },
): Promise<void> {
  await database.transaction(async (trx) => {
    await trx('plugins').where('id', owner.pluginId).forUpdate().first('id')
    // A call that ends because its user has deleted all data must not store some again.
    const { pluginId, userId } = owner
    if (userId !== null && !(await isEnabledForUser(trx, { pluginId, userId }))) refuse('conflict', 'The user no longer has the plugin.')
    await trx('plugin_storage').where('plugin_id', owner.pluginId).whereRaw('expires_at <= now()').delete()
    const others = await of(trx, owner)
      .whereNot('key', entry.key)
      .first(trx.raw('count(*)::int AS keys, coalesce(sum(octet_length(key) + octet_length(value)), 0)::int AS bytes'))
    if (others.keys >= limits.keysMax) refuse('conflict', `The storage already has ${limits.keysMax} keys, the maximum.`)
    const bytes = others.bytes + Buffer.byteLength(entry.key) + Buffer.byteLength(entry.value)
    if (bytes > limits.bytesMax) refuse('conflict', `The storage would have ${bytes} bytes; the limit is ${limits.bytesMax}.`)
    await trx.raw(
      `INSERT INTO plugin_storage (plugin_id, user_id, data_version, key, value, expires_at)
       VALUES (:pluginId, :userId, :dataVersion, :key, :value, CASE WHEN CAST(:ttl AS double precision) IS NOT NULL THEN now() + make_interval(secs => :ttl) END)
       ON CONFLICT (plugin_id, user_id, data_version, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at, updated_at = now()`,
      { ...owner, key: entry.key, value: entry.value, ttl: entry.ttlSeconds },
    )
  })
}

export async function deleteStored(database: Knex, owner: StorageOwner, key: string): Promise<void> {
  await of(database, owner).where({ key }).delete()
}

/** Keys with a prefix, sorted. */
export async function listStored(database: Knex, owner: StorageOwner, prefix: string): Promise<string[]> {
  return await of(database, owner).whereRaw('starts_with(key, ?)', [prefix]).orderBy('key').pluck('key')
}

/** Copies the storage of one owner to another data version and replaces what an earlier try left there. Returns whether there is any. */
export async function copyStorage(trx: Knex, owner: Omit<StorageOwner, 'dataVersion'>, from: number, to: number): Promise<boolean> {
  const { pluginId, userId } = owner
  // A user who deletes all data meanwhile waits for the copy, which is deleted too; one who has deleted it gets none.
  if (userId !== null && !(await isEnabledForUser(trx, { pluginId, userId }))) return false
  await trx('plugin_storage').where({ plugin_id: pluginId, data_version: to }).whereRaw('user_id IS NOT DISTINCT FROM ?', [userId]).delete()
  const { rowCount } = await trx.raw(
    `INSERT INTO plugin_storage (plugin_id, user_id, data_version, key, value, expires_at, updated_at)
     SELECT plugin_id, user_id, :to, key, value, expires_at, updated_at FROM plugin_storage
     WHERE plugin_id = :pluginId AND data_version = :from AND user_id IS NOT DISTINCT FROM CAST(:userId AS uuid)`,
    { pluginId, userId, from, to },
  )
  return rowCount > 0
}

/** Deletes data of versions to which nobody can roll back; not that of users which was not migrated yet. */
export async function dropStorage(trx: Knex, pluginId: string, kept: readonly number[]): Promise<void> {
  await trx.raw(
    `DELETE FROM plugin_storage s WHERE s.plugin_id = :pluginId AND s.data_version <> ALL(CAST(:kept AS int[])) AND NOT EXISTS (
       SELECT 1 FROM user_plugins u WHERE u.plugin_id = s.plugin_id AND u.user_id = s.user_id AND u.data_version = s.data_version)`,
    { pluginId, kept: [...kept] },
  )
}
