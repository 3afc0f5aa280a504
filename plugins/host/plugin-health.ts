import type { Knex } from 'knex'
import { refuse } from '#core/errors.ts'
import type { Log } from '#core/log.ts'
import { countFailures, recordFailure, recordSuccess, updatePlugin } from '#core/plugin/plugin-store.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { GuestError } from '#plugins/isolate/guest-error.ts'

/** Ways to end that only broken or hostile code has; so many within the time, and an administrator has to look. */
export const QUARANTINE = { codes: ['memory', 'crash', 'cpu'], minutes: 10, failures: 3 }
/** So many failures among the last calls of a capability, and it is left alone for a while, longer each time. */
export const BREAKER = { failures: 5, of: 20, firstMs: 30_000, lastMs: 30 * 60_000 }
/** Nobody needs to know better when a plugin last answered, and a call takes less time than this writing. */
const SUCCESS_EVERY_MS = 60_000
/** What a plugin says without being at fault. */
const INNOCENT = new Set(['rate_limited', 'not_found', 'auth', 'upstream', 'config', 'permission', 'closed', 'limit', 'server', 'busy'])
/** What else it may say of itself; any other word of its own counts as thrown, for those of the sandbox are not its to say. */
const OWN_CODES = new Set([...INNOCENT, 'invalid_argument', 'too_large'])

/** How a capability has fared lately; kept in the database, so that a restart forgives nothing. */
interface Breaker {
  /** The last calls, the newest last: `+` went well, `-` did not. */
  recent: string
  /** Milliseconds of the clock; 0 where it is not left alone. */
  openUntil: number
  pauseMs: number
}

/** @param what a call did wrong, as plugins, people and statistics speak of it */
export function failureCode(error: GuestError): string {
  // A service that does not answer in time is no plugin that takes too long.
  const own = error.own === 'timeout' ? 'upstream' : error.own
  return error.code === 'thrown' && own !== null && OWN_CODES.has(own) ? own : error.code
}

/** Whether it counts against the plugin. */
export const isFault = (code: string): boolean => !INNOCENT.has(code)

const capabilityOf = (method: string): string => method.slice(0, method.lastIndexOf('.'))
const freshBreaker = (): Breaker => ({ recent: '', openUntil: 0, pauseMs: BREAKER.firstMs })

function readBreakers(stored: unknown): Map<string, Breaker> {
  const given = stored !== null && typeof stored === 'object' ? Object.entries(stored as Record<string, Breaker>) : []
  return new Map(given)
}

export interface PluginHealth {
  /** @throws unavailable, with the seconds that are left, where the capability is left alone; of those who ask after that one is let through */
  check(plugin: InstalledPlugin, method: string): void
  succeeded(plugin: InstalledPlugin, method: string): Promise<void>
  /** Counts what went wrong. Answers what that came to: nothing, a pause, or quarantine. */
  failed(
    plugin: InstalledPlugin,
    failure: { method: string; code: string; message: string; callId: string },
  ): Promise<'counted' | 'tripped' | 'quarantined'>
  /** Whether any of its capabilities is left alone. */
  isTripped(plugin: InstalledPlugin): boolean
  forget(pluginId: string): void
}

export function openPluginHealth({ database, log }: { database: Knex; log: Log }): PluginHealth {
  /** With the time, by the clock of the database, that each is known to hold from. */
  const known = new Map<string, { breakers: Map<string, Breaker>; at: number }>()
  const writtenAt = new Map<string, number>()

  const breakersOf = (plugin: InstalledPlugin): Map<string, Breaker> => {
    const before = known.get(plugin.id)
    // Somebody has told another server to forget it, or to run another version.
    const isForgotten = plugin.breaker === null && before !== undefined && plugin.updatedAt.getTime() > before.at
    if (before !== undefined && !isForgotten) return before.breakers
    const breakers = readBreakers(plugin.breaker)
    known.set(plugin.id, { breakers, at: plugin.updatedAt.getTime() })
    return breakers
  }
  const store = async (pluginId: string, breakers: Map<string, Breaker>) => {
    const at = await updatePlugin(database, pluginId, { breaker: breakers.size === 0 ? null : Object.fromEntries(breakers) })
    const now = known.get(pluginId)
    if (at !== null && now?.breakers === breakers) now.at = Math.max(now.at, at.getTime())
  }

  return {
    check(plugin, method) {
      const breaker = breakersOf(plugin).get(capabilityOf(method))
      if (breaker === undefined || breaker.openUntil === 0) return
      const pauseMs = breaker.openUntil - Date.now()
      if (pauseMs > 0)
        refuse('unavailable', `${plugin.manifest.name} failed too often and is left alone for a while.`, {
          retryAfterSeconds: Math.ceil(pauseMs / 1000),
        })
      // This call is the probe; whoever comes while it runs waits as long as a failure of it would make them.
      breaker.openUntil = Date.now() + BREAKER.firstMs
    },

    async succeeded(plugin, method) {
      const breakers = breakersOf(plugin)
      const capability = capabilityOf(method)
      const breaker = breakers.get(capability)
      const now = Date.now()
      if (now - (writtenAt.get(plugin.id) ?? 0) > SUCCESS_EVERY_MS) {
        writtenAt.set(plugin.id, now)
        await recordSuccess(database, plugin.id)
      }
      if (breaker === undefined) return
      const wasOpen = breaker.openUntil !== 0
      breaker.recent = `${breaker.recent}+`.slice(-BREAKER.of)
      if (!wasOpen && breaker.recent.includes('-')) return
      breakers.delete(capability)
      await store(plugin.id, breakers)
    },

    async failed(plugin, { method, code, message, callId }) {
      await recordFailure(database, plugin.id, { version: plugin.version, method, code, message: message.slice(0, 2_000), callId })
      if (!isFault(code)) return 'counted'
      const breakers = breakersOf(plugin)
      const breaker = breakers.get(capabilityOf(method)) ?? freshBreaker()
      breakers.set(capabilityOf(method), breaker)
      const wasProbe = breaker.openUntil !== 0
      breaker.recent = `${breaker.recent}-`.slice(-BREAKER.of)
      const trips = wasProbe || breaker.recent.split('-').length - 1 >= BREAKER.failures
      if (trips) {
        breaker.openUntil = Date.now() + breaker.pauseMs
        breaker.pauseMs = Math.min(breaker.pauseMs * 2, BREAKER.lastMs)
        breaker.recent = ''
        log.warn({ plugin: plugin.key, method, code }, `${plugin.key} failed too often and is left alone for a while`)
      }
      await store(plugin.id, breakers)
      if (QUARANTINE.codes.includes(code) && (await countFailures(database, plugin.id, QUARANTINE)) >= QUARANTINE.failures) {
        const stateReason = `It broke its sandbox ${QUARANTINE.failures} times within ${QUARANTINE.minutes} minutes, the last time so: ${message.slice(0, 500)}`
        // Whoever has stopped it meanwhile has said more, and another version has not done this.
        const only = { state: 'enabled', version_id: plugin.versionId } as const
        if (!(await updatePlugin(database, plugin.id, { state: 'quarantined', stateReason }, only))) return 'counted'
        log.warn({ plugin: plugin.key }, 'A plugin was put into quarantine')
        return 'quarantined'
      }
      return trips ? 'tripped' : 'counted'
    },

    isTripped: (plugin) => [...breakersOf(plugin).values()].some(({ openUntil }) => openUntil > Date.now()),
    forget(pluginId) {
      known.delete(pluginId)
      writtenAt.delete(pluginId)
    },
  }
}
