import type { Knex } from 'knex'
import type { Log } from '#core/foundation/log.ts'
import { openCredentials } from '#plugins/credentials/credentials.ts'
import { openRenewal } from '#plugins/credentials/sign-in-renewal.ts'
import { openPluginCalls, type PluginCalls } from '#plugins/host/plugin-calls.ts'
import { openPluginHealth } from '#plugins/host/plugin-health.ts'
import { openPluginAdministration, type PluginHost } from '#plugins/host/plugin-host.ts'
import { openPluginLifecycle, type PluginLifecycle } from '#plugins/host/plugin-lifecycle.ts'
import { findPlugin } from '#plugins/host/plugin-store.ts'
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

/** Opens what installs plugins and what calls them, and gives each the functions of the other that it needs. */
export function openPluginHost({ database, supervisor, egress, log, secrets, enabled = true }: PluginHostOptions): PluginHost {
  const logs = openPluginLogs()
  const health = openPluginHealth({ database, log })
  const credentials = openCredentials(database, secrets)
  const revocationOf: Parameters<typeof openPluginLifecycle>[0]['revocationOf'] = async (version) =>
    (await findRevocation(database, version))?.reason ?? null
  const lifecycle: PluginLifecycle = openPluginLifecycle({
    database,
    log,
    health,
    logs,
    calls: () => calls,
    revocationOf,
  })
  const calls: PluginCalls = openPluginCalls({
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
  return Object.assign(openPluginAdministration({ database, log, egress, enabled, health, credentials, calls, revocationOf }), {
    credentials,
    logs,
    install: lifecycle.install.bind(lifecycle),
    consent: lifecycle.consent.bind(lifecycle),
    rollBack: lifecycle.rollBack.bind(lifecycle),
    setEnabled: lifecycle.setEnabled.bind(lifecycle),
    uninstall: lifecycle.uninstall.bind(lifecycle),
    reset: lifecycle.reset.bind(lifecycle),
    applyRevocations: lifecycle.applyRevocations.bind(lifecycle),
    call: calls.call.bind(calls),
    attempt: calls.attempt.bind(calls),
    runApart: calls.runApart.bind(calls),
    end: calls.end.bind(calls),
    whileAllowed: calls.whileAllowed,
    close: calls.close.bind(calls),
  })
}
