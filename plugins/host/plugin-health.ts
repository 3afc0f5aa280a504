import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { countFailures, recordFailure, recordSuccess, updatePlugin } from '#plugins/host/plugin-store.ts'
import type { GuestError } from '#plugins/runtime/guest-error.ts'

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
  /**
   * The last calls, the newest last: `+` went well, `-` did not. Where a call that did not was for a reader, the reader's id stands in what is kept of
   * all: what one has configured or has in the library is no word about others.
   */
  recent: string[]
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
/** Of one reader beside the one of all. */
const ownKeyOf = (method: string, userId: string): string => `${capabilityOf(method)} ${userId}`
const isOwn = (key: string): boolean => key.includes(' ')
/** Readers whose pauses are remembered, the last that failed. */
const OWN_MAX = 200
const freshBreaker = (): Breaker => ({ recent: [], openUntil: 0, pauseMs: BREAKER.firstMs })

function readBreakers(stored: unknown): Map<string, Breaker> {
  const given = stored !== null && typeof stored === 'object' ? Object.entries(stored as Record<string, Breaker>) : []
  return new Map(given.map(([key, breaker]) => [key, { ...breaker, recent: [...breaker.recent] }]))
}

/** Each failure of the server's own work, and one of each reader. */
export function failuresOf(recent: readonly string[]): number {
  const readers = new Set(recent.filter((one) => one !== '+' && one !== '-'))
  return recent.filter((one) => one === '-').length + readers.size
}

const note = (breaker: Breaker, what: string): void => {
  breaker.recent = [...breaker.recent, what].slice(-BREAKER.of)
}

/** From now on it is left alone, longer each time. */
function trip(breaker: Breaker): void {
  breaker.openUntil = Date.now() + breaker.pauseMs
  breaker.pauseMs = Math.min(breaker.pauseMs * 2, BREAKER.lastMs)
  breaker.recent = []
}

export interface PluginHealth {
  /** @throws unavailable, with the seconds that are left, where the capability is left alone; of those who ask after that one is let through */
  check(plugin: InstalledPlugin, method: string, userId: string | null): void
  succeeded(plugin: InstalledPlugin, method: string, userId: string | null): Promise<void>
  /** Counts what went wrong. Answers what that came to: nothing, a pause, or quarantine. */
  failed(
    plugin: InstalledPlugin,
    failure: { method: string; code: string; message: string; source: string | null; callId: string; userId: string | null },
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

  const refuseCall = (plugin: InstalledPlugin, pauseMs: number): never =>
    refuse('unavailable', `${plugin.manifest.name} failed too often and is left alone for a while.`, {
      retryAfterSeconds: Math.ceil(pauseMs / 1000),
    })

  /** @param userId who may not be the probe where he has failed already */
  const checkBreaker = (plugin: InstalledPlugin, breaker: Breaker | undefined, userId: string | null): void => {
    if (breaker === undefined || breaker.openUntil === 0) return
    const pauseMs = breaker.openUntil - Date.now()
    if (pauseMs > 0) refuseCall(plugin, pauseMs)
    if (userId !== null && breaker.recent.includes(userId)) refuseCall(plugin, BREAKER.firstMs)
    // This call is the probe; whoever comes while it runs waits as long as a failure of it would make them.
    breaker.openUntil = Date.now() + BREAKER.firstMs
  }

  /** Counts a failure of a reader for that reader. @returns whether it made a pause */
  const failOwn = (breakers: Map<string, Breaker>, key: string): boolean => {
    const own = breakers.get(key) ?? freshBreaker()
    // The last that failed stands last.
    breakers.delete(key)
    breakers.set(key, own)
    const kept = [...breakers.keys()].filter(isOwn)
    for (const oldest of kept.slice(0, Math.max(kept.length - OWN_MAX, 0))) breakers.delete(oldest)
    const wasProbe = own.openUntil !== 0
    note(own, '-')
    if (!wasProbe && failuresOf(own.recent) < BREAKER.failures) return false
    trip(own)
    return true
  }

  /** Counts a failure for all. @returns whether it made a pause */
  const failShared = (breakers: Map<string, Breaker>, capability: string, userId: string | null): boolean => {
    const shared = breakers.get(capability) ?? freshBreaker()
    breakers.set(capability, shared)
    const wasProbe = shared.openUntil !== 0
    if (userId === null || !shared.recent.includes(userId)) note(shared, userId ?? '-')
    if ((wasProbe && userId === null) || failuresOf(shared.recent) >= BREAKER.failures) {
      trip(shared)
      return true
    }
    // A probe for one reader says nothing of others: the next of them is one too.
    if (wasProbe) shared.openUntil = Date.now()
    return false
  }

  const succeed = (breakers: Map<string, Breaker>, key: string): boolean => {
    const breaker = breakers.get(key)
    if (breaker === undefined) return false
    const wasOpen = breaker.openUntil !== 0
    note(breaker, '+')
    if (!wasOpen && failuresOf(breaker.recent) > 0) return false
    breakers.delete(key)
    return true
  }

  return {
    check(plugin, method, userId) {
      const breakers = breakersOf(plugin)
      if (userId !== null) checkBreaker(plugin, breakers.get(ownKeyOf(method, userId)), null)
      checkBreaker(plugin, breakers.get(capabilityOf(method)), userId)
    },

    async succeeded(plugin, method, userId) {
      const breakers = breakersOf(plugin)
      const now = Date.now()
      if (now - (writtenAt.get(plugin.id) ?? 0) > SUCCESS_EVERY_MS) {
        writtenAt.set(plugin.id, now)
        await recordSuccess(database, plugin.id)
      }
      const keys = [capabilityOf(method), ...(userId === null ? [] : [ownKeyOf(method, userId)])]
      const ended = keys.filter((key) => succeed(breakers, key))
      if (ended.length > 0) await store(plugin.id, breakers)
    },

    async failed(plugin, { method, code, message, source, callId, userId }) {
      const failure = { version: plugin.version, method, code, message: message.slice(0, 2_000), source, callId, userId }
      await recordFailure(database, plugin.id, failure)
      if (!isFault(code)) return 'counted'
      const breakers = breakersOf(plugin)
      if (userId !== null && failOwn(breakers, ownKeyOf(method, userId)))
        log.warn(
          { plugin: plugin.key, method, code, userId },
          `${plugin.key} failed too often for a reader and is left alone for that reader for a while`,
        )
      const trips = failShared(breakers, capabilityOf(method), userId)
      if (trips) log.warn({ plugin: plugin.key, method, code }, `${plugin.key} failed too often and is left alone for a while`)
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

    isTripped: (plugin) => [...breakersOf(plugin)].some(([key, { openUntil }]) => !isOwn(key) && openUntil > Date.now()),
    forget(pluginId) {
      known.delete(pluginId)
      writtenAt.delete(pluginId)
    },
  }
}
