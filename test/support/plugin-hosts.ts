import type { RequestListener } from 'node:http'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import type { PluginHostServices } from '#api/areas/plugins.ts'
import { openPluginHost, type PluginHostOptions } from '#api/compose-plugin-host.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { PluginUser } from '#core/matching/provider-client.ts'
import { PluginPictures } from '#plugins/host/plugin-pictures.ts'
import { userConsentOf } from '#plugins/host/user-consent.ts'
import { enableUserPlugin, updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { type Loopback, openLoopback, pluginOf } from '#test/support/plugins.ts'
import { findSupervisor } from '#test/support/supervisor.ts'
import { resizePicture } from '#workers/images/image.ts'

export const SECRETS = ['a-key-of-tests-that-is-at-least-thirty-two-bytes']

/** Answers every request. */
export const fine: RequestListener = (_request, response) => response.end('{}')

/** A plugin host whose requests go to a server of this test; it closes with the test. */
export async function openHostOn(
  t: Test,
  database: Knex,
  answer: RequestListener = fine,
  change: Partial<PluginHostOptions> = {},
): Promise<{ host: PluginHostServices; way: Loopback }> {
  const way = await openLoopback(t, answer)
  const host = openPluginHost({
    database,
    supervisor: findSupervisor(),
    egress: new HttpsEgress(way),
    log: silentLog,
    secrets: SECRETS,
    ...change,
  })
  t.teardown(() => host.pluginCalls.close())
  return { host, way }
}

/** The same with its own database. */
export async function openTestHost(t: Test, answer: RequestListener = fine, change: Partial<PluginHostOptions> = {}) {
  const { database } = await openTestDatabase(t)
  const { host, way } = await openHostOn(t, database, answer, change)
  /** Installs a plugin and grants its permissions. Returns its id and a function that calls it. */
  const run = async (main: string, manifest: Record<string, unknown> = {}) => {
    const { plugin, sha256 } = await host.pluginLifecycle.install(pluginOf(main, manifest), { userId: null })
    await host.pluginLifecycle.consent(plugin.id, { sha256 })
    const call = async (method: string, input: unknown, userId: string | null = null) =>
      (await host.pluginCalls.call({ pluginId: plugin.id, method, input, userId })).result
    return { id: plugin.id, call }
  }
  return { database, host, way, run }
}

/** Enables a plugin for a user who agrees to it as it is. */
export async function agree(
  host: PluginHostServices,
  database: Knex,
  user: PluginUser,
  config: Record<string, unknown> = {},
): Promise<void> {
  const plugin = await host.plugins.get(user.pluginId)
  await enableUserPlugin(database, user, { ...userConsentOf(plugin), dataVersion: plugin.dataVersion })
  await updateUserPlugin(database, user, { config })
}

/** The pictures that plugins of this host name. */
export const openPictures = (database: Knex, host: PluginHostServices, egress: HttpsEgress) =>
  new PluginPictures({ ...host, database, egress, resizeImage: resizePicture, secrets: SECRETS, enabled: true })

/** What a server needs that offers plugins; it closes with the test. */
export function openServedPlugins(t: Test, database: Knex, supervisor: PluginHostOptions['supervisor'], egress: HttpsEgress) {
  const host = openPluginHost({ database, supervisor, egress, log: silentLog, secrets: SECRETS })
  t.teardown(() => host.pluginCalls.close())
  return { ...host, pluginPictures: openPictures(database, host, egress) }
}
