import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import { type InstalledPlugin, stopWords } from '#plugins/host/installed-plugin.ts'
import type { CallSetting } from '#plugins/host/live-isolates.ts'
import { getPlugin } from '#plugins/host/plugin-store.ts'
import { pauseOf } from '#plugins/host/user-consent.ts'
import { findUserPlugin, type UserPlugin } from '#plugins/host/user-plugin-store.ts'
import { receivedSettings, secretsOf } from '#plugins/packages/plugin-config.ts'
import { refuseGuest } from '#plugins/runtime/guest-error.ts'

/** A plugin that may run, and what its user has agreed to; null when it does not run for a user. */
interface Runnable {
  plugin: InstalledPlugin
  own: UserPlugin | null
}

/** Comes before anything that runs code of a plugin, also once at its installation. @throws conflict in safe mode */
export function refuseInSafeMode(enabled: boolean): void {
  if (!enabled)
    refuse('conflict', 'Plugins are disabled: the server runs in safe mode (plugins.enabled is false), in which nothing of them runs.')
}

/**
 * The only place that decides whether a plugin may run.
 * @param options.enabled false in safe mode
 * @param isMigrating the data of the user may be of an earlier version
 * @throws AppError: not_found, conflict
 */
export async function getRunnable(
  { database, enabled }: { database: Knex; enabled: boolean },
  pluginId: string,
  userId: string | null,
  isMigrating = false,
): Promise<Runnable> {
  const plugin = await getPlugin(database, pluginId)
  refuseInSafeMode(enabled)
  if (plugin.granted === null) refuse('conflict', stopWords({ ...plugin, state: 'waiting' }))
  if (plugin.state !== 'enabled') refuse('conflict', stopWords(plugin))
  return { plugin, own: await findOwn(database, plugin, userId, isMigrating) }
}

/**
 * What the user has agreed to; null when the plugin does not run for a user.
 * @param isMigrating the data of the user may be of an earlier version
 * @throws not_found, conflict when it must not run for the user
 */
export async function findOwn(
  database: Knex,
  plugin: InstalledPlugin,
  userId: string | null,
  isMigrating = false,
): Promise<UserPlugin | null> {
  if (userId === null) return null
  const own = await findUserPlugin(database, { pluginId: plugin.id, userId })
  if (own === null) return refuse('not_found', `The user has no plugin ${plugin.key}.`)
  const pause = pauseOf(plugin, own)
  if (pause !== null && !(isMigrating && pause === 'data')) refusePaused(plugin, pause)
  return own
}

/** @throws conflict always */
function refusePaused({ manifest: { name } }: InstalledPlugin, pause: NonNullable<ReturnType<typeof pauseOf>>): never {
  if (pause === 'disabled') refuse('conflict', `The user has disabled ${quotedText(name)}.`)
  if (pause === 'changed')
    refuse(
      'conflict',
      `${quotedText(name)} asks for something else than the user has agreed to, and waits until the user enables it again.`,
    )
  refuse('conflict', `${quotedText(name)} has not yet converted the user's data; it does when the user enables it again.`)
}

/** Reads the secret settings that the code of a plugin receives. */
export type SecretSettings = Pick<Credentials, 'revealSettings'>

/** @throws GuestError config when the configuration of the plugin or of the user does not match the manifest */
export async function settingOf({ plugin, own }: Runnable, secrets: SecretSettings): Promise<CallSetting> {
  const { config: schema, userConfig: userSchema } = plugin.manifest
  const [forAll, forUser] = await Promise.all([
    secrets.revealSettings({ pluginId: plugin.id, userId: null }, secretsOf(schema, { isReceived: true })),
    own === null ? {} : secrets.revealSettings(own, secretsOf(userSchema, { isReceived: true })),
  ])
  try {
    const config = receivedSettings(schema, plugin.config, forAll)
    const userConfig = own === null ? {} : receivedSettings(userSchema, own.config, forUser)
    return { plugin, own, userId: own?.userId ?? null, config, userConfig }
  } catch (error) {
    return refuseGuest('config', error instanceof Error ? error.message : 'The configuration is invalid.')
  }
}

/** Who shares cached responses. A user who has deleted all data and enables the plugin again has another row, so another scope. */
export const cacheScopeOf = (pluginId: string, own: UserPlugin | null): string =>
  `${pluginId}/${own === null ? '' : `${own.userId}/${own.id}`}`
