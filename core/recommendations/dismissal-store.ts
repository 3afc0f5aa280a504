import type { Knex } from 'knex'
import type { PluginUser } from '#core/matching/provider-client.ts'

/** An item that a user does not want to see again. */
export interface Dismissal {
  externalId: string
  reason: string | null
}

/** Per user and plugin, more than one person dismisses by hand; the oldest are deleted. */
const DISMISSED_MAX = 10_000

const of = (database: Knex, { pluginId, userId }: PluginUser) =>
  database('dismissed_recommendations').where({ plugin_id: pluginId, user_id: userId })

/** A second dismissal changes only the reason, if it has one. */
export async function addDismissal(database: Knex, { pluginId, userId }: PluginUser, { externalId, reason }: Dismissal): Promise<void> {
  await database.transaction(async (trx) => {
    await trx('dismissed_recommendations')
      .insert({ plugin_id: pluginId, user_id: userId, external_id: externalId, reason })
      .onConflict(['plugin_id', 'user_id', 'external_id'])
      .merge({ reason: trx.raw('coalesce(excluded.reason, dismissed_recommendations.reason)') })
    const old = of(trx, { pluginId, userId })
      .orderBy('created_at', 'desc')
      .orderBy('external_id')
      .offset(DISMISSED_MAX)
      .select('external_id')
    await of(trx, { pluginId, userId }).whereIn('external_id', old).delete()
  })
}

/** All external identifiers, newest first. */
export async function listDismissed(database: Knex, user: PluginUser): Promise<string[]> {
  return await of(database, user).orderBy('created_at', 'desc').orderBy('external_id').pluck('external_id')
}

/** Dismissals that the plugin has not received yet, oldest first. */
export async function listUnreported(database: Knex, user: PluginUser, limit: number): Promise<Dismissal[]> {
  return await of(database, user)
    .whereNull('sent_at')
    .orderBy('created_at')
    .orderBy('external_id')
    .limit(limit)
    .select('external_id AS externalId', 'reason')
}

export async function recordReported(database: Knex, user: PluginUser, externalId: string): Promise<void> {
  await of(database, user).where('external_id', externalId).update({ sent_at: database.fn.now() })
}
