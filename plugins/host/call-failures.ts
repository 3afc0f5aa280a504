import type { Knex } from 'knex'
import { mayRead, wordsFor } from '#core/account/private-words.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { escapedText, quotedText } from '#core/foundation/stranger-text.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import { describeMissing, type PluginAuth } from '#plugins/credentials/plugin-auth.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { JsonReader } from '#plugins/host/json-reader.ts'
import { countsAgainstPlugin, failureCode, type PluginHealth } from '#plugins/host/plugin-health.ts'
import { findSourceMap, recordFailure } from '#plugins/host/plugin-store.ts'
import type { CallRecord } from '#plugins/logs/plugin-logs.ts'
import { hideSecrets } from '#plugins/logs/text.ts'
import type { SourcePlaces } from '#plugins/packages/source-map.ts'
import { GuestError, uncaughtMessage, withLines } from '#plugins/runtime/guest-error.ts'

/** A running or ended call of a plugin. */
export interface NamedCall {
  plugin: InstalledPlugin
  callId: string
  method: string
  userId: string | null
  record: CallRecord
}

/** A failure for people to read: safe for terminals, and without secrets. */
export interface ReportedFailure {
  code: string
  message: string
  /** Place in the plugin's sources, such as `src/main.ts:12:9`; null when unknown. */
  source: string | null
}

/** Code of an unhandled rejection. */
const UNCAUGHT = 'unhandled'
/** A failing plugin fails at the same place each time; the cache saves reading maps of 2 MB again. */
const SOURCES_BYTES_MAX = 512 * 1024
const MESSAGE_LENGTH_MAX = 2_000

/** Adds the place in the source, when it is known. */
const withSource = (message: string, source: string | null): string => (source === null ? message : `${message} (${source})`)

interface CallFailuresOptions {
  database: Knex
  log: Log
  health: PluginHealth
  reader: JsonReader
  credentials: Pick<Credentials, 'status'>
  authOf: (plugin: InstalledPlugin) => PluginAuth
  /** Called when a breaker has opened, or the plugin is in quarantine. */
  onTripped: (plugin: InstalledPlugin, reason: string) => Promise<void>
}

/** Turns failures of calls into messages, log lines and health counts. */
export class CallFailures {
  readonly #options: CallFailuresOptions
  readonly #known = new BoundedCache<string>({ bytesMax: SOURCES_BYTES_MAX })

  constructor(options: CallFailuresOptions) {
    this.#options = options
  }

  /** @param uncaught a promise of the call that was rejected before without a handler */
  async report(call: NamedCall, error: unknown, uncaught: GuestError | null): Promise<ReportedFailure> {
    if (!(error instanceof GuestError)) return { code: 'server', message: 'The server failed to handle this call.', source: null }
    const before = error.places.length === 0 ? uncaught : null
    const { source, lines } = await this.#sourceOf(call.plugin.versionId, before ?? error)
    const reported = {
      code: failureCode(error),
      message: clean(before === null ? withLines(error, lines) : `${error.message} Before that: ${uncaughtMessage(before.message)}`),
      source,
    }
    if (reported.code === 'auth') reported.message = await this.#withMissing(call, reported.message)
    // That a service does not know something is an answer.
    if (reported.code !== 'not_found') this.#log(call, reported)
    return reported
  }

  /** Counts a failure. @throws AppError always: not_found, unavailable */
  async fail({ plugin, callId, method, userId }: NamedCall, error: GuestError, reported: ReportedFailure): Promise<never> {
    const { code, message } = reported
    const outcome = await this.#options.health.failed(plugin, { ...reported, method, callId, userId })
    if (outcome !== 'counted') await this.#options.onTripped(plugin, `${code}: ${wordsFor(message, userId, null)}`)
    const details = { pluginId: plugin.id, code, callId }
    if (code === 'not_found') refuse('not_found', `${quotedText(plugin.manifest.name)} found nothing: ${quotedText(message)}`, { details })
    const { retryAfterSeconds } = error
    const wait = code === 'rate_limited' && retryAfterSeconds !== null ? { retryAfterSeconds: Math.ceil(retryAfterSeconds) } : {}
    return refuse('unavailable', `${quotedText(plugin.manifest.name)} failed (${code}): ${quotedText(message)}`, { details, ...wait })
  }

  /** Logs an uncaught rejection of a successful call: a bug of the author, which does not affect the answer and does not count. */
  async keepUncaught(call: NamedCall, error: GuestError): Promise<ReportedFailure> {
    const { plugin, method, callId, userId } = call
    const { source } = await this.#sourceOf(plugin.versionId, error)
    const reported = { code: UNCAUGHT, message: clean(uncaughtMessage(error.message)), source }
    this.#log(call, reported)
    const failure = { ...reported, version: plugin.version, method, callId, userId, message: reported.message.slice(0, MESSAGE_LENGTH_MAX) }
    await recordFailure(this.#options.database, plugin.id, failure)
    return reported
  }

  /** Adds the source place to the error of a version that was started beside the running one. */
  async located(map: string | null | { versionId: string }, error: unknown): Promise<unknown> {
    if (!(error instanceof GuestError) || error.places.length === 0) return error
    const found =
      map === null || typeof map === 'string'
        ? await this.#options.reader.findSource(map, error)
        : await this.#sourceOf(map.versionId, error)
    const { code, own, retryAfterSeconds, places } = error
    const message = withSource(clean(withLines(error, found.lines)), found.source && escapedText(found.source))
    return new GuestError(code, message, own, retryAfterSeconds, places)
  }

  /** A service cannot say that the server sent it no credentials. */
  async #withMissing({ plugin, userId }: NamedCall, message: string): Promise<string> {
    const auth = this.#options.authOf(plugin)
    const isOfUser = auth?.scope === 'user'
    const status = await this.#options.credentials.status({ pluginId: plugin.id, userId: isOfUser ? userId : null }, auth)
    if (status !== 'missing') return message
    const how = isOfUser
      ? `Each user enters their own: POST /api/v1/user/plugins/${plugin.key}/credentials.`
      : `An administrator enters them: PATCH /api/v1/admin/plugins/${plugin.key} with credentials.`
    return describeMissing(auth, how, message)
  }

  async #sourceOf(versionId: string, { places, shares }: Pick<GuestError, 'places' | 'shares'>): Promise<SourcePlaces> {
    if (places.length === 0 && shares.length === 0) return { source: null, lines: '' }
    const key = JSON.stringify([versionId, places, shares])
    const before = this.#known.get(key)
    if (before !== undefined) return JSON.parse(before) as SourcePlaces
    const found = await this.#options.reader.findSource(await findSourceMap(this.#options.database, versionId), { places, shares })
    const known = { source: found.source && escapedText(hideSecrets(found.source)), lines: found.lines }
    this.#known.set(key, JSON.stringify(known))
    return known
  }

  #log({ plugin, callId, method, userId, record }: NamedCall, { code, message, source }: ReportedFailure): void {
    const text = withSource(code === UNCAUGHT ? message : `${method} failed (${code}): ${message}`, source)
    // Failures of services or users are not errors of the plugin.
    const isOfPlugin = code === UNCAUGHT || countsAgainstPlugin(code)
    record.log(isOfPlugin ? 'error' : 'warn', text)
    // A plugin chooses the place where it fails, which says as much as its words.
    const place = mayRead(userId, null) ? source : null
    const words = `${plugin.key}: ${wordsFor(text, userId, null)}`
    this.#options.log[isOfPlugin ? 'warn' : 'info']({ plugin: plugin.key, callId, method, code, source: place }, words)
  }
}

function clean(message: string) {
  return escapedText(hideSecrets(message))
}
