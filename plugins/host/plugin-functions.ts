import { randomUUID } from 'node:crypto'
import { mayRead } from '#core/account/private-words.ts'
import type { Log } from '#core/foundation/log.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import { authOf } from '#plugins/credentials/plugin-auth.ts'
import { type AnswerHostCalls, answerHostCalls, type HostCallsOptions } from '#plugins/host/host-calls.ts'
import type { JsonReader } from '#plugins/host/json-reader.ts'
import type { CallSetting } from '#plugins/host/live-isolates.ts'
import { requestRules } from '#plugins/host/plugin-rules.ts'
import { cacheScopeOf } from '#plugins/host/runnable.ts'
import type { CallRecord, PluginLogs } from '#plugins/logs/plugin-logs.ts'
import { hideSecrets, redact } from '#plugins/logs/text.ts'
import { recordContacts } from '#plugins/network/recorded-contacts.ts'
import { grantOf } from '#plugins/network/rules.ts'
import type { Permissions } from '#plugins/packages/permissions.ts'
import type { Guest } from '#plugins/runtime/guest.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import type { Answer, Budget, CallOptions } from '#plugins/runtime/program.ts'

/** A function with its argument as JSON. */
interface AskedFunction {
  method: string
  text: string
  budget: Budget
}

/** A call that has asked for a function, and learns what it writes. */
interface AskingCall {
  callId: string
  record: CallRecord
  call: { onProgress?: (fraction: number, text: string | null) => void }
  /** Receives promises that were rejected without a handler. */
  uncaught: GuestError[]
  /** Learns after the answer that a host call failed which the code did not wait for. */
  onUnawaited: (error: GuestError) => void
}

interface PluginFunctionsOptions extends HostCallsOptions {
  logs: PluginLogs
  log: Log
  reader: JsonReader
}

/** Characters of the data of a log line, as JSON. */
const LOGGED_LENGTH_MAX = 2_000

/** Runs functions of plugins in their isolates: answers their host calls, and passes on what they write. */
export class PluginFunctions {
  readonly #options: PluginFunctionsOptions
  readonly #answersFor: AnswerHostCalls

  constructor(options: PluginFunctionsOptions) {
    this.#options = options
    this.#answersFor = answerHostCalls(options)
  }

  /** Runs a function for a call. @throws GuestError */
  run(guest: Guest, setting: CallSetting, asked: AskedFunction, running: AskingCall): Promise<Answer> {
    return guest.call(asked.method, asked.text, asked.budget, {
      ...this.#optionsOf(setting, asked.method, running.callId, running.record),
      onUncaught: (error) => void running.uncaught.push(error),
      onUnawaited: running.onUnawaited,
      onOutput: this.#outputHandler(setting, running.callId, running),
    })
  }

  /** Runs a function that no call has asked for. Whom it contacts is on record too. @throws GuestError */
  runUncalled(guest: Guest, setting: CallSetting, { method, text, budget }: AskedFunction): Promise<Answer> {
    const { plugin, userId } = setting
    const { id: pluginId, key, version } = plugin
    const codeOf = (error: unknown) => (error instanceof GuestError ? (error.own ?? error.code) : 'server')
    const rules = requestRules(plugin, this.#options.egress.local)
    const about = { pluginId, key, version, method, userId, codeOf, grantOf: (host: string) => grantOf(host, rules) }
    return recordContacts(this.#options.logs, about, (onContact) => {
      const fetch: CallRecord['fetch'] = (host, outcome, bytes, cached) => {
        if (!cached) onContact(host, outcome, bytes)
      }
      const callId = randomUUID()
      return guest.call(method, text, budget, {
        ...this.#optionsOf(setting, method, callId, { fetch, hostCall: () => {} }),
        onOutput: this.#outputHandler(setting, callId),
      })
    })
  }

  #optionsOf(
    { plugin, own, userId, config, userConfig }: CallSetting,
    method: string,
    callId: string,
    record: Pick<CallRecord, 'fetch' | 'hostCall'>,
  ): CallOptions {
    return {
      more: JSON.stringify({ callId, plugin: { id: plugin.key, version: plugin.version }, config, userConfig }),
      onRequest: this.#answersFor({
        pluginId: plugin.id,
        key: plugin.key,
        version: plugin.version,
        userId,
        auth: authOf(plugin, this.#options.egress.local),
        config: plugin.config,
        cacheScope: cacheScopeOf(plugin.id, own),
        granted: plugin.granted as Permissions,
        dataVersion: plugin.dataVersion,
        privateOrigins: plugin.privateOrigins,
        http: plugin.manifest.http,
        method: method.slice(method.lastIndexOf('.') + 1),
        record,
      }),
      readLarge: (kind, text) => this.#options.reader.readLarge(kind, text),
    }
  }

  /** Handles log lines and progress of a plugin. */
  #outputHandler({ plugin, userId }: CallSetting, callId: string, running?: AskingCall): NonNullable<CallOptions['onOutput']> {
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
}
