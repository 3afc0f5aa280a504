import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { mayRead, wordsFor } from '#core/account/private-words.ts'
import { duringWork, noteWork } from '#core/foundation/current-work.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { escapedText, quotedText } from '#core/foundation/stranger-text.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import { authOf } from '#plugins/credentials/plugin-auth.ts'
import { withinGrants } from '#plugins/host/answer-addresses.ts'
import { type CallFailures, type NamedCall, openCallFailures, type ReportedFailure } from '#plugins/host/call-failures.ts'
import { type AnswerHostCalls, openHostCalls } from '#plugins/host/host-calls.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { apartFrom, getVerifiedCode, programOf } from '#plugins/host/installed-program.ts'
import { IsolateChecks } from '#plugins/host/isolate-checks.ts'
import { JsonReader } from '#plugins/host/json-reader.ts'
import { type CallSetting, type LiveIsolate, LiveIsolates } from '#plugins/host/live-isolates.ts'
import { pluginFailureCode } from '#plugins/host/plugin-failure.ts'
import type { PluginHealth } from '#plugins/host/plugin-health.ts'
import { requestRules } from '#plugins/host/plugin-rules.ts'
import { cacheScopeOf, findOwn, getRunnable, refuseInSafeMode, type SecretSettings, settingOf } from '#plugins/host/runnable.ts'
import type { UserPlugin } from '#plugins/host/user-plugin-store.ts'
import type { CallRecord, PluginLogs } from '#plugins/logs/plugin-logs.ts'
import { hideSecrets, redact } from '#plugins/logs/text.ts'
import type { CachingEgress } from '#plugins/network/egress.ts'
import { recordContacts } from '#plugins/network/recorded-contacts.ts'
import type { EgressRule } from '#plugins/network/request.ts'
import { grantOf } from '#plugins/network/rules.ts'
import { budgetOf, REFRESH, SETUP } from '#plugins/packages/budgets.ts'
import { type Manifest, methodsOf } from '#plugins/packages/manifest.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'
import type { Guest } from '#plugins/runtime/guest.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Answer, Budget, CallOptions } from '#plugins/runtime/program.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'

export interface PluginCall {
  pluginId: string
  /** Path of the function, such as `metadata.series.search`. */
  method: string
  input: unknown
  /** User for whom it runs; null for the server's own work. */
  userId: string | null
  onProgress?: (fraction: number, text: string | null) => void
  /** Aborts the call; its work is discarded. */
  signal?: AbortSignal
}

interface PluginAnswer {
  result: unknown
  callId: string
  cpuMs: number
  wallMs: number
}

/** The result of a call: its answer, or the plugin's failure. */
type Attempt = PluginAnswer | { failed: AppError }
export const hasFailed = (attempt: object): attempt is { failed: AppError } => 'failed' in attempt

export interface PluginCalls {
  /** @throws AppError: not_found, conflict (disabled, waiting, quarantined), invalid_value (the plugin refuses the input), unavailable (it failed) */
  call(call: PluginCall): Promise<PluginAnswer>
  /** As `call`, but returns failures of the plugin as values. @throws AppError: not_found, conflict, invalid_value */
  attempt(call: PluginCall): Promise<Attempt>
  /**
   * Runs a new version once in its own process, and checks that it is what its manifest says.
   * @param version.sha256 of the package
   * @throws invalid_value when it is not, conflict in safe mode
   */
  smokeTest(version: { manifest: Manifest; code: string; sourceMap: string | null; sha256: string }): Promise<void>
  /** Loads a version beside the running one, and calls its `setup` or another function. @throws GuestError, conflict in safe mode */
  runApart(
    plugin: InstalledPlugin,
    method: 'setup' | 'migrate',
    owner: { userId: string | null; input: unknown },
  ): Promise<{ wallMs: number }>
  /** Closes the isolates of a plugin on every server, or those for one user, whose credentials have changed. All other changes do that by themselves. */
  end(pluginId: string, userId: string | null): Promise<void>
  /** See IsolateChecks. */
  whileAllowed: IsolateChecks['whileAllowed']
  close(): Promise<void>
}

const INPUT_LENGTH_MAX = 4 * 1024 * 1024
/** Characters of the data of a log line, as JSON. */
const LOGGED_LENGTH_MAX = 2_000

/** A running call. */
interface Running extends NamedCall {
  call: PluginCall
  own: UserPlugin | null
  /** The number of withdrawals before its rights were read. */
  withdrawals: number
  /** Its input as JSON. */
  text: string
  begunAt: number
  /** Its promises that were rejected without a handler. */
  uncaught: GuestError[]
}

interface PluginCallOptions {
  database: Knex
  supervisor: Supervisor
  egress: CachingEgress
  credentials: Pick<Credentials, 'bound' | 'status'>
  secrets: SecretSettings
  logs: PluginLogs
  health: PluginHealth
  log: Log
  /** False in safe mode. */
  enabled: boolean
  /** Called when a breaker has opened. */
  onTripped: (plugin: InstalledPlugin, reason: string) => Promise<void>
  /** Called after valid answers. */
  onSuccess: (plugin: InstalledPlugin) => Promise<void>
}

export function openPluginCalls(options: PluginCallOptions): PluginCalls {
  return new Calls(options)
}

class Calls implements PluginCalls {
  readonly #options: PluginCallOptions
  readonly #answersFor: AnswerHostCalls
  readonly #reader = new JsonReader()
  readonly #failures: CallFailures
  readonly #isolates: LiveIsolates
  readonly #checks: IsolateChecks

  constructor(options: PluginCallOptions) {
    const { database, supervisor, log, health, onTripped } = options
    this.#options = options
    this.#answersFor = openHostCalls(options)
    this.#failures = openCallFailures({ database, log, health, reader: this.#reader, onTripped })
    this.#isolates = new LiveIsolates({
      readCode: (plugin) => getVerifiedCode(database, plugin),
      start: ({ plugin }, code) => supervisor.open(programOf(plugin, code, plugin.granted)),
      setUp: async (guest, setting) => {
        if ((await guest.load()).includes('setup'))
          await this.#runUncalled(guest, setting, { method: 'setup', text: 'null', budget: SETUP })
      },
    })
    this.#checks = new IsolateChecks(options, this.#isolates)
  }

  async call(call: PluginCall): Promise<PluginAnswer> {
    const running = await this.#begin(call)
    try {
      const { answer, result } = await this.#answer(running)
      return await this.#succeed(running, answer, result)
    } catch (error) {
      return await this.#fail(running, error)
    }
  }

  attempt(call: PluginCall): Promise<Attempt> {
    return this.call(call).catch((error: unknown) => {
      if (error instanceof AppError && pluginFailureCode(error) !== null) return { failed: error }
      throw error
    })
  }

  async smokeTest({ manifest, code, sourceMap, sha256 }: Parameters<PluginCalls['smokeTest']>[0]): Promise<void> {
    refuseInSafeMode(this.#options.enabled)
    const guest = this.#options.supervisor.open(apartFrom(programOf({ id: randomUUID(), manifest }, code), sha256))
    try {
      const problem = undefinedFunctions(manifest, await guest.load())
      if (problem !== null) refuse('invalid_value', problem)
    } catch (error) {
      const reported = await this.#failures.located(sourceMap, error)
      if (reported instanceof GuestError) refuse('invalid_value', `main.js does not start: ${quotedText(reported.message)}`)
      throw reported
    } finally {
      guest.close()
    }
  }

  async runApart(
    plugin: InstalledPlugin,
    method: 'setup' | 'migrate',
    { userId, input }: { userId: string | null; input: unknown },
  ): Promise<{ wallMs: number }> {
    const { database, supervisor, enabled } = this.#options
    refuseInSafeMode(enabled)
    await this.#checks.ready()
    const code = await getVerifiedCode(database, plugin)
    const guest = supervisor.open(apartFrom(programOf(plugin, code, plugin.granted), plugin.sha256))
    const release = this.#isolates.hold({ pluginId: plugin.id, userId, plugin, guest })
    const begunAt = performance.now()
    try {
      const setting = await settingOf({ plugin, own: await findOwn(database, plugin, userId, true) }, this.#options.secrets)
      const budget = method === 'setup' ? SETUP : REFRESH
      if ((await guest.load()).includes(method)) await this.#runUncalled(guest, setting, { method, text: JSON.stringify(input), budget })
      return { wallMs: performance.now() - begunAt }
    } catch (error) {
      throw await this.#failures.located({ versionId: plugin.versionId }, error)
    } finally {
      release()
      guest.close()
    }
  }

  readonly end: PluginCalls['end'] = (pluginId, userId) => this.#checks.end({ pluginId, userId })

  readonly whileAllowed: IsolateChecks['whileAllowed'] = (...given) => this.#checks.whileAllowed(...given)

  async close(): Promise<void> {
    this.#isolates.close()
    this.#reader.close()
    await this.#checks.close()
  }

  async #begin(call: PluginCall): Promise<Running> {
    const { health, logs } = this.#options
    const { pluginId, method, userId } = call
    await this.#checks.ready()
    const { withdrawals } = this.#checks
    const { plugin, own } = await getRunnable(this.#options, pluginId, userId)
    if (!methodsOf(plugin.manifest).includes(method))
      refuse('invalid_value', `${quotedText(plugin.manifest.name)} does not offer ${method}.`)
    const text = JSON.stringify(call.input ?? null)
    if (text.length > INPUT_LENGTH_MAX) refuse('payload_too_large', 'The input exceeds the limit for plugins.')
    health.check(plugin, method, userId)
    const callId = randomUUID()
    const record = logs.begin({ callId, pluginId: plugin.id, key: plugin.key, version: plugin.version, method, userId })
    return { call, plugin, own, withdrawals, callId, method, userId, record, text, begunAt: performance.now(), uncaught: [] }
  }

  /** The answer of a ready isolate, unless the call was canceled. */
  async #answer(running: Running): Promise<{ answer: Answer; result: unknown }> {
    const setting = await settingOf(running, this.#options.secrets)
    const isolate = await this.#isolates.open(setting)
    isolate.calls += 1
    try {
      // Something was withdrawn before the isolate could be ended for it.
      if (this.#checks.withdrawals !== running.withdrawals && !(await this.#checks.isCurrent(isolate))) {
        this.#isolates.drop(isolate)
        throw new GuestError('closed', 'The call was ended.')
      }
      await isolate.ready.catch((error: unknown) => {
        this.#isolates.drop(isolate)
        throw error
      })
      return await this.#unlessAborted(running.call.signal, isolate, () => this.#runIn(isolate, setting, running))
    } finally {
      isolate.calls -= 1
      isolate.lastUsed = performance.now()
    }
  }

  async #unlessAborted<Value>(signal: AbortSignal | undefined, isolate: LiveIsolate, work: () => Promise<Value>): Promise<Value> {
    if (signal === undefined) return await work()
    signal.throwIfAborted()
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const giveUp = () => {
      // Only ending the isolate stops its code; when other calls run in it, the answer is discarded instead.
      if (isolate.calls <= 1) this.#isolates.drop(isolate)
      reject(new GuestError('closed', 'The call was canceled.'))
    }
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      return await Promise.race([work(), aborted])
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  async #runIn(isolate: LiveIsolate, setting: CallSetting, running: Running): Promise<{ answer: Answer; result: unknown }> {
    const { plugin, method, callId, userId, record, text } = running
    const budget = budgetOf(plugin.granted as Permissions, method)
    return await duringWork('plugin call', `${plugin.key} ${method} ${callId}`, async () => {
      const answer = await this.#run(isolate.guest, setting, { method, text, budget, record }, running)
      noteWork()
      const onLeftOut = (what: string) => {
        record.log('warn', escapedText(what))
        this.#options.log.warn({ plugin: plugin.key, callId }, `${plugin.key}: ${wordsFor(escapedText(what), userId, null)}`)
      }
      const read = await this.#reader.readResult(method, answer.text, onLeftOut)
      const result = withinGrants(plugin, this.#options.egress.local, {
        ...{ method, answer: read },
        onLeftOut: (host, what) => {
          record.fetch(host, 'permission', 0, false)
          onLeftOut(what)
        },
      })
      return { answer, result }
    })
  }

  /** Runs a function that no call has asked for. Whom it contacts is on record too. */
  #runUncalled(guest: Guest, setting: CallSetting, what: { method: string; text: string; budget: Budget }): Promise<Answer> {
    const about = uncalled(setting, what.method, requestRules(setting.plugin, this.#options.egress.local))
    return recordContacts(this.#options.logs, about, (onContact) => {
      const fetch: CallRecord['fetch'] = (host, outcome, bytes, cached) => {
        if (!cached) onContact(host, outcome, bytes)
      }
      return this.#run(guest, setting, { ...what, record: { fetch, hostCall: () => {} } })
    })
  }

  /** @param running the call; undefined when none has asked for the function */
  #run(
    guest: Guest,
    setting: CallSetting,
    { method, text, budget, record }: { method: string; text: string; budget: Budget; record: Pick<CallRecord, 'fetch' | 'hostCall'> },
    running?: Running,
  ): Promise<Answer> {
    const { plugin, own, userId, config, userConfig } = setting
    const callId = running?.callId ?? randomUUID()
    const auth = authOf(plugin, this.#options.egress.local)
    return guest.call(method, text, budget, {
      more: JSON.stringify({ callId, plugin: { id: plugin.key, version: plugin.version }, config, userConfig }),
      onRequest: this.#answersFor({
        ...{ pluginId: plugin.id, key: plugin.key, version: plugin.version, userId, auth, config: plugin.config },
        cacheScope: cacheScopeOf(plugin.id, own),
        granted: plugin.granted as Permissions,
        dataVersion: plugin.dataVersion,
        privateOrigins: plugin.privateOrigins,
        http: plugin.manifest.http,
        method: method.slice(method.lastIndexOf('.') + 1),
        record,
      }),
      readLarge: (kind, text) => this.#reader.readLarge(kind, text),
      ...(running && { onUncaught: (error: GuestError) => void running.uncaught.push(error) }),
      onOutput: this.#outputHandler({ plugin, callId, userId }, running),
    })
  }

  /** Handles log lines and progress of a plugin. */
  #outputHandler(
    { plugin, callId, userId }: Pick<NamedCall, 'plugin' | 'callId' | 'userId'>,
    running: Running | undefined,
  ): NonNullable<CallOptions['onOutput']> {
    return (kind, { level, message, data, fraction, text }) => {
      if (kind === 'progress') {
        if (typeof fraction !== 'number') return
        running?.call.onProgress?.(Math.min(Math.max(fraction, 0), 1), typeof text === 'string' ? text : null)
        return
      }
      const to = level === 'error' || level === 'warn' || level === 'info' ? level : 'debug'
      running?.record.log(to, message, data)
      if (!mayRead(userId, null)) return
      this.#options.log[to](
        { plugin: plugin.key, callId, data: redact(data, { lengthMax: LOGGED_LENGTH_MAX }).value },
        `${plugin.key}: ${escapedText(hideSecrets(String(message)))}`,
      )
    }
  }

  async #succeed(running: Running, answer: Answer, result: unknown): Promise<PluginAnswer> {
    const { health, onSuccess } = this.#options
    const { plugin, method, userId, callId, uncaught, begunAt } = running
    const { cpuMs, wallMs } = answer
    const queueMs = Math.max(performance.now() - begunAt - wallMs, 0)
    const reported = uncaught[0] && (await this.#failures.keepUncaught(running, uncaught[0]))
    endRecord(running, { ...reported, code: 'ok', cpuMs, wallMs, queueMs, resultLength: answer.text.length, result })
    await Promise.all([health.succeeded(plugin, method, userId), onSuccess(plugin)])
    return { result, callId, cpuMs, wallMs }
  }

  async #fail(running: Running, error: unknown): Promise<never> {
    const wallMs = performance.now() - running.begunAt
    const reported: ReportedFailure = await this.#failures.report(running, error, running.uncaught[0] ?? null)
    endRecord(running, { ...reported, cpuMs: 0, wallMs, queueMs: 0, resultLength: 0 })
    running.call.signal?.throwIfAborted()
    // It was ended because it must not run any more, which is no failure.
    if (error instanceof GuestError && error.code === 'closed') await getRunnable(this.#options, running.call.pluginId, running.userId)
    if (error instanceof GuestError) return await this.#failures.fail(running, error, reported)
    throw error
  }
}

/** For the record of a function that no call has asked for. */
const uncalled = ({ plugin, userId }: CallSetting, method: string, rules: readonly EgressRule[]) => ({
  pluginId: plugin.id,
  key: plugin.key,
  version: plugin.version,
  method,
  userId,
  codeOf: (error: unknown) => (error instanceof GuestError ? (error.own ?? error.code) : 'server'),
  grantOf: (host: string) => grantOf(host, rules),
})

const endRecord = ({ record, text, call }: Running, ended: Omit<Parameters<CallRecord['end']>[0], 'inputLength' | 'input'>): void =>
  record.end({ ...ended, inputLength: text.length, input: call.input })

/** Functions that a manifest names and the code does not define; null when none is missing. */
function undefinedFunctions(manifest: Manifest, defined: readonly string[]): string | null {
  const missing = methodsOf(manifest).filter((method) => !defined.includes(method))
  if (missing.length > 0) return `The manifest names ${missing.join(', ')}, which main.js does not define.`
  if ((manifest.dataVersion ?? 1) > 1 && !defined.includes('migrate'))
    return `The manifest has dataVersion ${manifest.dataVersion}, but main.js does not define migrate.`
  return null
}
