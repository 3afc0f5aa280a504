import type { Knex } from 'knex'
import { wordsFor } from '#core/account/private-words.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import { cutText } from '#core/foundation/text.ts'
import { admitCall, type Breakers, countFailure, countSuccess, isPaused, readBreakers } from '#plugins/host/circuit-breaker.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { countFailures, recordFailure, recordSuccess, updatePlugin } from '#plugins/host/plugin-store.ts'
import type { GuestError } from '#plugins/runtime/guest-error.ts'

/** Codes that only broken or hostile code causes; after this many within the time, an administrator has to act. */
export const QUARANTINE = { codes: ['memory', 'crash', 'cpu'], minutes: 10, failures: 3 }
/** Precise enough for the time of the last success; writing it takes longer than a call. */
const SUCCESS_EVERY_MS = 60_000
/** Codes that are not a failure of the plugin. */
const NOT_COUNTED = new Set(['rate_limited', 'not_found', 'auth', 'upstream', 'config', 'permission', 'closed', 'limit', 'server', 'busy'])
/** Codes that a plugin may use; any other code of its own counts as `thrown`, because sandbox codes are reserved. */
const OWN_CODES = new Set([...NOT_COUNTED, 'invalid_argument', 'too_large'])

/** @param error of a call; returns the code used for plugins, users and metrics */
export function failureCode(error: GuestError): string {
  // A timeout of a service is not a timeout of the plugin.
  const own = error.own === 'timeout' ? 'upstream' : error.own
  return error.code === 'thrown' && own !== null && OWN_CODES.has(own) ? own : error.code
}

/** Whether the code counts against the plugin. */
export const countsAgainstPlugin = (code: string): boolean => !NOT_COUNTED.has(code)

interface CallFailure {
  method: string
  code: string
  message: string
  source: string | null
  callId: string
  userId: string | null
}

interface PluginHealthOptions {
  database: Knex
  log: Log
}

export class PluginHealth {
  readonly #options: PluginHealthOptions
  /** With the database time from which each entry is valid. */
  readonly #known = new Register<{ breakers: Breakers; at: number }>()
  readonly #writtenAt = new Register<number>()

  constructor(options: PluginHealthOptions) {
    this.#options = options
  }

  /** @throws unavailable, with the remaining seconds, while calls of the capability pause; afterwards one call may proceed as a probe */
  check(plugin: InstalledPlugin, method: string, userId: string | null): void {
    const waitMs = admitCall(this.#breakersOf(plugin), { method, userId }, Date.now())
    if (waitMs > 0)
      refuse('unavailable', `${quotedText(plugin.manifest.name)} failed too often. Its calls pause for a while.`, {
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

  /** Counts a failure. Returns its consequence: none, a pause, or quarantine. */
  async failed(plugin: InstalledPlugin, failure: CallFailure): Promise<'counted' | 'tripped' | 'quarantined'> {
    const { code, message } = failure
    await recordFailure(this.#options.database, plugin.id, { ...failure, version: plugin.version, message: message.slice(0, 2_000) })
    if (!countsAgainstPlugin(code)) return 'counted'
    const trips = await this.#countFailure(plugin, failure)
    if (await this.#isHostile(plugin, code))
      return (await this.#quarantine(plugin, wordsFor(message, failure.userId, null))) ? 'quarantined' : 'counted'
    return trips ? 'tripped' : 'counted'
  }

  /** Whether calls of any of its capabilities pause. */
  isTripped(plugin: InstalledPlugin): boolean {
    return isPaused(this.#breakersOf(plugin), Date.now())
  }

  forget(pluginId: string): void {
    this.#known.delete(pluginId)
    this.#writtenAt.delete(pluginId)
  }

  /** @returns whether calls of a capability pause from now on */
  async #countFailure(plugin: InstalledPlugin, { method, code, userId }: CallFailure): Promise<boolean> {
    const { log } = this.#options
    const breakers = this.#breakersOf(plugin)
    const { own, shared } = countFailure(breakers, { method, userId }, Date.now())
    if (own)
      log.warn(
        { plugin: plugin.key, method, code, userId },
        `${plugin.key} failed too often for a user; its calls for that user pause for a while`,
      )
    if (shared) log.warn({ plugin: plugin.key, method, code }, `${plugin.key} failed too often; its calls pause for a while`)
    await this.#store(plugin.id, breakers)
    return shared
  }

  /** Counts the failures of the version that runs: those of another version say nothing of a repaired one. */
  async #isHostile(plugin: InstalledPlugin, code: string): Promise<boolean> {
    return QUARANTINE.codes.includes(code) && (await countFailures(this.#options.database, plugin, QUARANTINE)) >= QUARANTINE.failures
  }

  /** @returns false when somebody has changed the plugin meanwhile */
  async #quarantine(plugin: InstalledPlugin, message: string): Promise<boolean> {
    const stateReason = `It broke its sandbox ${QUARANTINE.failures} times within ${QUARANTINE.minutes} minutes. Last error: ${quotedText(cutText(message, 500))}`
    // Not if an administrator has disabled it or changed its version meanwhile.
    const only = { state: 'enabled', version_id: plugin.versionId } as const
    if (!(await updatePlugin(this.#options.database, plugin.id, { state: 'quarantined', stateReason }, only))) return false
    this.#options.log.warn({ plugin: plugin.key }, 'A plugin was quarantined')
    return true
  }

  #breakersOf(plugin: InstalledPlugin): Breakers {
    const before = this.#known.get(plugin.id)
    // An administrator has reset it or changed its version on another server.
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
