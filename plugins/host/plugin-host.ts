import type { Knex } from 'knex'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import type { MatchingSettings } from '#core/matching/matching-settings.ts'
import { type Credentials, openCredentials } from '#plugins/credentials/credentials.ts'
import { type AuthStatus, authOf, confirmDestination, type PluginAuth } from '#plugins/credentials/plugin-auth.ts'
import { openRenewal } from '#plugins/credentials/sign-in-renewal.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { type Attempt, openPluginCalls, type PluginAnswer, type PluginCall, type PluginCalls } from '#plugins/host/plugin-calls.ts'
import { pluginFailureCode } from '#plugins/host/plugin-failure.ts'
import { failureCode, openPluginHealth, type PluginHealth } from '#plugins/host/plugin-health.ts'
import { type Installation, type InstallOptions, openPluginLifecycle, type PluginLifecycle } from '#plugins/host/plugin-lifecycle.ts'
import { findPlugin, listPlugins, listVersions, updatePlugin, type VersionRow } from '#plugins/host/plugin-store.ts'
import { updateUserPlugin } from '#plugins/host/user-plugin-store.ts'
import { openPluginLogs, type PluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { ruleOfAddress } from '#plugins/network/rules.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { readConfig } from '#plugins/packages/plugin-config.ts'
import { findRevocation } from '#plugins/repositories/revocations.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'

/** Changes of a plugin by an administrator; missing members stay unchanged. */
export interface PluginEdit {
  config?: Record<string, unknown> | undefined
  /** Hosts from the configuration may have private addresses. */
  privateHosts?: boolean | undefined
  matching?: MatchingSettings | undefined
  /** Replaces these members only, so that concurrent changes of other members survive. */
  matchingMembers?: MatchingSettings | undefined
  /** Of the server; an empty record deletes them. */
  credentials?: Record<string, string> | undefined
  /** The destination that the administrator has confirmed. */
  credentialsHost?: string | undefined
}

/** Installed plugins, and calls to them. One instance for the server. */
export interface PluginHost
  extends Pick<PluginCalls, 'call'>,
    Pick<PluginLifecycle, 'install' | 'consent' | 'rollBack' | 'setEnabled' | 'uninstall' | 'reset' | 'applyRevocations'> {
  /** As `call`, but returns failures of the plugin as values. @throws AppError: not_found, conflict, invalid_value */
  attempt(call: PluginCall): Promise<Attempt>
  list(): Promise<InstalledPlugin[]>
  /** @throws not_found */
  get(id: string): Promise<InstalledPlugin>
  /** The stored versions, the newest first. */
  versions(id: string): Promise<VersionRow[]>
  /** @throws invalid_value with the path of the wrong member; conflict when credentials would go elsewhere than `credentialsHost` */
  edit(id: string, change: PluginEdit): Promise<InstalledPlugin>
  /** Starts the plugin beside the running one and runs its setup. `code` is the code of the failure. */
  test(id: string): Promise<{ success: boolean; latencyMs: number; message: string; code: string | null }>
  /** The `auth` of its manifest, with the destination by its present configuration. */
  authOf(plugin: InstalledPlugin): PluginAuth
  authStatus(plugin: InstalledPlugin, userId: string | null): Promise<AuthStatus>
  /** `unknown` before its first call, `degraded` while its calls pause. */
  healthOf(plugin: InstalledPlugin): 'unknown' | 'healthy' | 'degraded' | 'quarantined' | 'revoked' | 'disabled'
  /** Closes the isolates of a plugin for one user, whose credentials or configuration have changed. */
  end(id: string, userId: string): void
  readonly credentials: Credentials
  readonly logs: PluginLogs
  close(): void
}

export interface PluginHostOptions {
  database: Knex
  supervisor: Supervisor
  egress: Egress
  log: Log
  /** See openCredentials. */
  secrets: readonly string[]
  /** False in safe mode. */
  enabled?: boolean
}

export function openPluginHost(options: PluginHostOptions): PluginHost {
  return new Host(options)
}

class Host implements PluginHost {
  readonly credentials: Credentials
  readonly logs: PluginLogs = openPluginLogs()
  readonly #options: PluginHostOptions & { enabled: boolean }
  readonly #health: PluginHealth
  readonly #lifecycle: PluginLifecycle
  readonly #calls: PluginCalls

  constructor({ enabled = true, ...options }: PluginHostOptions) {
    const { database, egress, log, secrets } = options
    this.#options = { ...options, enabled }
    this.#health = openPluginHealth({ database, log })
    this.credentials = openCredentials(database, secrets)
    this.#lifecycle = openPluginLifecycle({
      ...{ database, log, health: this.#health, calls: () => this.#calls },
      revocationOf: async (version) => (await findRevocation(database, version))?.reason ?? null,
    })
    this.#calls = openPluginCalls({
      ...{ ...this.#options, logs: this.logs, health: this.#health },
      credentials: openRenewal({
        ...{ database, egress, log, credentials: this.credentials },
        keyOf: async (id) => (await findPlugin(database, id))?.key ?? null,
        onRefused: async (reader) => void (await updateUserPlugin(database, reader, { authFailedAt: new Date() })),
      }),
      onTripped: (plugin, reason) => this.#lifecycle.onTripped(plugin, reason),
      onSuccess: (plugin) => this.#lifecycle.onSuccess(plugin),
    })
  }

  call(call: PluginCall): Promise<PluginAnswer> {
    return this.#calls.call(call)
  }

  attempt(call: PluginCall): Promise<Attempt> {
    return this.#calls.call(call).catch((error: unknown) => {
      if (error instanceof AppError && pluginFailureCode(error) !== null) return { failed: error }
      throw error
    })
  }

  list(): Promise<InstalledPlugin[]> {
    return listPlugins<InstalledPlugin>(this.#options.database)
  }

  versions(id: string): Promise<VersionRow[]> {
    return listVersions(this.#options.database, id)
  }

  install(bytes: Buffer, options: InstallOptions): Promise<Installation> {
    return this.#lifecycle.install(bytes, options)
  }

  consent(id: string, version: { sha256: string }): Promise<InstalledPlugin> {
    return this.#lifecycle.consent(id, version)
  }

  rollBack(id: string, version?: { sha256?: string }): Promise<InstalledPlugin> {
    return this.#lifecycle.rollBack(id, version)
  }

  setEnabled(id: string, enabled: boolean): Promise<InstalledPlugin> {
    return this.#lifecycle.setEnabled(id, enabled)
  }

  reset(id: string): Promise<InstalledPlugin> {
    return this.#lifecycle.reset(id)
  }

  applyRevocations(): Promise<string[]> {
    return this.#lifecycle.applyRevocations()
  }

  async uninstall(id: string): Promise<void> {
    await this.#lifecycle.uninstall(id)
    this.logs.forget(id)
  }

  async edit(
    id: string,
    { config, privateHosts, matching, matchingMembers, credentials: fields, credentialsHost }: PluginEdit,
  ): Promise<InstalledPlugin> {
    const before = await this.get(id)
    const { manifest } = before
    const after = { manifest, config: config ?? before.config, privateHosts: privateHosts ?? before.privateHosts }
    if (config !== undefined) this.#checkConfig(after)
    if (privateHosts === true && hostKeysOf(manifest).length === 0)
      refuse('invalid_value', `${manifest.name} uses no hosts from its configuration.`)
    if (fields !== undefined) {
      const auth = authOf(after, this.#options.egress.local)
      confirmDestination(auth, credentialsHost)
      await this.credentials.set({ pluginId: id, userId: null }, auth, fields)
    }
    await updatePlugin(this.#options.database, id, {
      ...(config !== undefined && { config }),
      ...(privateHosts !== undefined && { privateHosts }),
      ...(matching !== undefined && { matching }),
      ...(matchingMembers !== undefined && { matchingMembers }),
    })
    this.#calls.end(id)
    return await this.get(id)
  }

  async test(id: string): Promise<{ success: boolean; latencyMs: number; message: string; code: string | null }> {
    const plugin = await this.get(id)
    const begun = performance.now()
    const latencyMs = () => Math.round(performance.now() - begun)
    const refusal = { success: false, latencyMs: 0, code: 'conflict' }
    if (!this.#options.enabled) return { ...refusal, message: 'Plugins are disabled: the server runs in safe mode.' }
    if (plugin.granted === null) return { ...refusal, message: 'An administrator must first grant its permissions.' }
    try {
      await this.#calls.runApart(plugin, 'setup', { userId: null, input: null })
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
  }

  authStatus(plugin: InstalledPlugin, userId: string | null): Promise<AuthStatus> {
    const auth = this.authOf(plugin)
    return this.credentials.status({ pluginId: plugin.id, userId: auth?.scope === 'user' ? userId : null }, auth)
  }

  healthOf(plugin: InstalledPlugin): 'unknown' | 'healthy' | 'degraded' | 'quarantined' | 'revoked' | 'disabled' {
    if (plugin.state === 'waiting') return 'disabled'
    if (plugin.state !== 'enabled') return plugin.state
    if (this.#health.isTripped(plugin)) return 'degraded'
    return plugin.lastSuccessAt === null ? 'unknown' : 'healthy'
  }

  async get(id: string): Promise<InstalledPlugin> {
    return (await findPlugin<InstalledPlugin>(this.#options.database, id)) ?? refuse('not_found', `There is no plugin ${id}.`)
  }

  authOf(plugin: InstalledPlugin): PluginAuth {
    return authOf(plugin, this.#options.egress.local)
  }

  end(id: string, userId: string): void {
    this.#calls.end(id, userId)
  }

  close(): void {
    this.#calls.close()
  }

  /** @throws invalid_value with the path of the wrong member */
  #checkConfig({ manifest, config, privateHosts }: Pick<InstalledPlugin, 'manifest' | 'config' | 'privateHosts'>): void {
    const read = readConfig(manifest.config, config)
    for (const key of hostKeysOf(manifest)) {
      const ruled = ruleOfAddress(read[key], { isPrivate: privateHosts, local: this.#options.egress.local })
      if (read[key] !== undefined && 'mistake' in ruled)
        refuse('invalid_value', `config/${key}: ${ruled.mistake}`, { details: [{ path: `/config/${key}`, message: ruled.mistake }] })
    }
  }
}

/** Members of the configuration that name hosts which the plugin may contact. */
const hostKeysOf = ({ permissions }: Manifest): readonly string[] => permissions?.networkFromConfig ?? []
