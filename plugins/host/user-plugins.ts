import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import { findLiveRefresh, forgetFailures } from '#core/recommendations/recommendation-store.ts'
import type { TaskQueue } from '#core/tasks/task.ts'
import { type AuthStatus, confirmDestination } from '#plugins/credentials/plugin-auth.ts'
import { openSignIns, type SignInAnswer, type SignInBegun, type SignIns } from '#plugins/credentials/sign-in.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import { findPlugin } from '#plugins/host/plugin-store.ts'
import {
  deleteUserPlugin,
  enableUserPlugin,
  findUserPlugin,
  holdsUserPlugin,
  listUserPlugins,
  type UserPlugin,
  updateUserPlugin,
} from '#plugins/host/user-plugin-store.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { readConfig } from '#plugins/packages/plugin-config.ts'

/** A plugin as a reader has it. */
export interface OwnPlugin {
  own: UserPlugin
  plugin: InstalledPlugin
  authStatus: AuthStatus
  /** Whether readers can sign in: an administrator has given what the service knows this server by. */
  signInReady: boolean
}

/** A plugin that a reader could switch on. */
export type OfferedPlugin = Pick<OwnPlugin, 'plugin' | 'signInReady'>

/** Which plugins readers have, each for themselves. */
export interface UserPlugins {
  list(userId: string): Promise<{ enabled: OwnPlugin[]; available: OfferedPlugin[] }>
  /** @throws not_found for what the reader does not have, or nobody may have any more */
  get(userId: string, pluginId: string): Promise<OwnPlugin>
  /** @throws not_found, invalid_request (no plugin for readers), conflict (it is on) */
  enable(userId: string, pluginId: string): Promise<OwnPlugin>
  /** Keeps everything for when it is switched on again. @throws not_found */
  disable(userId: string, pluginId: string): Promise<OwnPlugin>
  /** Takes away all that the plugin has of the reader. @throws not_found */
  disconnect(userId: string, pluginId: string): Promise<void>
  /** Takes the place of the whole configuration. @throws not_found, invalid_value with the path of what is wrong */
  configure(userId: string, pluginId: string, config: Record<string, unknown>): Promise<OwnPlugin>
  /**
   * @param expected where they are to go, as the reader has read it; undefined where the reader says nothing of it
   * @throws not_found, invalid_request (it takes none of readers), invalid_value, conflict (they would go elsewhere by now)
   */
  setCredentials(
    userId: string,
    pluginId: string,
    given: { accessToken: string } | Record<string, string>,
    expected?: string | undefined,
  ): Promise<OwnPlugin>
  /** See SignIns. @throws not_found too */
  beginSignIn(userId: string, pluginId: string, redirectUri: string): Promise<SignInBegun>
  /** Answers the name of what was connected. @throws SignInError */
  finishSignIn(answer: SignInAnswer): Promise<{ name: string }>
}

/** What readers call a plugin for is run for them alone; everything else is for administrators. */
export const isForReaders = ({ manifest }: InstalledPlugin): boolean => manifest.capabilities.recommendations !== undefined
/** Whether readers may use it now. */
export const isOffered = (plugin: InstalledPlugin): boolean => plugin.state === 'enabled' && plugin.granted !== null && isForReaders(plugin)

export function openUserPlugins(parts: {
  database: Knex
  plugins: PluginHost
  egress: Egress
  tasks: Pick<TaskQueue, 'cancel'>
}): UserPlugins {
  const { database, plugins, tasks } = parts
  const signIns: SignIns = openSignIns({
    ...{ database, egress: parts.egress, credentials: plugins.credentials, isHeld: holdsUserPlugin },
    findPlugin: (id) => findPlugin<InstalledPlugin>(database, id),
  })

  const isSignInReady = async ({ id, manifest }: InstalledPlugin): Promise<boolean> =>
    manifest.auth?.type === 'oauth2' && (await plugins.credentials.state({ pluginId: id, userId: null })).fields.includes('clientId')

  /** What can be renewed has not ended for its reader. */
  async function authStatusOf(plugin: InstalledPlugin, userId: string): Promise<AuthStatus> {
    const status = await plugins.authStatus(plugin, userId)
    if (status !== 'expired') return status
    const owner = { pluginId: plugin.id, userId: plugin.manifest.auth?.scope === 'user' ? userId : null }
    return (await plugins.credentials.state(owner)).fields.includes('refreshToken') ? 'connected' : status
  }

  async function show(own: UserPlugin, plugin: InstalledPlugin): Promise<OwnPlugin> {
    const [authStatus, signInReady] = await Promise.all([authStatusOf(plugin, own.userId), isSignInReady(plugin)])
    return { own, plugin, authStatus, signInReady }
  }

  /** In the same words whether there is no such plugin, it may not be used, or the reader does not have it. */
  const none = (pluginId: string): never => refuse('not_found', `You have no plugin ${pluginId}; enable it first.`)

  async function getOwn(userId: string, pluginId: string): Promise<{ own: UserPlugin; plugin: InstalledPlugin }> {
    const own = (await findUserPlugin(database, { userId, pluginId })) ?? none(pluginId)
    const plugin = await plugins.get(pluginId)
    return isForReaders(plugin) ? { own, plugin } : none(pluginId)
  }
  const get = async (userId: string, pluginId: string): Promise<OwnPlugin> => {
    const { own, plugin } = await getOwn(userId, pluginId)
    return await show(own, plugin)
  }

  /** What runs for the reader would go on with what was so before. */
  async function stop(reader: { userId: string; pluginId: string }): Promise<void> {
    const live = await findLiveRefresh(database, reader)
    if (live !== null) await tasks.cancel(live.taskId)
    plugins.end(reader.pluginId, reader.userId)
  }

  /** New credentials or another configuration: what failed before may work now. */
  async function renewed(reader: { userId: string; pluginId: string }): Promise<void> {
    await forgetFailures(database, reader)
    plugins.end(reader.pluginId, reader.userId)
  }

  return {
    get,

    async list(userId) {
      const [all, mine] = await Promise.all([plugins.list(), listUserPlugins(database, userId)])
      const ofMine = mine.flatMap((own) => {
        const plugin = all.find(({ id }) => id === own.pluginId)
        return plugin !== undefined && isForReaders(plugin) ? [{ own, plugin }] : []
      })
      const on = ofMine.filter(({ own }) => own.enabled)
      const rest = all.filter((plugin) => isOffered(plugin) && !on.some(({ own }) => own.pluginId === plugin.id))
      const byName = (a: { plugin: InstalledPlugin }, b: { plugin: InstalledPlugin }) => (nameOf(a.plugin) < nameOf(b.plugin) ? -1 : 1)
      return {
        enabled: (await Promise.all(on.map(({ own, plugin }) => show(own, plugin)))).sort(byName),
        available: (await Promise.all(rest.map(async (plugin) => ({ plugin, signInReady: await isSignInReady(plugin) })))).sort(byName),
      }
    },

    async enable(userId, pluginId) {
      const plugin = await plugins.get(pluginId)
      if (!isForReaders(plugin))
        refuse('invalid_request', `${plugin.manifest.name} does nothing for a single reader; administrators use it.`)
      if (!isOffered(plugin)) refuse('not_found', `There is no plugin ${pluginId} that you could enable.`)
      if (!(await enableUserPlugin(database, { userId, pluginId }))) refuse('conflict', `${plugin.manifest.name} is enabled already.`)
      return await get(userId, pluginId)
    },

    async disable(userId, pluginId) {
      await getOwn(userId, pluginId)
      await updateUserPlugin(database, { userId, pluginId }, { enabled: false })
      await stop({ userId, pluginId })
      return await get(userId, pluginId)
    },

    async disconnect(userId, pluginId) {
      if (!(await deleteUserPlugin(database, { userId, pluginId }))) none(pluginId)
      await stop({ userId, pluginId })
    },

    async configure(userId, pluginId, config) {
      const { plugin } = await getOwn(userId, pluginId)
      readConfig(plugin.manifest.userConfig, config)
      await updateUserPlugin(database, { userId, pluginId }, { config })
      await renewed({ userId, pluginId })
      return await get(userId, pluginId)
    },

    async setCredentials(userId, pluginId, given, expected) {
      const { plugin } = await getOwn(userId, pluginId)
      const { name } = plugin.manifest
      const auth = plugins.authOf(plugin)
      if (auth === undefined || auth.type === 'none' || auth.scope !== 'user')
        return refuse('invalid_request', `${name} takes no credentials of readers.`)
      confirmDestination(auth, expected)
      // What a service knows this server by is not a reader's to say.
      const { accessToken, clientId: _, clientSecret: __, ...more } = given as Record<string, string>
      const main = auth.type === 'apiKey' ? 'token' : 'accessToken'
      const fields = { ...more, ...(accessToken !== undefined && { [main]: accessToken }) }
      const reader = { pluginId, userId }
      if (!(await plugins.credentials.set(reader, auth, fields, null, (trx) => holdsUserPlugin(trx, reader)))) none(pluginId)
      await updateUserPlugin(database, { userId, pluginId }, { authFailedAt: null })
      await renewed({ userId, pluginId })
      return await get(userId, pluginId)
    },

    async beginSignIn(userId, pluginId, redirectUri) {
      const { own, plugin } = await getOwn(userId, pluginId)
      if (!own.enabled || !isOffered(plugin)) none(pluginId)
      return await signIns.begin(plugin, userId, redirectUri)
    },

    async finishSignIn(answer) {
      const { plugin, pluginId, userId } = await signIns.finish(answer)
      await updateUserPlugin(database, { userId, pluginId }, { authFailedAt: null })
      await renewed({ userId, pluginId })
      return { name: plugin.manifest.name }
    },
  }
}

/** In an order that does not change with the case of a letter. */
export const nameOf = ({ manifest, key }: InstalledPlugin): string => `${manifest.name.toLowerCase()} ${key}`
