import type { Knex } from 'knex'

/** Storage use of a plugin: rows, and bytes of their keys and values; includes expired rows and data of older versions. */
export interface StorageStats {
  pluginKey: string
  rows: number
  bytes: number
}

/** The part for one user, or for the plugin itself where `userId` is null. */
interface OwnerStorageStats {
  userId: string | null
  username: string | null
  rows: number
  bytes: number
}

/** For a plugin with very many users, those with the most bytes. */
export const STORAGE_OWNERS_MAX = 500

const ROWS_AND_BYTES = 'count(s.key)::int AS rows, coalesce(sum(octet_length(s.key) + octet_length(s.value)), 0)::float8 AS bytes'

/** Storage use of all plugins, by key; includes plugins without data. */
export async function listStorageStats(database: Knex): Promise<StorageStats[]> {
  const { rows } = await database.raw(
    `SELECT p.key AS "pluginKey", ${ROWS_AND_BYTES} FROM plugins p LEFT JOIN plugin_storage s ON s.plugin_id = p.id GROUP BY p.id ORDER BY p.key`,
  )
  return rows
}

/** Storage use of one plugin by owner, the largest first; null when there is no plugin with that key. */
export async function findStorageStats(
  database: Knex,
  pluginKey: string,
): Promise<(StorageStats & { owners: OwnerStorageStats[] }) | null> {
  const { rows } = await database.raw(
    `SELECT p.key AS "pluginKey", ${ROWS_AND_BYTES} FROM plugins p LEFT JOIN plugin_storage s ON s.plugin_id = p.id WHERE p.key = ? GROUP BY p.id`,
    [pluginKey],
  )
  if (rows.length === 0) return null
  const owners = await database.raw(
    `SELECT s.user_id AS "userId", u.username, ${ROWS_AND_BYTES}
     FROM plugins p JOIN plugin_storage s ON s.plugin_id = p.id LEFT JOIN users u ON u.id = s.user_id
     WHERE p.key = :pluginKey GROUP BY s.user_id, u.username ORDER BY bytes DESC, s.user_id LIMIT :max`,
    { pluginKey, max: STORAGE_OWNERS_MAX },
  )
  return { ...rows[0], owners: owners.rows }
}

/**
 * Deletes the storage of a plugin, or only that for one user, for all data versions, so that a rollback restores nothing.
 * Null when there is no plugin with that key.
 */
export async function deleteStorage(
  database: Knex,
  owner: { pluginKey: string; userId: string | null },
): Promise<{ rows: number; bytes: number } | null> {
  const plugin = await database('plugins').where('key', owner.pluginKey).first('id')
  if (plugin === undefined) return null
  const { rows } = await database.raw(
    `WITH s AS (DELETE FROM plugin_storage WHERE plugin_id = :pluginId AND (CAST(:userId AS uuid) IS NULL OR user_id = :userId) RETURNING key, value)
     SELECT ${ROWS_AND_BYTES} FROM s`,
    { pluginId: plugin.id, userId: owner.userId },
  )
  return rows[0]
}
