import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import type { MatchingSettings } from '#core/matching/matching-settings.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import { type AuthStatus, authOf, confirmDestination, type PluginAuth } from '#plugins/credentials/plugin-auth.ts'
import { type Review, type RevocationOf, reviewStored } from '#plugins/host/consent-review.ts'
import { type InstalledPlugin, stopWords } from '#plugins/host/installed-plugin.ts'
import type { PluginCalls } from '#plugins/host/plugin-calls.ts'
import { failureCode, type PluginHealth } from '#plugins/host/plugin-health.ts'
import { refusedAddresses } from '#plugins/host/plugin-rules.ts'
import { countedSigners } from '#plugins/host/plugin-signature.ts'
import { getPlugin, listPlugins, listVersions, updatePlugin, type VersionRow } from '#plugins/host/plugin-store.ts'
import { changeForUsers } from '#plugins/host/user-pauses.ts'
import type { Egress } from '#plugins/network/egress.ts'
import { ruleOfAddress } from '#plugins/network/rules.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { readOrigin } from '#plugins/packages/origin.ts'
import { configuredAddress } from '#plugins/packages/permissions.ts'
import { readConfig, splitSecrets } from '#plugins/packages/plugin-config.ts'
import type { PluginPackage } from '#plugins/packages/plugin-package.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

/** Changes of a plugin by an administrator; missing members stay unchanged. */
interface PluginEdit {
  config?: Record<string, unknown> | undefined
  /**
   * The members of the configuration whose hosts may be in the private network, beside what was granted before; true: all that a person has entered;
   * false: none any more.
   */
  privateHosts?: boolean | readonly string[] | undefined
  matching?: MatchingSettings | undefined
  /** Replaces these members only, so that concurrent changes of other members survive. */
  matchingMembers?: MatchingSettings | undefined
  /** Of the server; an empty record deletes them. */
  credentials?: Record<string, string> | undefined
  /** The destination that the administrator has confirmed. */
  credentialsHost?: string | undefined
}

interface StoredVersion extends VersionRow {
  revoked: string | null
}

interface PluginsOptions {
  database: Knex
  log: Log
  egress: Pick<Egress, 'local'>
  /** False in safe mode. */
  enabled: boolean
  health: PluginHealth
  credentials: Credentials
  calls: Pick<PluginCalls, 'runApart' | 'end'>
  revocationOf: RevocationOf
}

/** The installed plugins: what is there, in what state, and with what settings. */
export class Plugins {
  readonly #options: PluginsOptions

  constructor(options: PluginsOptions) {
    this.#options = options
  }

  list(): Promise<InstalledPlugin[]> {
    return listPlugins(this.#options.database)
  }

  /** The stored versions, the newest first; `revoked` says why a version must not run. */
  async versions(id: string): Promise<StoredVersion[]> {
    return await this.#versionsOf(await this.get(id))
  }

  async #versionsOf({ id, key }: InstalledPlugin): Promise<StoredVersion[]> {
    const { database, revocationOf } = this.#options
    const versions = await listVersions(database, id)
    return await Promise.all(versions.map(async (one) => ({ ...one, revoked: await revocationOf({ key, ...one }) })))
  }

  /**
   * All that is needed to consent to one stored package.
   * @param sha256 default: the newest that is not revoked, or the newest of all
   * @throws not_found when there is no such package
   */
  async review(id: string, sha256?: string): Promise<{ plugin: InstalledPlugin; version: StoredVersion; review: Review }> {
    const plugin = await this.get(id)
    const versions = await this.#versionsOf(plugin)
    const version =
      sha256 === undefined
        ? (versions.find(({ revoked }) => revoked === null) ?? versions[0])
        : versions.find((one) => one.sha256 === sha256)
    if (version === undefined)
      return refuse('not_found', `There is no package ${sha256 ?? ''} of ${plugin.key} here. The list of its versions has their hashes.`)
    return { plugin, version, review: await reviewStored(this.#options.database, plugin, version) }
  }

  /** See countedSigners of plugin-signature.ts. */
  countedSigners(read: PluginPackage): Promise<string[]> {
    return countedSigners(this.#options.database, read)
  }

  /** @throws invalid_value with the path of the wrong member; conflict when credentials would go elsewhere than `credentialsHost` */
  async edit(
    id: string,
    { config: given, privateHosts, matching, matchingMembers, credentials: fields, credentialsHost }: PluginEdit,
  ): Promise<InstalledPlugin> {
    const before = await this.get(id)
    const { config, secrets } = given === undefined ? {} : splitSecrets(before.manifest.config, given)
    const configured = { ...before, config: config ?? before.config }
    const entered = enteredOrigins(configured, privateHosts)
    const privateOriginsOf = (plugin: InstalledPlugin) =>
      privateHosts === false ? [] : stillConfigured(plugin, [...entered, ...plugin.privateOrigins])
    const after = { ...configured, privateOrigins: privateOriginsOf(configured) }
    if (config !== undefined) this.#checkConfig(after)
    if (privateHosts && after.privateOrigins.length === 0) refuseWithoutHost(before)
    if (fields !== undefined) {
      const auth = authOf(after, this.#options.egress.local)
      confirmDestination(auth, credentialsHost)
      await this.#options.credentials.set({ pluginId: id, userId: null }, auth, fields)
      await this.#options.calls.end(id, null)
    }
    if (secrets !== undefined) await this.#options.credentials.setSettings({ pluginId: id, userId: null }, secrets)
    await changeForUsers(this.#options, before, async (trx, now) => {
      if (now === null) return
      // Others may have changed the hosts or their grants meanwhile: what they have withdrawn stays so, and what they entered is not granted.
      const privateOrigins = privateOriginsOf({ ...now, config: config ?? now.config })
      await updatePlugin(trx, id, {
        ...(config !== undefined && { config }),
        ...((config !== undefined || privateHosts !== undefined) && { privateOrigins }),
        ...(matching !== undefined && { matching }),
        ...(matchingMembers !== undefined && { matchingMembers }),
      })
    })
    return await this.get(id)
  }

  /** Starts the plugin beside the running one and runs its setup. `code` is the code of the failure. */
  async test(id: string): Promise<{ success: boolean; latencyMs: number; message: string; code: string | null }> {
    const plugin = await this.get(id)
    const begun = performance.now()
    const latencyMs = () => Math.round(performance.now() - begun)
    const refusal = { success: false, latencyMs: 0, code: 'conflict' }
    if (!this.#options.enabled) return { ...refusal, message: 'Plugins are disabled: the server runs in safe mode.' }
    if (plugin.granted === null) return { ...refusal, message: 'An administrator must first grant its permissions.' }
    // Its setup may contact the hosts of the plugin.
    if (plugin.state !== 'enabled') return { ...refusal, message: stopWords(plugin) }
    try {
      await this.#options.calls.runApart(plugin, 'setup', { userId: null, input: null })
      return { success: true, latencyMs: latencyMs(), message: `${quotedText(plugin.manifest.name)} ${plugin.version} starts.`, code: null }
    } catch (error) {
      if (!(error instanceof GuestError)) throw error
      return {
        success: false,
        latencyMs: latencyMs(),
        message: `${quotedText(plugin.manifest.name)} ${plugin.version} does not start: ${quotedText(error.message)}`,
        code: failureCode(error),
      }
    }
  }

  authStatus(plugin: InstalledPlugin, userId: string | null): Promise<AuthStatus> {
    const auth = this.authOf(plugin)
    return this.#options.credentials.status({ pluginId: plugin.id, userId: auth?.scope === 'user' ? userId : null }, auth)
  }

  /** Whether the server has credentials for it that were entered for other hosts than the present ones, so that it does not use them. */
  areCredentialsElsewhere(plugin: InstalledPlugin): Promise<boolean> {
    return this.#options.credentials.areElsewhere({ pluginId: plugin.id, userId: null }, this.authOf(plugin))
  }

  /** `unknown` before its first call, `degraded` while its calls pause. */
  healthOf(plugin: InstalledPlugin): 'unknown' | 'healthy' | 'degraded' | 'quarantined' | 'revoked' | 'disabled' {
    if (plugin.state === 'waiting') return 'disabled'
    if (plugin.state !== 'enabled') return plugin.state
    if (this.#options.health.isTripped(plugin)) return 'degraded'
    return plugin.lastSuccessAt === null ? 'unknown' : 'healthy'
  }

  /** @throws not_found */
  async get(id: string): Promise<InstalledPlugin> {
    return await getPlugin(this.#options.database, id)
  }

  /** The `auth` of its manifest, with the destination by its present configuration. */
  authOf(plugin: InstalledPlugin): PluginAuth {
    return authOf(plugin, this.#options.egress.local)
  }

  /** Why addresses in its configuration may not be contacted: sentences, each with its member. */
  addressProblems(plugin: InstalledPlugin): string[] {
    return refusedAddresses(plugin, this.#options.egress.local).map(({ problem }) => problem)
  }

  /** @throws invalid_value with the path of the wrong member */
  #checkConfig({ manifest, config, privateOrigins }: Pick<InstalledPlugin, 'manifest' | 'config' | 'privateOrigins'>): void {
    readConfig(manifest.config, config)
    for (const key of hostKeysOf(manifest)) {
      const ruled = ruleOfAddress(config[key], { privateOrigins, local: this.#options.egress.local })
      if (Object.hasOwn(config, key) && 'error' in ruled)
        refuse('invalid_value', `config/${key}: ${ruled.error}`, { details: [{ path: `/config/${key}`, message: ruled.error }] })
    }
  }
}

/** Members of the configuration that name hosts which the plugin may contact. */
const hostKeysOf = ({ permissions }: Manifest): readonly string[] => permissions?.networkFromConfig ?? []

const originsOf = (addresses: readonly unknown[]): string[] =>
  addresses.flatMap((address) => {
    const read = readOrigin(address)
    return 'url' in read ? [read.url.origin] : []
  })

/** The hosts that a request allows to be in the private network. The default of an author is not among them: an author could name any machine there. */
function enteredOrigins({ manifest, config }: InstalledPlugin, privateHosts: PluginEdit['privateHosts']): string[] {
  if (!privateHosts) return []
  const keys = hostKeysOf(manifest).filter((key) => Object.hasOwn(config, key) && (privateHosts === true || privateHosts.includes(key)))
  return originsOf(keys.map((key) => config[key]))
}

/** A grant ends when its host is not configured any more. */
function stillConfigured(plugin: InstalledPlugin, granted: readonly string[]): string[] {
  const origins = originsOf(hostKeysOf(plugin.manifest).map((key) => configuredAddress(key, plugin)))
  return [...new Set(origins)].filter((origin) => granted.includes(origin))
}

function refuseWithoutHost({ manifest }: InstalledPlugin): never {
  const keys = hostKeysOf(manifest)
  if (keys.length === 0) refuse('invalid_value', `${quotedText(manifest.name)} uses no hosts from its configuration.`)
  refuse(
    'invalid_value',
    `privateHosts grants the hosts that are entered, never the defaults of an author, and there is none. Enter it as ${keys.join(' or ')} in config.`,
  )
}
