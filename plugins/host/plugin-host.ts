import type { Knex } from 'knex'
import { CarrelError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import type { MatchingSettings } from '#core/matching/matching-settings.ts'
import { type Credentials, openCredentials } from '#plugins/credentials/credentials.ts'
import { type AuthStatus, authOf, confirmDestination, type PluginAuth } from '#plugins/credentials/plugin-auth.ts'
import { openRenewal } from '#plugins/credentials/sign-in-renewal.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { type Attempt, openPluginCalls, type PluginCall, type PluginCalls } from '#plugins/host/plugin-calls.ts'
import { pluginFault } from '#plugins/host/plugin-failure.ts'
import { failureCode, openPluginHealth } from '#plugins/host/plugin-health.ts'
import { openPluginLifecycle, type PluginLifecycle } from '#plugins/host/plugin-lifecycle.ts'
import { findPlugin, listPlugins, listVersions, updatePlugin, type VersionRow } from '#plugins/host/plugin-store.ts'
import { updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { openPluginJournal, type PluginJournal } from '#plugins/logs/plugin-journal.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { ruleOfAddress } from '#plugins/network/rules.ts'
import { readConfig } from '#plugins/packages/plugin-config.ts'
import { findRevocation } from '#plugins/repositories/revocations.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'

/** What an administrator may change of a plugin; what is missing stays. */
export interface PluginEdit {
  config?: Record<string, unknown> | undefined
  /** Hosts of the configuration may lie in the house's own network. */
  privateHosts?: boolean | undefined
  matching?: MatchingSettings | undefined
  /** Members of it that take the place of those before; two who change different ones do not lose any. */
  matchingMembers?: MatchingSettings | undefined
  /** Of the server; an empty record forgets them. */
  credentials?: Record<string, string> | undefined
  /** Where they are to go, as whoever gives them has read it. */
  credentialsHost?: string | undefined
}

/** Plugins: what is installed, and calling it. One for the server. */
export interface PluginHost
  extends Pick<PluginCalls, 'call'>,
    Pick<PluginLifecycle, 'install' | 'consent' | 'rollBack' | 'setEnabled' | 'uninstall' | 'reset' | 'applyRevocations'> {
  /** As `call`, for work that goes on without an answer: whatever the plugin does is no error of whoever asks. @throws CarrelError: not_found, conflict, invalid_value */
  attempt(call: PluginCall): Promise<Attempt>
  list(): Promise<InstalledPlugin[]>
  /** @throws not_found */
  get(id: string): Promise<InstalledPlugin>
  /** The versions that are kept, the newest first. */
  versions(id: string): Promise<VersionRow[]>
  /** @throws invalid_value with the path of what is wrong; conflict where credentials would go elsewhere than `credentialsHost` */
  edit(id: string, change: PluginEdit): Promise<InstalledPlugin>
  /** Starts the plugin beside whatever runs of it and lets it get ready. `code` says in a word why it does not. */
  test(id: string): Promise<{ success: boolean; latencyMs: number; message: string; code: string | null }>
  /** What its manifest says of credentials, and where they go by its configuration as it is now. */
  authOf(plugin: InstalledPlugin): PluginAuth
  authStatus(plugin: InstalledPlugin, userId: string | null): Promise<AuthStatus>
  /** `unknown` before it has run, `degraded` while it is left alone. */
  healthOf(plugin: InstalledPlugin): 'unknown' | 'healthy' | 'degraded' | 'quarantined' | 'revoked' | 'disabled'
  /** Ends what runs of a plugin for one reader: his credentials or configuration have changed. */
  end(id: string, userId: string): void
  readonly credentials: Credentials
  readonly journal: PluginJournal
  close(): void
}

export interface PluginHostParts {
  database: Knex
  supervisor: Supervisor
  egress: Egress
  log: Log
  /** See openCredentials. */
  secrets: readonly string[]
  /** False in safe mode. */
  enabled?: boolean
}

export function openPluginHost(parts: PluginHostParts): PluginHost {
  const { database, log, secrets, enabled = true } = parts
  const journal = openPluginJournal()
  const health = openPluginHealth({ database, log })
  const credentials = openCredentials(database, secrets)
  const lifecycle = openPluginLifecycle({
    database,
    log,
    health,
    calls: () => calls,
    revocationOf: async (version) => (await findRevocation(database, version))?.reason ?? null,
  })
  const calls = openPluginCalls({
    ...parts,
    enabled,
    credentials: openRenewal({
      ...{ database, egress: parts.egress, log, credentials },
      keyOf: async (id) => (await findPlugin(database, id))?.key ?? null,
      onRefused: async (reader) => void (await updateUserPlugin(database, reader, { authFailedAt: new Date() })),
    }),
    journal,
    health,
    onTripped: lifecycle.onTripped,
    onSuccess: lifecycle.onSuccess,
  })

  const get = async (id: string): Promise<InstalledPlugin> =>
    (await findPlugin<InstalledPlugin>(database, id)) ?? refuse('not_found', `There is no plugin ${id}.`)
  const authOfInstalled = (plugin: InstalledPlugin): PluginAuth => authOf(plugin, parts.egress.local)

  return {
    ...lifecycle,
    call: calls.call,
    attempt: (call) =>
      calls.call(call).catch((error: unknown) => {
        if (error instanceof CarrelError && pluginFault(error) !== null) return { failed: error }
        throw error
      }),
    list: () => listPlugins<InstalledPlugin>(database),
    get,
    versions: (id) => listVersions(database, id),
    credentials,
    journal,
    end: calls.end,

    async uninstall(id) {
      await lifecycle.uninstall(id)
      journal.forget(id)
    },

    async edit(id, { config, privateHosts, matching, matchingMembers, credentials: fields, credentialsHost }) {
      const before = await get(id)
      const { manifest } = before
      if (config !== undefined) {
        const read = readConfig(manifest.config, config)
        for (const key of manifest.permissions?.networkFromConfig ?? []) {
          const ruled = ruleOfAddress(read[key], { isPrivate: privateHosts ?? before.privateHosts, local: parts.egress.local })
          if (read[key] !== undefined && 'mistake' in ruled)
            refuse('invalid_value', `config/${key}: ${ruled.mistake}`, { details: [{ path: `/config/${key}`, message: ruled.mistake }] })
        }
      }
      if (privateHosts === true && (manifest.permissions?.networkFromConfig ?? []).length === 0)
        refuse('invalid_value', `${manifest.name} talks to no host of its configuration.`)
      if (fields !== undefined) {
        const auth = authOf(
          { manifest, config: config ?? before.config, privateHosts: privateHosts ?? before.privateHosts },
          parts.egress.local,
        )
        confirmDestination(auth, credentialsHost)
        await credentials.set({ pluginId: id, userId: null }, auth, fields)
      }
      await updatePlugin(database, id, {
        ...(config !== undefined && { config }),
        ...(privateHosts !== undefined && { privateHosts }),
        ...(matching !== undefined && { matching }),
        ...(matchingMembers !== undefined && { matchingMembers }),
      })
      calls.end(id)
      return await get(id)
    },

    async test(id) {
      const plugin = await get(id)
      const begun = performance.now()
      const latencyMs = () => Math.round(performance.now() - begun)
      const refusal = { success: false, latencyMs: 0, code: 'conflict' }
      if (!enabled) return { ...refusal, message: 'Plugins are switched off: the server runs in safe mode.' }
      if (plugin.granted === null) return { ...refusal, message: 'Nobody has agreed yet to what it asks for.' }
      try {
        await calls.tryOut(plugin, 'setup', { userId: null, input: null })
        return { success: true, latencyMs: latencyMs(), message: `${plugin.manifest.name} ${plugin.version} starts.`, code: null }
      } catch (error) {
        if (!(error instanceof GuestError)) throw error
        return {
          success: false,
          latencyMs: latencyMs(),
          message: `${plugin.manifest.name} ${plugin.version} does not start: ${error.message}`,
          code: failureCode(error),
        }
      }
    },

    authOf: authOfInstalled,

    authStatus(plugin, userId) {
      const auth = authOfInstalled(plugin)
      return credentials.status({ pluginId: plugin.id, userId: auth?.scope === 'user' ? userId : null }, auth)
    },

    healthOf(plugin) {
      if (plugin.state === 'waiting') return 'disabled'
      if (plugin.state !== 'enabled') return plugin.state
      if (health.isTripped(plugin)) return 'degraded'
      return plugin.lastSuccessAt === null ? 'unknown' : 'healthy'
    },

    close: calls.close,
  }
}
