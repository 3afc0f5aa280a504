import type { Knex } from 'knex'
import { wordsFor } from '#core/account/private-words.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { PluginCalls } from '#plugins/host/plugin-calls.ts'
import { copyStorage } from '#plugins/host/plugin-storage-store.ts'
import { pauseOf } from '#plugins/host/user-consent.ts'
import { listUsersOf } from '#plugins/host/user-plugin-store.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

interface MigrationDependencies {
  database: Knex
  calls: Pick<PluginCalls, 'runApart'>
}

/** Lets a version convert a copy of the data of one owner; the original stays for the version before. @throws GuestError */
export async function migrateOwner(
  { database, calls }: MigrationDependencies,
  plugin: InstalledPlugin,
  { userId, from }: { userId: string | null; from: number },
): Promise<void> {
  const owner = { pluginId: plugin.id, userId }
  const hasData = await database.transaction((trx) => copyStorage(trx, owner, from, plugin.dataVersion))
  if (hasData || userId === null) await calls.runApart(plugin, 'migrate', { userId, input: from })
}

/**
 * Migrates the data of the plugin, and that of the users for whom the new version may run: the others' data waits until they enable it.
 * @returns these users
 * @throws GuestError
 */
export async function migrateAll(dependencies: MigrationDependencies, before: InstalledPlugin, after: InstalledPlugin): Promise<string[]> {
  const from = before.dataVersion
  await migrateOwner(dependencies, after, { userId: null, from })
  const users = (await listUsersOf(dependencies.database, after.id)).filter(
    (own) => own.dataVersion >= from && ['data', null].includes(pauseOf(after, own)),
  )
  for (const { userId } of users)
    await migrateOwner(dependencies, after, { userId, from }).catch((error: unknown) => {
      // Who updates the plugin is another user.
      if (!(error instanceof GuestError)) throw error
      throw new GuestError(error.code, wordsFor(error.message, userId, null), error.own)
    })
  return users.map(({ userId }) => userId)
}
