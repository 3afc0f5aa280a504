import type { Knex } from 'knex'
import { announce } from '#core/events/event-store.ts'
import type { Log } from '#core/foundation/log.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { findPlugin, lockPlugin } from '#plugins/host/plugin-store.ts'
import { userConsentOf } from '#plugins/host/user-consent.ts'
import { listAgreed } from '#plugins/host/user-plugin-store.ts'

/**
 * Changes a plugin, and tells the users who use it when it asks for something else by that, so that it pauses for them.
 * @param change receives the plugin as it is now; its row stays locked
 * @returns for how many users it pauses by that
 */
export async function changeForUsers(
  { database, log }: { database: Knex; log: Log },
  plugin: Pick<InstalledPlugin, 'id' | 'key'>,
  change: (trx: Knex.Transaction, now: InstalledPlugin | null) => Promise<void>,
): Promise<number> {
  const count = await database.transaction(async (trx) => {
    await lockPlugin(trx, plugin.key)
    const before = await findPlugin(trx, plugin.id)
    await change(trx, before)
    const after = await findPlugin(trx, plugin.id)
    if (before === null || after === null) return 0
    const [had, has] = [userConsentOf(before).sha256, userConsentOf(after).sha256]
    const userIds = had === has ? [] : await listAgreed(trx, plugin.id, had)
    await announce(
      trx,
      userIds.map((userId) => ({ event: { type: 'user_plugin_paused', pluginId: plugin.id }, userId })),
    )
    return userIds.length
  })
  if (count > 0)
    log.info(
      { plugin: plugin.key, users: count },
      `${plugin.key} asks its users for something else than they have agreed to, and pauses for each of them until they agree again`,
    )
  return count
}
