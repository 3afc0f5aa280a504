import type { Knex } from 'knex'
import type { PluginReader } from '#core/matching/provider-client.ts'

/** What a reader has switched on, and how. */
export interface UserPlugin {
  id: string
  pluginId: string
  userId: string
  enabled: boolean
  config: Record<string, unknown>
  /** Set when the service refused the credentials. */
  authFailedAt: Date | null
  lastSuccessAt: Date | null
  externalUsername: string | null
  createdAt: Date
  updatedAt: Date
}

/** What may change; what is missing stays. */
export interface UserPluginChange {
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

const of = (database: Knex, { pluginId, userId }: PluginReader) => database('user_plugins').where({ plugin_id: pluginId, user_id: userId })

export async function findUserPlugin(database: Knex, reader: PluginReader): Promise<UserPlugin | null> {
  return (await of(database, reader).first(...COLUMNS)) ?? null
}

/** Whether the reader has it; it cannot be taken away before the transaction ends. */
export async function holdsUserPlugin(trx: Knex, reader: PluginReader): Promise<boolean> {
  return (await of(trx, reader).forShare().first('id')) !== undefined
}

/** All that a reader has ever switched on and not taken away. */
export async function listUserPlugins(database: Knex, userId: string): Promise<UserPlugin[]> {
  return await database('user_plugins').where('user_id', userId).orderBy('created_at').orderBy('id').select(COLUMNS)
}

/** Switches a plugin on for a reader. False when it was on. */
export async function enableUserPlugin(database: Knex, { pluginId, userId }: PluginReader): Promise<boolean> {
  const { rows } = await database.raw(
    `INSERT INTO user_plugins (plugin_id, user_id) VALUES (:pluginId, :userId)
     ON CONFLICT (plugin_id, user_id) DO UPDATE SET enabled = true, updated_at = now() WHERE NOT user_plugins.enabled RETURNING id`,
    { pluginId, userId },
  )
  return rows.length > 0
}

/** False where the reader does not have it. */
export async function updateUserPlugin(database: Knex, reader: PluginReader, change: UserPluginChange): Promise<boolean> {
  const { enabled, config, authFailedAt, lastSuccessAt } = change
  const changed = await of(database, reader).update({
    ...(enabled !== undefined && { enabled }),
    ...(config !== undefined && { config: JSON.stringify(config) }),
    ...(authFailedAt !== undefined && { auth_failed_at: authFailedAt }),
    ...(lastSuccessAt !== undefined && { last_success_at: lastSuccessAt }),
    updated_at: database.fn.now(),
  })
  return changed > 0
}

/**
 * Takes away all that a plugin has of a reader: settings, credentials, what it keeps, sign-ins under way and its last list. What the reader has
 * dismissed is their word and not the plugin's: it stays, to be told again. False where the reader does not have it.
 */
export async function deleteUserPlugin(database: Knex, reader: PluginReader): Promise<boolean> {
  const which = { plugin_id: reader.pluginId, user_id: reader.userId }
  return await database.transaction(async (trx) => {
    if ((await of(trx, reader).delete()) === 0) return false
    for (const table of ['plugin_credentials', 'plugin_storage', 'plugin_sign_ins', 'recommendations'])
      await trx(table).where(which).delete()
    await trx('dismissed_recommendations').where(which).update({ told_at: null })
    return true
  })
}
