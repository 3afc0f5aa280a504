import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import type { PluginUser } from '#core/matching/provider-client.ts'
import { findLiveRefresh, forgetFailures } from '#core/recommendations/recommendation-store.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'
import type { Credentials, StoredCredentials } from '#plugins/credentials/credentials.ts'
import { type AuthStatus, confirmDestination } from '#plugins/credentials/plugin-auth.ts'
import { type SignInAnswer, type SignInBegun, SignIns } from '#plugins/credentials/sign-in.ts'
import { migrateOwner } from '#plugins/host/data-migration.ts'
import { type InstalledPlugin, stopWords } from '#plugins/host/installed-plugin.ts'
import type { PluginCalls } from '#plugins/host/plugin-calls.ts'
import { findPlugin } from '#plugins/host/plugin-store.ts'
import type { Plugins } from '#plugins/host/plugins.ts'
import { pauseOf, type UserConsent, userConsentOf } from '#plugins/host/user-consent.ts'
import {
  deleteUserPlugin,
  enableUserPlugin,
  findShown,
  findUserPlugin,
  isEnabledForUser,
  listUserPlugins,
  recordShown,
  type UserPlugin,
  updateUserPlugin,
} from '#plugins/host/user-plugin-store.ts'
import type { PluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { splitSecrets } from '#plugins/packages/plugin-config.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/** A plugin of a user. */
export interface OwnPlugin {
  own: UserPlugin
  plugin: InstalledPlugin
  authStatus: AuthStatus
  /** Whether users can sign in: an administrator has entered the client id for this service. */
  signInReady: boolean
  /** What it asks of the user now. */
  consent: UserConsent
  /** Why it does not run for the user; null when it may. `stopped`: it runs for nobody, whatever the user does. */
  pause: ReturnType<typeof pauseOf> | 'stopped'
  /** The names of the user's secret settings that are stored. */
  secretsSet: string[]
}

/** A plugin that a user could enable. */
export type OfferedPlugin = Pick<OwnPlugin, 'plugin' | 'signInReady' | 'consent'>

/** Plugins whose functions run for one user; the others are for administrators. */
const isForUsers = ({ manifest }: InstalledPlugin): boolean => manifest.capabilities.recommendations !== undefined
/** Whether users may use it now. */
export const isOffered = (plugin: InstalledPlugin): boolean => plugin.state === 'enabled' && plugin.granted !== null && isForUsers(plugin)

interface UserPluginsOptions {
  database: Knex
  plugins: Plugins
  pluginCalls: PluginCalls
  pluginCredentials: Credentials
  pluginLogs: PluginLogs
  egress: Egress
  tasks: Pick<TaskQueue, 'cancel'>
}

/** The plugins that each user has enabled. */
export class UserPlugins {
  readonly #options: UserPluginsOptions
  readonly #signIns: SignIns

  constructor(options: UserPluginsOptions) {
    const { database, egress, pluginLogs: logs, pluginCredentials: credentials, pluginCalls } = options
    this.#options = options
    this.#signIns = new SignIns({
      database,
      egress,
      logs,
      credentials,
      whileAllowed: pluginCalls.whileAllowed,
      mayConnect: (trx, user) => this.#mayConnect(trx, user),
      findPlugin: (id) => findPlugin(database, id),
    })
  }

  async list(userId: string): Promise<{ enabled: OwnPlugin[]; available: OfferedPlugin[] }> {
    const { database, plugins, pluginCredentials } = this.#options
    const [all, mine, stored] = await Promise.all([
      plugins.list(),
      listUserPlugins(database, userId),
      pluginCredentials.stored({ userId, pluginId: null }),
    ])
    const ofMine = mine.flatMap((own) => {
      const plugin = all.find(({ id }) => id === own.pluginId)
      return plugin !== undefined && isForUsers(plugin) ? [{ own, plugin }] : []
    })
    const on = ofMine.filter(({ own }) => own.enabled)
    const rest = all.filter((plugin) => isOffered(plugin) && !on.some(({ own }) => own.pluginId === plugin.id))
    const available = rest.map((plugin) => offer(plugin, stored))
    const shown = available.map(({ plugin, consent }) => ({ pluginId: plugin.id, sha256: consent.sha256 }))
    await recordShown(database, userId, shown)
    const byName = (a: { plugin: InstalledPlugin }, b: { plugin: InstalledPlugin }) => (nameOf(a.plugin) < nameOf(b.plugin) ? -1 : 1)
    return {
      enabled: on.map(({ own, plugin }) => this.#show(own, plugin, stored)).sort(byName),
      available: available.sort(byName),
    }
  }

  /**
   * The user agrees to what the plugin asks for. It may ask for something else than when the user agreed before; then that is the hash of what the user
   * has seen now.
   * @param sha256 of what the user has seen; undefined the first time means what `list` has shown to the user last, or what it would show
   * @throws not_found, invalid_request (not a plugin for users), conflict (already enabled, stopped, or it asks for something else),
   * unavailable (it cannot convert the data that it has of the user)
   */
  async enable(userId: string, pluginId: string, sha256?: string): Promise<OwnPlugin> {
    const plugin = await this.#options.plugins.get(pluginId)
    if (!isForUsers(plugin))
      refuse('invalid_request', `${quotedText(plugin.manifest.name)} has no functions for single users; only administrators use it.`)
    const before = await findUserPlugin(this.#options.database, { userId, pluginId })
    if (!isOffered(plugin))
      return before === null
        ? refuse('not_found', `There is no plugin ${pluginId} for you to enable.`)
        : refuse('conflict', stopWords(plugin))
    const consent = userConsentOf(plugin)
    // Clients that know nothing of hashes send none; what a user was never shown is taken as it is now.
    const seen = sha256 ?? before?.agreedSha256 ?? (await findShown(this.#options.database, { userId, pluginId })) ?? consent.sha256
    if (seen !== consent.sha256) refuseOther(plugin)
    if (before !== null && pauseOf(plugin, before) === null) refuse('conflict', `${quotedText(plugin.manifest.name)} is enabled already.`)
    await enableUserPlugin(this.#options.database, { userId, pluginId }, { ...consent, dataVersion: plugin.dataVersion })
    if (before !== null && before.dataVersion < plugin.dataVersion) await this.#migrate(plugin, before)
    return await this.get(userId, pluginId)
  }

  /** Until it has ended, the plugin does not run for the user. */
  async #migrate(plugin: InstalledPlugin, { userId, pluginId, dataVersion: from }: UserPlugin): Promise<void> {
    const { database, pluginCalls: calls } = this.#options
    try {
      await migrateOwner({ database, calls }, plugin, { userId, from })
      await updateUserPlugin(database, { userId, pluginId }, { dataVersion: plugin.dataVersion })
    } catch (error) {
      await updateUserPlugin(database, { userId, pluginId }, { enabled: false })
      if (!(error instanceof GuestError)) throw error
      refuse(
        'unavailable',
        `${quotedText(plugin.manifest.name)} could not convert the data that it has of you, and stays disabled: ${quotedText(error.message)}`,
      )
    }
  }

  /** Keeps all data until it is enabled again. @throws not_found */
  async disable(userId: string, pluginId: string): Promise<OwnPlugin> {
    await this.#getOwn(userId, pluginId)
    // First: a refresh whose call ends because the user withdrew would end as done.
    await this.#cancelRefresh({ userId, pluginId })
    await updateUserPlugin(this.#options.database, { userId, pluginId }, { enabled: false })
    return await this.get(userId, pluginId)
  }

  /** Deletes all data of the plugin for the user. @throws not_found */
  async disconnect(userId: string, pluginId: string): Promise<void> {
    await this.#cancelRefresh({ userId, pluginId })
    if (!(await deleteUserPlugin(this.#options.database, { userId, pluginId }))) none(pluginId)
  }

  /** Replaces the whole configuration, except secrets that are left out. @throws not_found, invalid_value with the path of the wrong member */
  async configure(userId: string, pluginId: string, given: Record<string, unknown>): Promise<OwnPlugin> {
    const { own, plugin } = await this.#getOwn(userId, pluginId)
    const { config, secrets } = splitSecrets(plugin.manifest.userConfig, given)
    const user = { userId, pluginId }
    if (Object.keys(secrets).length > 0) {
      if (pauseOf(plugin, own) === 'changed') refuseOther(plugin)
      const isKept = await this.#options.pluginCredentials.setSettings(user, secrets, (trx) => isEnabledForUser(trx, user))
      if (!isKept) none(pluginId)
    }
    await updateUserPlugin(this.#options.database, user, { config })
    await forgetFailures(this.#options.database, { userId, pluginId })
    return await this.get(userId, pluginId)
  }

  /**
   * @param expected the destination that the user has confirmed; undefined when the request does not confirm one
   * @throws not_found, invalid_request (it takes no credentials of users), invalid_value, conflict (they would go elsewhere by now)
   */
  async setCredentials(
    userId: string,
    pluginId: string,
    given: { accessToken: string } | Record<string, string>,
    expected?: string | undefined,
  ): Promise<OwnPlugin> {
    const { own, plugin } = await this.#getOwn(userId, pluginId)
    if (pauseOf(plugin, own) === 'changed') refuseOther(plugin)
    const auth = this.#options.plugins.authOf(plugin)
    if (auth === undefined || auth.type === 'none' || auth.scope !== 'user')
      return refuse('invalid_request', `${quotedText(plugin.manifest.name)} takes no credentials of users.`)
    confirmDestination(auth, expected)
    // Users must not set the client credentials of this server.
    const { accessToken, clientId: _, clientSecret: __, ...more } = given as Record<string, string>
    const main = auth.type === 'apiKey' ? 'token' : 'accessToken'
    const fields = { ...more, ...(accessToken !== undefined && { [main]: accessToken }) }
    const user = { pluginId, userId }
    if (!(await this.#options.pluginCredentials.set(user, auth, fields, null, (trx) => this.#mayConnect(trx, user)))) none(pluginId)
    await this.#connected({ userId, pluginId })
    return await this.get(userId, pluginId)
  }

  /** See SignIns. @throws not_found too */
  async beginSignIn(userId: string, pluginId: string, redirectUri: string): Promise<SignInBegun> {
    const { own, plugin } = await this.#getOwn(userId, pluginId)
    if (!own.enabled || !isOffered(plugin)) none(pluginId)
    if (pauseOf(plugin, own) !== null) refuseOther(plugin)
    return await this.#signIns.begin(plugin, userId, redirectUri)
  }

  /** Returns the name of the connected plugin. @throws SignInError */
  async finishSignIn(answer: SignInAnswer): Promise<{ name: string }> {
    const { plugin, pluginId, userId } = await this.#signIns.finish(answer)
    await this.#connected({ userId, pluginId })
    return { name: plugin.manifest.name }
  }

  /** @throws not_found when the user does not have it, or it is no longer available */
  async get(userId: string, pluginId: string): Promise<OwnPlugin> {
    const { own, plugin } = await this.#getOwn(userId, pluginId)
    return this.#show(own, plugin, await this.#options.pluginCredentials.stored({ userId, pluginId }))
  }

  #show(own: UserPlugin, plugin: InstalledPlugin, stored: StoredCredentials): OwnPlugin {
    return {
      ...offer(plugin, stored),
      own,
      authStatus: this.#authStatusOf(plugin, own.userId, stored),
      secretsSet: stored.settings(own),
      pause: isOffered(plugin) ? pauseOf(plugin, own) : 'stopped',
    }
  }

  /** A token that can be renewed does not count as expired. */
  #authStatusOf(plugin: InstalledPlugin, userId: string, stored: StoredCredentials): AuthStatus {
    const auth = this.#options.plugins.authOf(plugin)
    const owner = { pluginId: plugin.id, userId: auth?.scope === 'user' ? userId : null }
    const status = stored.status(owner, auth)
    return status === 'expired' && stored.fields(owner, auth).includes('refreshToken') ? 'connected' : status
  }

  /** Whether the user has agreed to what the plugin asks for now, such as where the sign-in goes; locks the row. */
  async #mayConnect(trx: Knex, user: PluginUser): Promise<boolean> {
    if (!(await isEnabledForUser(trx, user))) return false
    const [own, plugin] = [await findUserPlugin(trx, user), await findPlugin(trx, user.pluginId)]
    return own !== null && plugin !== null && pauseOf(plugin, own) === null
  }

  async #getOwn(userId: string, pluginId: string): Promise<{ own: UserPlugin; plugin: InstalledPlugin }> {
    const own = (await findUserPlugin(this.#options.database, { userId, pluginId })) ?? none(pluginId)
    const plugin = await this.#options.plugins.get(pluginId)
    return isForUsers(plugin) ? { own, plugin } : none(pluginId)
  }

  /** Running calls end by the change itself; a task that waits would begin another. */
  async #cancelRefresh(user: { userId: string; pluginId: string }): Promise<void> {
    const live = await findLiveRefresh(this.#options.database, user)
    if (live !== null) await this.#options.tasks.cancel(live.taskId)
  }

  /** After new credentials, earlier failures no longer count, and nothing of the former account stays in an isolate. */
  async #connected(user: { userId: string; pluginId: string }): Promise<void> {
    await updateUserPlugin(this.#options.database, user, { authFailedAt: null })
    await forgetFailures(this.#options.database, user)
    await this.#options.pluginCalls.end(user.pluginId, user.userId)
  }
}

function offer(plugin: InstalledPlugin, stored: StoredCredentials): OfferedPlugin {
  const { auth } = plugin.manifest
  const signInReady = auth?.type === 'oauth2' && stored.fields({ pluginId: plugin.id, userId: null }, auth).includes('clientId')
  return { plugin, signInReady, consent: userConsentOf(plugin) }
}

/** The same message whether the plugin does not exist, is unavailable, or the user does not have it. */
function none(pluginId: string): never {
  return refuse('not_found', `You have no plugin ${pluginId}; enable it first.`)
}

function refuseOther({ manifest }: InstalledPlugin): never {
  return refuse(
    'conflict',
    `${quotedText(manifest.name)} asks for something else than you have agreed to or were shown. GET /api/v1/user/plugins shows it as consent; to agree, enable the plugin with the sha256 in consent, which is not that of the package.`,
  )
}

/** Sort key that ignores case. */
export const nameOf = ({ manifest, key }: InstalledPlugin): string => `${manifest.name.toLowerCase()} ${key}`
