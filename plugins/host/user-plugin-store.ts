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
  authFailedAt?: Date | null
  lastSuccessAt?: Date
}

const COLUMNS = [
  'id',
  'plugin_id AS pluginId',
  'user_id AS userId',
  'enabled',
  'config',
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

/** Enables a plugin for a user. False when it was enabled. */
export async function enableUserPlugin(database: Knex, { pluginId, userId }: PluginUser): Promise<boolean> {
  const { rows } = await database.raw(
    `INSERT INTO user_plugins (plugin_id, user_id) VALUES (:pluginId, :userId)
     ON CONFLICT (plugin_id, user_id) DO UPDATE SET enabled = true, updated_at = now() WHERE NOT user_plugins.enabled RETURNING id`,
    { pluginId, userId },
  )
  return rows.length > 0
}

/** False when the user does not have the plugin. */
export async function updateUserPlugin(database: Knex, user: PluginUser, change: UserPluginChange): Promise<boolean> {
  const { enabled, config, authFailedAt, lastSuccessAt } = change
  const changed = await of(database, user).update({
    ...(enabled !== undefined && { enabled }),
    ...(config !== undefined && { config: JSON.stringify(config) }),
    ...(authFailedAt !== undefined && { auth_failed_at: authFailedAt }),
    ...(lastSuccessAt !== undefined && { last_success_at: lastSuccessAt }),
    updated_at: database.fn.now(),
  })
  return changed > 0
}

/**
 * Deletes all data of a plugin for a user: settings, credentials, storage, pending sign-ins and the last recommendations. Dismissals are the
 * user's own choice and stay, to be sent to the plugin again. False when the user does not have the plugin.
 */
export async function deleteUserPlugin(database: Knex, user: PluginUser): Promise<boolean> {
  const which = { plugin_id: user.pluginId, user_id: user.userId }
  return await database.transaction(async (trx) => {
    if ((await of(trx, user).delete()) === 0) return false
    for (const table of ['plugin_credentials', 'plugin_storage', 'plugin_sign_ins', 'recommendations'])
      await trx(table).where(which).delete()
    await trx('dismissed_recommendations').where(which).update({ sent_at: null })
    return true
  })
}
