import type { Knex } from 'knex'
import type { PluginHostServices } from '#api/areas/plugins.ts'
import type { Log } from '#core/foundation/log.ts'
import { openCredentials } from '#plugins/credentials/credentials.ts'
import { openRenewal } from '#plugins/credentials/sign-in-renewal.ts'
import type { JudgedVersion } from '#plugins/host/consent-review.ts'
import { PluginCalls } from '#plugins/host/plugin-calls.ts'
import { openPluginHealth } from '#plugins/host/plugin-health.ts'
import { PluginLifecycle } from '#plugins/host/plugin-lifecycle.ts'
import { findPlugin } from '#plugins/host/plugin-store.ts'
import { Plugins } from '#plugins/host/plugins.ts'
import { updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { openPluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { CachingEgress } from '#plugins/network/egress.ts'
import { findRevocation } from '#plugins/repositories/revocations.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'

export interface PluginHostOptions {
  database: Knex
  supervisor: Supervisor
  egress: CachingEgress
  log: Log
  /** See openCredentials. */
  secrets: readonly string[]
  /** False in safe mode. */
  enabled?: boolean
}

/** Opens what installs plugins and what calls them, and gives each what it needs of the other. The caller closes the calls. */
export function openPluginHost({ database, supervisor, egress, log, secrets, enabled = true }: PluginHostOptions): PluginHostServices {
  const logs = openPluginLogs()
  const health = openPluginHealth({ database, log })
  const credentials = openCredentials(database, secrets)
  const revocationOf = async (version: JudgedVersion) => (await findRevocation(database, version))?.reason ?? null
  const calls: PluginCalls = new PluginCalls({
    database,
    supervisor,
    egress,
    log,
    enabled,
    logs,
    health,
    secrets: credentials,
    credentials: openRenewal({
      database,
      egress,
      log,
      logs,
      credentials,
      findPlugin: (id) => findPlugin(database, id),
      onRefused: async (reader) => void (await updateUserPlugin(database, reader, { authFailedAt: new Date() })),
    }),
    onTripped: (plugin, reason) => lifecycle.onTripped(plugin, reason),
    onSuccess: (plugin) => lifecycle.onSuccess(plugin),
  })
  const lifecycle = new PluginLifecycle({ database, log, health, logs, calls, revocationOf })
  return {
    plugins: new Plugins({ database, log, egress, enabled, health, credentials, calls, revocationOf }),
    pluginLifecycle: lifecycle,
    pluginCalls: calls,
    pluginCredentials: credentials,
    pluginLogs: logs,
  }
}
