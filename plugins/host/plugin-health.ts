import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { admitCall, type Breakers, countFailure, countSuccess, isPaused, readBreakers } from '#plugins/host/circuit-breaker.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { countFailures, recordFailure, recordSuccess, updatePlugin } from '#plugins/host/plugin-store.ts'
import type { GuestError } from '#plugins/runtime/guest-error.ts'

/** Ways to end that only broken or hostile code has; so many within the time, and an administrator has to look. */
export const QUARANTINE = { codes: ['memory', 'crash', 'cpu'], minutes: 10, failures: 3 }
/** Nobody needs to know better when a plugin last answered, and a call takes less time than this writing. */
const SUCCESS_EVERY_MS = 60_000
/** What a plugin says without being at fault. */
const INNOCENT = new Set(['rate_limited', 'not_found', 'auth', 'upstream', 'config', 'permission', 'closed', 'limit', 'server', 'busy'])
/** What else it may say of itself; any other word of its own counts as thrown, for those of the sandbox are not its to say. */
const OWN_CODES = new Set([...INNOCENT, 'invalid_argument', 'too_large'])

/** @param what a call did wrong, as plugins, people and statistics speak of it */
export function failureCode(error: GuestError): string {
  // A service that does not answer in time is no plugin that takes too long.
  const own = error.own === 'timeout' ? 'upstream' : error.own
  return error.code === 'thrown' && own !== null && OWN_CODES.has(own) ? own : error.code
}

/** Whether it counts against the plugin. */
export const isFault = (code: string): boolean => !INNOCENT.has(code)

export interface CallFailure {
  method: string
  code: string
  message: string
  source: string | null
  callId: string
  userId: string | null
}

export interface PluginHealth {
  /** @throws unavailable, with the seconds that are left, where the capability is left alone; of those who ask after that one is let through */
  check(plugin: InstalledPlugin, method: string, userId: string | null): void
  succeeded(plugin: InstalledPlugin, method: string, userId: string | null): Promise<void>
  /** Counts what went wrong. Answers what that came to: nothing, a pause, or quarantine. */
  failed(plugin: InstalledPlugin, failure: CallFailure): Promise<'counted' | 'tripped' | 'quarantined'>
  /** Whether any of its capabilities is left alone. */
  isTripped(plugin: InstalledPlugin): boolean
  forget(pluginId: string): void
}

export interface PluginHealthOptions {
  database: Knex
  log: Log
}

export function openPluginHealth(options: PluginHealthOptions): PluginHealth {
  return new Health(options)
}

class Health implements PluginHealth {
  readonly #options: PluginHealthOptions
  /** With the time, by the clock of the database, that each is known to hold from. */
  readonly #known = new Map<string, { breakers: Breakers; at: number }>()
  readonly #writtenAt = new Map<string, number>()

  constructor(options: PluginHealthOptions) {
    this.#options = options
  }

  check(plugin: InstalledPlugin, method: string, userId: string | null): void {
    const waitMs = admitCall(this.#breakersOf(plugin), { method, userId }, Date.now())
    if (waitMs > 0)
      refuse('unavailable', `${plugin.manifest.name} failed too often and is left alone for a while.`, {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      })
  }

  async succeeded(plugin: InstalledPlugin, method: string, userId: string | null): Promise<void> {
    const breakers = this.#breakersOf(plugin)
    const now = Date.now()
    if (now - (this.#writtenAt.get(plugin.id) ?? 0) > SUCCESS_EVERY_MS) {
      this.#writtenAt.set(plugin.id, now)
      await recordSuccess(this.#options.database, plugin.id)
    }
    if (countSuccess(breakers, { method, userId })) await this.#store(plugin.id, breakers)
  }

  async failed(plugin: InstalledPlugin, failure: CallFailure): Promise<'counted' | 'tripped' | 'quarantined'> {
    const { code, message } = failure
    await recordFailure(this.#options.database, plugin.id, { ...failure, version: plugin.version, message: message.slice(0, 2_000) })
    if (!isFault(code)) return 'counted'
    const trips = await this.#countFailure(plugin, failure)
    if (await this.#isHostile(plugin, code)) return (await this.#quarantine(plugin, message)) ? 'quarantined' : 'counted'
    return trips ? 'tripped' : 'counted'
  }

  isTripped(plugin: InstalledPlugin): boolean {
    return isPaused(this.#breakersOf(plugin), Date.now())
  }

  forget(pluginId: string): void {
    this.#known.delete(pluginId)
    this.#writtenAt.delete(pluginId)
  }

  /** @returns whether a capability is left alone from now on */
  async #countFailure(plugin: InstalledPlugin, { method, code, userId }: CallFailure): Promise<boolean> {
    const { log } = this.#options
    const breakers = this.#breakersOf(plugin)
    const { own, shared } = countFailure(breakers, { method, userId }, Date.now())
    if (own)
      log.warn(
        { plugin: plugin.key, method, code, userId },
        `${plugin.key} failed too often for a reader and is left alone for that reader for a while`,
      )
    if (shared) log.warn({ plugin: plugin.key, method, code }, `${plugin.key} failed too often and is left alone for a while`)
    await this.#store(plugin.id, breakers)
    return shared
  }

  async #isHostile({ id }: InstalledPlugin, code: string): Promise<boolean> {
    return QUARANTINE.codes.includes(code) && (await countFailures(this.#options.database, id, QUARANTINE)) >= QUARANTINE.failures
  }

  /** @returns false where somebody has said otherwise meanwhile */
  async #quarantine(plugin: InstalledPlugin, message: string): Promise<boolean> {
    const stateReason = `It broke its sandbox ${QUARANTINE.failures} times within ${QUARANTINE.minutes} minutes, the last time so: ${message.slice(0, 500)}`
    // Whoever has stopped it meanwhile has said more, and another version has not done this.
    const only = { state: 'enabled', version_id: plugin.versionId } as const
    if (!(await updatePlugin(this.#options.database, plugin.id, { state: 'quarantined', stateReason }, only))) return false
    this.#options.log.warn({ plugin: plugin.key }, 'A plugin was put into quarantine')
    return true
  }

  #breakersOf(plugin: InstalledPlugin): Breakers {
    const before = this.#known.get(plugin.id)
    // Somebody has told another server to forget it, or to run another version.
    const isForgotten = plugin.breaker === null && before !== undefined && plugin.updatedAt.getTime() > before.at
    if (before !== undefined && !isForgotten) return before.breakers
    const breakers = readBreakers(plugin.breaker)
    this.#known.set(plugin.id, { breakers, at: plugin.updatedAt.getTime() })
    return breakers
  }

  async #store(pluginId: string, breakers: Breakers): Promise<void> {
    const at = await updatePlugin(this.#options.database, pluginId, { breaker: breakers.size === 0 ? null : Object.fromEntries(breakers) })
    const now = this.#known.get(pluginId)
    if (at !== null && now?.breakers === breakers) now.at = Math.max(now.at, at.getTime())
  }
}
