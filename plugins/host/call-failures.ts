import type { Knex } from 'knex'
import { LRUCache } from 'lru-cache'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { JsonReader } from '#plugins/host/json-reader.ts'
import { failureCode, isFault, type PluginHealth } from '#plugins/host/plugin-health.ts'
import { findSourceMap, recordFailure } from '#plugins/host/plugin-store.ts'
import type { CallRecord } from '#plugins/logs/plugin-logs.ts'
import { harmless, hideSecrets } from '#plugins/logs/text.ts'
import type { CodePlace } from '#plugins/packages/source-map.ts'
import { GuestError, uncaughtMessage } from '#plugins/runtime/guest-error.ts'

/** A call of a plugin that runs or has ended. */
export interface NamedCall {
  plugin: InstalledPlugin
  callId: string
  method: string
  userId: string | null
  record: CallRecord
}

/** How a call failed, as people read it: nothing in it moves a terminal or is anybody's secret. */
export interface ToldFailure {
  code: string
  message: string
  /** Where in the plugin's sources it arose, such as `src/main.ts:12:9`; null where nobody knows. */
  source: string | null
}

/** What is made of failures of calls: words, lines of logs, what health counts. */
export interface CallFailures {
  /** @param uncaught a promise of the call that was rejected before, while nothing waited for it */
  tell(call: NamedCall, error: unknown, uncaught: GuestError | null): Promise<ToldFailure>
  /** Counts a failure. @throws CarrelError always: not_found, unavailable */
  fail(call: NamedCall, error: GuestError, told: ToldFailure): Promise<never>
  /** Keeps what was rejected during a call that went well: a mistake of its author, which keeps its answer from nobody and is not counted. */
  keepUncaught(call: NamedCall, error: GuestError): Promise<ToldFailure>
  /** An error of a version that was started beside the one that runs, whose message says where it arose. */
  located(sourceMap: string | null | { versionId: string }, error: unknown): Promise<unknown>
}

/** Of a promise that nothing waited for. */
const UNCAUGHT = 'unhandled'
/** A plugin that fails does it at the same place each time, and maps of 2 MB are not read for that. */
const SOURCES_KEPT = 500
const MESSAGE_LENGTH_MAX = 2_000

/** With the line of the author, where it is known. */
export const withSource = (message: string, source: string | null): string => (source === null ? message : `${message} (${source})`)

export interface CallFailuresOptions {
  database: Knex
  log: Log
  health: PluginHealth
  reader: JsonReader
  /** Told when a plugin has tripped, and whether it must not run any more. */
  onTripped: (plugin: InstalledPlugin, reason: string, isQuarantined: boolean) => Promise<void>
}

export function openCallFailures(options: CallFailuresOptions): CallFailures {
  return new Failures(options)
}

class Failures implements CallFailures {
  readonly #options: CallFailuresOptions
  readonly #known = new LRUCache<string, string>({ max: SOURCES_KEPT })

  constructor(options: CallFailuresOptions) {
    this.#options = options
  }

  async tell(call: NamedCall, error: unknown, uncaught: GuestError | null): Promise<ToldFailure> {
    if (!(error instanceof GuestError)) return { code: 'server', message: 'The server could not do this.', source: null }
    const isUnknown = error.places.length === 0 && uncaught !== null
    const told = {
      code: failureCode(error),
      message: clean(isUnknown ? `${error.message} Before that: ${uncaughtMessage(uncaught.message)}` : error.message),
      source: await this.#sourceOf(call.plugin.versionId, isUnknown ? uncaught.places : error.places),
    }
    // What a service or a reader has to do with is no line for whoever looks for mistakes.
    if (isFault(told.code)) this.#say(call, told)
    return told
  }

  async fail({ plugin, callId, method, userId }: NamedCall, error: GuestError, told: ToldFailure): Promise<never> {
    const { code, message } = told
    const outcome = await this.#options.health.failed(plugin, { ...told, method, callId, userId })
    if (outcome !== 'counted') await this.#options.onTripped(plugin, `${code}: ${message}`, outcome === 'quarantined')
    const details = { pluginId: plugin.id, code, callId }
    if (code === 'not_found') refuse('not_found', `${plugin.manifest.name}: ${message}`, { details })
    const { retryAfterSeconds } = error
    const wait = code === 'rate_limited' && retryAfterSeconds !== null ? { retryAfterSeconds: Math.ceil(retryAfterSeconds) } : {}
    return refuse('unavailable', `${plugin.manifest.name} could not do this (${code}): ${message}`, { details, ...wait })
  }

  async keepUncaught(call: NamedCall, error: GuestError): Promise<ToldFailure> {
    const { plugin, method, callId, userId } = call
    const source = await this.#sourceOf(plugin.versionId, error.places)
    const told = { code: UNCAUGHT, message: clean(uncaughtMessage(error.message)), source }
    this.#say(call, told)
    const failure = { ...told, version: plugin.version, method, callId, userId, message: told.message.slice(0, MESSAGE_LENGTH_MAX) }
    await recordFailure(this.#options.database, plugin.id, failure)
    return told
  }

  async located(map: string | null | { versionId: string }, error: unknown): Promise<unknown> {
    if (!(error instanceof GuestError) || error.places.length === 0) return error
    const found =
      map === null || typeof map === 'string'
        ? await this.#options.reader.findSource(map, error.places)
        : await this.#sourceOf(map.versionId, error.places)
    const { code, own, retryAfterSeconds, places, message } = error
    return new GuestError(code, withSource(message, found && harmless(found)), own, retryAfterSeconds, places)
  }

  async #sourceOf(versionId: string, places: readonly CodePlace[]): Promise<string | null> {
    if (places.length === 0) return null
    const key = JSON.stringify([versionId, places])
    const before = this.#known.get(key)
    if (before !== undefined) return before
    const found = await this.#options.reader.findSource(await findSourceMap(this.#options.database, versionId), places)
    if (found === null) return null
    const source = harmless(hideSecrets(found))
    this.#known.set(key, source)
    return source
  }

  #say({ plugin, callId, method, record }: NamedCall, { code, message, source }: ToldFailure): void {
    const text = withSource(code === UNCAUGHT ? message : `${method} failed (${code}): ${message}`, source)
    record.log('error', text)
    this.#options.log.warn({ plugin: plugin.key, callId, method, code, source }, `${plugin.key}: ${text}`)
  }
}

function clean(message: string) {
  return harmless(hideSecrets(message))
}
