import type { Knex } from 'knex'
import { prepared } from '#core/database/prepared.ts'
import type { PluginUser } from '#core/matching/provider-client.ts'

/** A plugin that a user has enabled, with its settings. */
export interface UserPlugin {
  id: string
  pluginId: string
  userId: string
  enabled: boolean
  config: Record<string, unknown>
  /** Of the record that the user has agreed to. */
  agreedSha256: string
  agreedRecord: unknown
  agreedAt: Date
  /** Of the user's storage. */
  dataVersion: number
  /** Set when the service rejected the credentials. */
  authFailedAt: Date | null
  lastSuccessAt: Date | null
  externalUsername: string | null
  createdAt: Date
  updatedAt: Date
}

/** Possible changes; missing members stay unchanged. */
interface UserPluginChange {
  enabled?: boolean
  config?: Record<string, unknown>
  dataVersion?: number
  authFailedAt?: Date | null
  lastSuccessAt?: Date
}

const COLUMNS = [
  'id',
  'plugin_id AS pluginId',
  'user_id AS userId',
  'enabled',
  'config',
  'agreed_sha256 AS agreedSha256',
  'agreed_record AS agreedRecord',
  'agreed_at AS agreedAt',
  'data_version AS dataVersion',
  'auth_failed_at AS authFailedAt',
  'last_success_at AS lastSuccessAt',
  'external_username AS externalUsername',
  'created_at AS createdAt',
  'updated_at AS updatedAt',
]

/** Of an active user: nothing is done for an account that is disabled, also by a task that was queued before. */
const of = (database: Knex, { pluginId, userId }: PluginUser) =>
  database('user_plugins')
    .where({ plugin_id: pluginId, user_id: userId })
    .whereExists(database('users').where({ id: userId, is_active: true }))

export async function findUserPlugin(database: Knex, user: PluginUser): Promise<UserPlugin | null> {
  return (await prepared(of(database, user).first(...COLUMNS))) ?? null
}

/** Whether the user has enabled the plugin; locks the row until the transaction ends. */
export async function isEnabledForUser(trx: Knex, user: PluginUser): Promise<boolean> {
  return (await of(trx, user).forShare().first('id')) !== undefined
}

/** All plugins of a user, enabled or disabled, that are not disconnected. */
export async function listUserPlugins(database: Knex, userId: string): Promise<UserPlugin[]> {
  return await database('user_plugins').where('user_id', userId).orderBy('created_at').orderBy('id').select(COLUMNS)
}

/**
 * Enables a plugin for a user who agrees to a record.
 * @param dataVersion of the plugin: a user without data has no older data
 */
export async function enableUserPlugin(
  database: Knex,
  { pluginId, userId }: PluginUser,
  { record, sha256, dataVersion }: { record: unknown; sha256: string; dataVersion: number },
): Promise<void> {
  await database.raw(
    `INSERT INTO user_plugins (plugin_id, user_id, agreed_sha256, agreed_record, data_version)
     VALUES (:pluginId, :userId, :sha256, CAST(:record AS jsonb), :dataVersion)
     ON CONFLICT (plugin_id, user_id) DO UPDATE SET enabled = true, updated_at = now(), agreed_at = now(),
       agreed_sha256 = excluded.agreed_sha256, agreed_record = excluded.agreed_record`,
    { pluginId, userId, sha256, record: JSON.stringify(record), dataVersion },
  )
}

/** Keeps the hash of what each plugin asks for, as it was shown to a user. Writes nothing when it was shown before. */
export async function recordShown(database: Knex, userId: string, shown: readonly { pluginId: string; sha256: string }[]): Promise<void> {
  if (shown.length === 0) return
  // Sorted, so that two lists for one user wait for each other; the plugin or the user may be gone by now.
  await database.raw(
    `INSERT INTO plugin_records_shown (user_id, plugin_id, sha256)
     SELECT u.id, p.id, shown.sha256 FROM unnest(CAST(:ids AS uuid[]), CAST(:hashes AS text[])) AS shown (plugin_id, sha256)
     JOIN plugins p ON p.id = shown.plugin_id JOIN users u ON u.id = :userId
     WHERE NOT EXISTS (SELECT 1 FROM plugin_records_shown s WHERE s.user_id = u.id AND s.plugin_id = p.id AND s.sha256 = shown.sha256)
     ORDER BY p.id
     ON CONFLICT (user_id, plugin_id) DO UPDATE SET sha256 = excluded.sha256`,
    { userId, ids: shown.map(({ pluginId }) => pluginId), hashes: shown.map(({ sha256 }) => sha256) },
  )
}

/** The hash of what was shown to the user last; null when nothing was. */
export async function findShown(database: Knex, { pluginId, userId }: PluginUser): Promise<string | null> {
  return (await database('plugin_records_shown').where({ plugin_id: pluginId, user_id: userId }).first('sha256'))?.sha256 ?? null
}

/** The users who have a plugin, enabled or disabled, and are active. */
export async function listUsersOf(database: Knex, pluginId: string): Promise<UserPlugin[]> {
  return await database('user_plugins')
    .where('plugin_id', pluginId)
    .whereIn('user_id', database('users').where('is_active', true).select('id'))
    .orderBy('user_id')
    .select(COLUMNS)
}

/** The users for whom a plugin is enabled who have agreed to this record. */
export async function listAgreed(database: Knex, pluginId: string, agreedSha256: string): Promise<string[]> {
  return await database('user_plugins').where({ plugin_id: pluginId, enabled: true, agreed_sha256: agreedSha256 }).pluck('user_id')
}

/** Records the version of the data of all users, after another version of the plugin begins to run. @param migrated users whose data was migrated to it */
export async function recordDataVersions(trx: Knex, pluginId: string, to: number, migrated: readonly string[]): Promise<void> {
  await trx.raw(
    `UPDATE user_plugins SET data_version = CASE WHEN user_id = ANY(CAST(:migrated AS uuid[])) THEN :to ELSE least(data_version, :to) END
     WHERE plugin_id = :pluginId`,
    { pluginId, to, migrated: [...migrated] },
  )
}

/** False when the user does not have the plugin. */
export async function updateUserPlugin(database: Knex, user: PluginUser, change: UserPluginChange): Promise<boolean> {
  const { enabled, config, dataVersion, authFailedAt, lastSuccessAt } = change
  const changed = await of(database, user).update({
    ...(enabled !== undefined && { enabled }),
    ...(config !== undefined && { config: JSON.stringify(config) }),
    ...(dataVersion !== undefined && { data_version: dataVersion }),
    ...(authFailedAt !== undefined && { auth_failed_at: authFailedAt }),
    ...(lastSuccessAt !== undefined && { last_success_at: lastSuccessAt }),
    updated_at: database.fn.now(),
  })
  return changed > 0
}

/**
 * Deletes all data of a plugin for a user: settings, credentials, storage, pending sign-ins, failures and the last recommendations. Dismissals are the
 * user's own choice and stay, to be sent to the plugin again. False when the user does not have the plugin.
 */
export async function deleteUserPlugin(database: Knex, user: PluginUser): Promise<boolean> {
  const which = { plugin_id: user.pluginId, user_id: user.userId }
  return await database.transaction(async (trx) => {
    if ((await of(trx, user).delete()) === 0) return false
    for (const table of ['plugin_credentials', 'plugin_storage', 'plugin_sign_ins', 'plugin_failures', 'recommendations'])
      await trx(table).where(which).delete()
    await trx('dismissed_recommendations').where(which).update({ sent_at: null })
    return true
  })
}
