import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { wordsFor } from '#core/account/private-words.ts'
import { duringWork, noteWork } from '#core/foundation/current-work.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { escapedText, quotedText } from '#core/foundation/stranger-text.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import { authOf } from '#plugins/credentials/plugin-auth.ts'
import { withinGrants } from '#plugins/host/answer-addresses.ts'
import { CallFailures, type NamedCall, type ReportedFailure } from '#plugins/host/call-failures.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { apartFrom, getVerifiedCode, programOfPlugin } from '#plugins/host/installed-program.ts'
import { IsolateChecks } from '#plugins/host/isolate-checks.ts'
import { JsonReader } from '#plugins/host/json-reader.ts'
import { type CallSetting, type LiveIsolate, LiveIsolates } from '#plugins/host/live-isolates.ts'
import { pluginFailureCode } from '#plugins/host/plugin-failure.ts'
import { PluginFunctions } from '#plugins/host/plugin-functions.ts'
import type { PluginHealth } from '#plugins/host/plugin-health.ts'
import { findOwn, getRunnable, refuseInSafeMode, type SecretSettings, settingOf } from '#plugins/host/runnable.ts'
import type { UserPlugin } from '#plugins/host/user-plugin-store.ts'
import type { CallRecord, PluginLogs } from '#plugins/logs/plugin-logs.ts'
import type { HttpsEgress } from '#plugins/network/https-egress.ts'
import { budgetOf, REFRESH, SETUP } from '#plugins/packages/budgets.ts'
import { type Manifest, methodsOf } from '#plugins/packages/manifest.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Answer } from '#plugins/runtime/program.ts'
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

const INPUT_LENGTH_MAX = 4 * 1024 * 1024

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
  egress: HttpsEgress
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

/** Runs functions of installed plugins, each in its isolate. */
export class PluginCalls {
  readonly #options: PluginCallOptions
  readonly #functions: PluginFunctions
  readonly #reader = new JsonReader()
  readonly #failures: CallFailures
  readonly #isolates: LiveIsolates
  readonly #checks: IsolateChecks

  constructor(options: PluginCallOptions) {
    const { database, supervisor, egress } = options
    this.#options = options
    this.#functions = new PluginFunctions({ ...options, reader: this.#reader })
    this.#failures = new CallFailures({ ...options, reader: this.#reader, authOf: (plugin) => authOf(plugin, egress.local) })
    this.#isolates = new LiveIsolates({
      readCode: (plugin) => getVerifiedCode(database, plugin),
      start: ({ plugin }, code) => supervisor.open(programOfPlugin(plugin, code, plugin.granted)),
      setUp: async (guest, setting) => {
        if ((await guest.load()).includes('setup'))
          await this.#functions.runUncalled(guest, setting, { method: 'setup', text: 'null', budget: SETUP })
      },
    })
    this.#checks = new IsolateChecks(options, this.#isolates)
  }

  /** @throws AppError: not_found, conflict (disabled, waiting, quarantined), invalid_value (the plugin refuses the input), unavailable (it failed) */
  async call(call: PluginCall): Promise<PluginAnswer> {
    const running = await this.#begin(call)
    try {
      const { answer, result } = await this.#answer(running)
      return await this.#succeed(running, answer, result)
    } catch (error) {
      return await this.#fail(running, error)
    }
  }

  /** As `call`, but returns failures of the plugin as values. @throws AppError: not_found, conflict, invalid_value */
  attempt(call: PluginCall): Promise<Attempt> {
    return this.call(call).catch((error: unknown) => {
      if (error instanceof AppError && pluginFailureCode(error) !== null) return { failed: error }
      throw error
    })
  }

  /**
   * Runs a new version once in its own process, and checks that it is what its manifest says.
   * @param version.sha256 of the package
   * @throws invalid_value when it is not, conflict in safe mode
   */
  async smokeTest({
    manifest,
    code,
    sourceMap,
    sha256,
  }: {
    manifest: Manifest
    code: string
    sourceMap: string | null
    sha256: string
  }): Promise<void> {
    refuseInSafeMode(this.#options.enabled)
    const guest = this.#options.supervisor.open(apartFrom(programOfPlugin({ id: randomUUID(), manifest }, code), sha256))
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

  /** Loads a version beside the running one, and calls its `setup` or another function. @throws GuestError */
  async runApart(
    plugin: InstalledPlugin,
    method: 'setup' | 'migrate',
    { userId, input }: { userId: string | null; input: unknown },
  ): Promise<{ wallMs: number }> {
    const { database, supervisor, enabled } = this.#options
    refuseInSafeMode(enabled)
    await this.#checks.ready()
    const code = await getVerifiedCode(database, plugin)
    const guest = supervisor.open(apartFrom(programOfPlugin(plugin, code, plugin.granted), plugin.sha256))
    const release = this.#isolates.hold({ pluginId: plugin.id, userId, plugin, guest })
    const begunAt = performance.now()
    try {
      const setting = await settingOf({ plugin, own: await findOwn(database, plugin, userId, true) }, this.#options.secrets)
      const budget = method === 'setup' ? SETUP : REFRESH
      if ((await guest.load()).includes(method))
        await this.#functions.runUncalled(guest, setting, { method, text: JSON.stringify(input), budget })
      return { wallMs: performance.now() - begunAt }
    } catch (error) {
      throw await this.#failures.located({ versionId: plugin.versionId }, error)
    } finally {
      release()
      guest.close()
    }
  }

  /** Closes the isolates of a plugin on every server, or those for one user, whose credentials have changed. All other changes do that by themselves. */
  async end(pluginId: string, userId: string | null): Promise<void> {
    await this.#checks.end({ pluginId, userId })
  }

  /** See IsolateChecks. */
  readonly whileAllowed: IsolateChecks['whileAllowed'] = (...given) => this.#checks.whileAllowed(...given)

  /** See IsolateChecks. */
  readonly onWithdrawal: IsolateChecks['onWithdrawal'] = (forget) => this.#checks.onWithdrawal(forget)

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
      const onUnawaited = (error: GuestError) =>
        void this.#failures.keepUncaught(running, error).catch((reason: unknown) => {
          this.#options.log.warn({ err: reason, plugin: plugin.key, callId }, 'A failure of a plugin could not be stored')
        })
      const answer = await this.#functions.run(isolate.guest, setting, { method, text, budget }, { ...running, onUnawaited })
      noteWork()
      const onLeftOut = (what: string) => {
        record.log('warn', escapedText(what))
        this.#options.log.warn({ plugin: plugin.key, callId }, `${plugin.key}: ${wordsFor(escapedText(what), userId, null)}`)
      }
      const read = await this.#reader.readResult(method, answer.text, onLeftOut)
      const result = withinGrants(plugin, this.#options.egress.local, {
        method,
        answer: read,
        onLeftOut: (host, what) => {
          record.fetch(host, 'permission', 0, false)
          onLeftOut(what)
        },
      })
      return { answer, result }
    })
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
    // Code that exceeds its limit is ended, and says no more; it used at least that much.
    const isSpent = reported.code === 'cpu'
    const used = error instanceof GuestError ? error.cpuMs : 0
    const cpuMs = isSpent ? Math.max(used, budgetOf(running.plugin.granted as Permissions, running.method).cpuMs) : used
    endRecord(running, { ...reported, cpuMs, wallMs, queueMs: 0, resultLength: 0 })
    running.call.signal?.throwIfAborted()
    // It was ended because it must not run any more, which is no failure.
    if (error instanceof GuestError && error.code === 'closed') await getRunnable(this.#options, running.call.pluginId, running.userId)
    if (error instanceof GuestError) return await this.#failures.fail(running, error, reported)
    throw error
  }
}

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
