import type { Knex } from 'knex'
import type { PluginHostServices } from '#api/areas/plugins.ts'
import type { Log } from '#core/foundation/log.ts'
import { Credentials } from '#plugins/credentials/credentials.ts'
import { RenewedCredentials } from '#plugins/credentials/sign-in-renewal.ts'
import type { JudgedVersion } from '#plugins/host/consent-review.ts'
import { PluginCalls } from '#plugins/host/plugin-calls.ts'
import { PluginHealth } from '#plugins/host/plugin-health.ts'
import { PluginLifecycle } from '#plugins/host/plugin-lifecycle.ts'
import { findPlugin } from '#plugins/host/plugin-store.ts'
import { Plugins } from '#plugins/host/plugins.ts'
import { getRunnable } from '#plugins/host/runnable.ts'
import { updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { PluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { HttpsEgress } from '#plugins/network/https-egress.ts'
import { findRevocation } from '#plugins/repositories/revocations.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'

export interface PluginHostOptions {
  database: Knex
  supervisor: Supervisor
  egress: HttpsEgress
  log: Log
  /** See CredentialBox. */
  secrets: readonly string[]
  /** False in safe mode. */
  enabled?: boolean
}

/** Opens what installs plugins and what calls them, and gives each what it needs of the other. The caller closes the calls. */
export function openPluginHost({ database, supervisor, egress, log, secrets, enabled = true }: PluginHostOptions): PluginHostServices {
  const pluginLogs = new PluginLogs()
  const health = new PluginHealth({ database, log })
  const pluginCredentials = new Credentials(database, secrets)
  const revocationOf = async (version: JudgedVersion) => (await findRevocation(database, version))?.reason ?? null
  const pluginCalls: PluginCalls = new PluginCalls({
    database,
    supervisor,
    egress,
    log,
    enabled,
    logs: pluginLogs,
    health,
    secrets: pluginCredentials,
    credentials: new RenewedCredentials({
      database,
      egress,
      log,
      logs: pluginLogs,
      credentials: pluginCredentials,
      whileAllowed: (...given) => pluginCalls.whileAllowed(...given),
      // A call that migrates data of a user may renew a token of that user.
      mayRun: ({ pluginId, userId }) => getRunnable({ database, enabled }, pluginId, userId, true),
      findPlugin: (id) => findPlugin(database, id),
      onRefused: async (reader) => void (await updateUserPlugin(database, reader, { authFailedAt: new Date() })),
    }),
    onTripped: (plugin, reason) => pluginLifecycle.onTripped(plugin, reason),
    onSuccess: (plugin) => pluginLifecycle.onSuccess(plugin),
  })
  const pluginLifecycle = new PluginLifecycle({ database, log, health, logs: pluginLogs, calls: pluginCalls, revocationOf })
  const plugins = new Plugins({
    database,
    log,
    egress,
    enabled,
    health,
    credentials: pluginCredentials,
    calls: pluginCalls,
    revocationOf,
  })
  return { plugins, pluginLifecycle, pluginCalls, pluginCredentials, pluginLogs }
}
