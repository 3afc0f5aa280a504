import type { Knex } from 'knex'
import { wordsFor } from '#core/account/private-words.ts'
import { refuse } from '#core/foundation/errors.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import { configurationProblem } from '#plugins/host/consent-review.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { PluginCalls } from '#plugins/host/plugin-calls.ts'
import { countsAgainstPlugin, failureCode } from '#plugins/host/plugin-health.ts'
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
 * Lets a version migrate its data and, if the plugin is enabled then, run its setup, beside the running one.
 * @param isRunning whether it is enabled then
 * @returns the users whose data it has migrated
 * @throws invalid_value when it cannot take over
 */
export async function prepareVersion(
  { database, calls }: MigrationDependencies,
  before: InstalledPlugin,
  after: InstalledPlugin,
  isRunning: boolean,
): Promise<string[]> {
  let migrated: string[] = []
  try {
    if (after.dataVersion > before.dataVersion) migrated = await migrateAll({ database, calls }, before, after)
    if (isRunning && configurationProblem(after.manifest, after.config).length === 0)
      await calls.runApart(after, 'setup', { userId: null, input: null })
  } catch (error) {
    if (!(error instanceof GuestError)) throw error
    // An outage of a service says nothing about the version.
    if (after.dataVersion > before.dataVersion || countsAgainstPlugin(failureCode(error)))
      refuse('invalid_value', `${after.key} ${after.version} cannot take over from ${before.version}: ${quotedText(error.message)}`)
  }
  return migrated
}

/**
 * Migrates the data of the plugin, and that of the users for whom the new version may run: the others' data waits until they enable it.
 * @returns these users
 * @throws GuestError
 */
async function migrateAll(dependencies: MigrationDependencies, before: InstalledPlugin, after: InstalledPlugin): Promise<string[]> {
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
