import type { Knex } from 'knex'

/** What a plugin keeps: rows, and bytes of their keys and values; what expired and what older versions would need again lies there too. */
export interface StorageStats {
  pluginKey: string
  rows: number
  bytes: number
}

/** The part of it that is kept for one reader, or for the plugin itself where `userId` is null. */
export interface OwnerStorageStats {
  userId: string | null
  username: string | null
  rows: number
  bytes: number
}

/** Of a plugin with very many readers, those who take the most room. */
export const STORAGE_OWNERS_MAX = 500

const ROWS_AND_BYTES = 'count(s.key)::int AS rows, coalesce(sum(octet_length(s.key) + octet_length(s.value)), 0)::float8 AS bytes'

/** What all plugins keep, by the plugin's key; those that keep nothing too. */
export async function listStorageStats(database: Knex): Promise<StorageStats[]> {
  const { rows } = await database.raw(
    `SELECT p.key AS "pluginKey", ${ROWS_AND_BYTES} FROM plugins p LEFT JOIN plugin_storage s ON s.plugin_id = p.id GROUP BY p.id ORDER BY p.key`,
  )
  return rows
}

/** What one plugin keeps, and for whom, the most first; null when there is no plugin of that key. */
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
 * Deletes what a plugin keeps, or only what it keeps for one reader: of all versions of its data, so that going back to one brings nothing back.
 * Null when there is no plugin of that key.
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
