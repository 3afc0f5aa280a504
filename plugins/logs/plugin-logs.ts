import { refuse } from '#core/foundation/errors.ts'
import { type Lines, type LogLevel, type LogLine, missedLine, openLines } from '#plugins/logs/lines.ts'
import { type Counted, type Metrics, type Numbers, openMetrics } from '#plugins/logs/metrics.ts'
import { harmless, hideSecrets, redact } from '#plugins/logs/text.ts'

/** A call that begins. */
export interface CallBegun {
  callId: string
  pluginId: string
  /** The plugin's own identifier, such as org.example.anilist. */
  key: string
  version: string
  method: string
  /** Reader that it runs for. */
  userId: string | null
  /** Values that the plugin may know and nobody else: hidden wherever they turn up. */
  secrets?: readonly string[]
}

/** How a call ended: `code` is `ok` or that of its failure, lengths are characters of JSON, `queueMs` is what it waited for its turn. */
export interface CallEnded extends Counted {
  message?: string
  /** Where in the plugin's sources it arose. */
  source?: string | null
  input?: unknown
  result?: unknown
}

/** What happens during a call. Nothing of it throws, whatever it is given. */
export interface CallRecord {
  /** Takes what the guest says as it is, of whatever types. */
  log(level: unknown, message: unknown, data?: unknown): void
  /** @param kind one that this server knows, such as `storage.get` */
  hostCall(kind: string): void
  /** @param outcome status of the answer, or the code of why there is none @param waitedMs for its turn at that host */
  fetch(host: string, outcome: number | string, bytes: number, cached: boolean, waitedMs?: number): void
  /** Counts once; what comes after is of no call. */
  end(outcome: CallEnded): void
}

/** One call as an administrator sees it: secrets are hidden and long texts cut. */
export interface RecordedCall extends Counted {
  callId: string
  method: string
  version: string
  userId: string | null
  startedAt: Date
  message: string | null
  /** Where in the plugin's sources it arose, such as `src/main.ts:12:9`; null where nobody knows. */
  source: string | null
  hostCalls: Record<string, number>
  fetches: { host: string; outcome: string; bytes: number; cached: boolean }[]
  input: unknown
  result: unknown
  /** Whether something of `input` is missing or hidden, so that the call cannot be repeated exactly. */
  isInputCut: boolean
}

/** What is known of a plugin since `since`: the start of this server, unless it was forgotten for others in between. */
export interface PluginMetrics extends Numbers {
  pluginId: string
  key: string
  since: Date
  lastSuccessAt: Date | null
  lastFailureAt: Date | null
  linesKept: number
  /** Written too fast to be kept. */
  linesLeftOut: number
}

/** A page of log lines. `missed` are lines after the id that was asked for that are gone; `lastId` is that of the newest line. */
export interface LogPage {
  lines: LogLine[]
  missed: number
  lastId: number | null
}

/**
 * What plugins did, in the memory of this server: log lines, calls, numbers. All of it is bounded, for each plugin and in all, and credentials are
 * kept out of it. A restart begins it anew; failures alone are in the database.
 */
export interface PluginLogs {
  begin(call: CallBegun): CallRecord
  /** The last lines, or those after an id; the oldest first. `level` leaves out what is less. */
  lines(pluginId: string, page: { after?: number | null; limit: number; level?: LogLevel | undefined }): LogPage
  /**
   * Lines as they are written, beginning after an id, or with the next one. Nothing is kept for a reader that is slow: he misses lines, and is told
   * how many. Ends with the signal, and when the plugin is forgotten.
   * @throws unavailable when too many follow already
   */
  follow(pluginId: string, from: { after?: number | null; signal: AbortSignal }): AsyncIterable<LogLine>
  /** The last calls, the newest first. */
  calls(pluginId: string): RecordedCall[]
  /** One of them. */
  findCall(pluginId: string, callId: string): RecordedCall | null
  /** Of one plugin, or of all that did anything. */
  metrics(pluginId?: string): PluginMetrics[]
  forget(pluginId: string): void
}

const CALLS_KEPT = 50
/** Characters of an input and of a result, as JSON. */
const VALUE_LENGTH_MAX = 8_000
const MESSAGE_LENGTH_MAX = 1_000
/** A call may make as many. */
const FETCHES_KEPT = 40
/** Kinds of host calls that one call may be shown with; the server knows fewer. */
const KINDS_MAX = 32
/** What a recorded call costs beside its texts. */
const CALL_COST = 600
const FETCH_COST = 150
/** Plugins at a time; the one that was idle longest makes room for another. */
const PLUGINS_MAX = 128
/** Characters of lines and calls of all plugins. Where that is too little, the plugin that keeps most loses its oldest. */
const KEPT_LENGTH_MAX = 16 * 1024 * 1024
/** Each is an open connection. */
const FOLLOWERS_MAX = 32
/** What a follower takes at a time. */
const FOLLOWED_LINES = 100

/** Input and result lie as text: it takes less room than what it says. It may still say secrets that only look like ones. */
type KeptCall = Omit<RecordedCall, 'input' | 'result'> & { input: string; result: string }

interface Kept {
  pluginId: string
  key: string
  since: Date
  lines: Lines
  calls: KeptCall[]
  /** Characters of lines and of calls. */
  linesLength: number
  callsLength: number
  metrics: Metrics
  followers: number
  lastSuccessAt: Date | null
  lastFailureAt: Date | null
}

const lengthOf = (call: KeptCall): number =>
  call.input.length + call.result.length + (call.message?.length ?? 0) + call.fetches.length * FETCH_COST + CALL_COST

/** A value as it is kept: no longer than it may be, and without what is known to be secret. */
function keepable(value: unknown, length: number, secrets: readonly string[]): { text: string; cut: boolean } {
  if (length <= VALUE_LENGTH_MAX && secrets.length === 0) {
    const text = JSON.stringify(value)
    // Whoever said how long it is may have been wrong.
    if (text.length <= VALUE_LENGTH_MAX) return { text, cut: false }
  }
  const kept = redact(value, { lengthMax: VALUE_LENGTH_MAX, secrets, exactOnly: true })
  return { text: JSON.stringify(kept.value), cut: kept.cut }
}

/** Looking for secrets takes longer than many a call does: that is done for whoever looks at one. */
function shown(call: KeptCall): RecordedCall {
  const given = redact(JSON.parse(call.input), { lengthMax: VALUE_LENGTH_MAX })
  const answered = redact(JSON.parse(call.result), { lengthMax: VALUE_LENGTH_MAX })
  return { ...call, input: given.value, result: answered.value, isInputCut: call.isInputCut || given.cut }
}

/** @param options.now milliseconds since 1970 */
export function openPluginLogs({ now = Date.now }: { now?: () => number } = {}): PluginLogs {
  return new LogsInMemory(now)
}

class LogsInMemory implements PluginLogs {
  readonly #now: () => number
  /** The one that was used last stands last. */
  readonly #kept = new Map<string, Kept>()
  #keptLength = 0
  #followers = 0

  constructor(now: () => number) {
    this.#now = now
  }

  lines(pluginId: string, page: { after?: number | null; limit: number; level?: LogLevel | undefined }): LogPage {
    const found = this.#kept.get(pluginId)
    return found ? found.lines.list(page) : { lines: [], missed: 0, lastId: null }
  }

  follow(pluginId: string, { after = null, signal }: { after?: number | null; signal: AbortSignal }): AsyncIterable<LogLine> {
    if (this.#followers >= FOLLOWERS_MAX)
      refuse('unavailable', `${FOLLOWERS_MAX} already follow the logs of plugins; try again when one has left.`)
    const one = this.#kept.get(pluginId) ?? this.#keep(pluginId, '')
    return this.#followed(one, after ?? one.lines.list({ limit: 0 }).lastId, signal)
  }

  calls(pluginId: string): RecordedCall[] {
    return (this.#kept.get(pluginId)?.calls ?? []).map(shown).reverse()
  }

  findCall(pluginId: string, callId: string): RecordedCall | null {
    const found = this.#kept.get(pluginId)?.calls.find((one) => one.callId === callId)
    return found === undefined ? null : shown(found)
  }

  metrics(pluginId?: string): PluginMetrics[] {
    return (
      [...this.#kept.values()]
        // One that was only looked at did nothing.
        .filter((one) => one.key !== '' && (pluginId === undefined || one.pluginId === pluginId))
        .map((one) => ({
          ...{ pluginId: one.pluginId, key: one.key, since: one.since, ...one.metrics.read() },
          ...{ lastSuccessAt: one.lastSuccessAt, lastFailureAt: one.lastFailureAt },
          ...{ linesKept: one.lines.count(), linesLeftOut: one.lines.leftOut() },
        }))
    )
  }

  forget(pluginId: string): void {
    const one = this.#kept.get(pluginId)
    if (one) this.#forget(one)
  }

  begin(call: CallBegun): CallRecord {
    const kept = this.#keep(call.pluginId, call.key)
    kept.key = call.key
    return new RunningCall(call, kept, { now: this.#now, grow: (what, length) => this.#grow(kept, what, length) })
  }

  #forget(one: Kept): void {
    if (this.#kept.get(one.pluginId) !== one) return
    this.#kept.delete(one.pluginId)
    this.#keptLength -= one.linesLength + one.callsLength
    one.lines.close()
  }

  #keep(pluginId: string, key: string): Kept {
    const known = this.#kept.get(pluginId)
    if (known === undefined && this.#kept.size >= PLUGINS_MAX) {
      const all = [...this.#kept.values()]
      this.#forget(all.find(({ metrics, followers }) => !metrics.isRunning() && followers === 0) ?? (all[0] as Kept))
    }
    const one = known ?? {
      ...{ pluginId, key, since: new Date(this.#now()), lines: openLines(this.#now), calls: [], linesLength: 0, callsLength: 0 },
      ...{ metrics: openMetrics(), followers: 0, lastSuccessAt: null, lastFailureAt: null },
    }
    this.#kept.delete(pluginId)
    this.#kept.set(pluginId, one)
    return one
  }

  /** Counts what was kept or dropped, and drops of the plugin that keeps most what is too much. */
  #grow(one: Kept, what: 'linesLength' | 'callsLength', length: number): void {
    // Forgotten in between: it will never be looked at.
    if (this.#kept.get(one.pluginId) !== one) return
    one[what] += length
    this.#keptLength += length
    while (this.#keptLength > KEPT_LENGTH_MAX) {
      const most = [...this.#kept.values()].reduce((a, b) => (b.linesLength + b.callsLength > a.linesLength + a.callsLength ? b : a))
      const lines = most.linesLength >= most.callsLength
      const oldest = lines ? null : most.calls.shift()
      const freed = lines ? most.lines.dropOldest() : oldest ? lengthOf(oldest) : 0
      if (freed === 0) return
      most[lines ? 'linesLength' : 'callsLength'] -= freed
      this.#keptLength -= freed
    }
  }

  async *#followed(one: Kept, after: number, signal: AbortSignal): AsyncGenerator<LogLine> {
    this.#followers += 1
    one.followers += 1
    try {
      let at = after
      while (!signal.aborted) {
        const { lines, missed, lastId } = one.lines.list({ after: at, limit: FOLLOWED_LINES })
        if (missed > 0) yield missedLine(missed, lines[0]?.id ?? lastId + 1, this.#now())
        for (const line of lines) {
          if (signal.aborted) return
          yield line
          at = line.id
        }
        if (lines.length > 0) continue
        if (one.lines.isClosed()) return
        at = lastId
        await one.lines.changed(signal)
      }
    } finally {
      this.#followers -= 1
      one.followers -= 1
    }
  }
}

interface KeepingLogs {
  now: () => number
  /** Counts characters that were kept or dropped. */
  grow(what: 'linesLength' | 'callsLength', length: number): void
}

class RunningCall implements CallRecord {
  readonly #call: CallBegun
  readonly #kept: Kept
  readonly #logs: KeepingLogs
  readonly #secrets: readonly string[]
  readonly #startedAt: Date
  readonly #hostCalls = new Map<string, number>()
  readonly #fetches: RecordedCall['fetches'] = []
  #ended = false

  constructor(call: CallBegun, kept: Kept, logs: KeepingLogs) {
    this.#call = call
    this.#kept = kept
    this.#logs = logs
    this.#secrets = call.secrets ?? []
    this.#startedAt = new Date(logs.now())
    kept.metrics.began()
  }

  log(level: unknown, message: unknown, data?: unknown): void {
    const { callId, method } = this.#call
    this.#logs.grow('linesLength', this.#kept.lines.add({ level, message, data, callId, method, secrets: this.#secrets }))
  }

  hostCall(kind: string): void {
    this.#kept.metrics.hostCall(kind)
    if (this.#hostCalls.has(kind) || this.#hostCalls.size < KINDS_MAX) this.#hostCalls.set(kind, (this.#hostCalls.get(kind) ?? 0) + 1)
  }

  fetch(host: string, outcome: number | string, bytes: number, cached: boolean, waitedMs = 0): void {
    const request = { host: harmless(host.slice(0, 255)), outcome: String(outcome).slice(0, 40), bytes, cached }
    this.#kept.metrics.fetched({ ...request, waitedMs })
    if (this.#fetches.length < FETCHES_KEPT) this.#fetches.push(request)
  }

  end(outcome: CallEnded): void {
    if (this.#ended) return
    this.#ended = true
    const kept = this.#kept
    kept.metrics.ended(this.#call.method, outcome)
    kept[outcome.code === 'ok' ? 'lastSuccessAt' : 'lastFailureAt'] = new Date(this.#logs.now())
    const added = this.#toKept(outcome)
    kept.calls.push(added)
    const oldest = kept.calls.length > CALLS_KEPT ? kept.calls.shift() : undefined
    this.#logs.grow('callsLength', lengthOf(added) - (oldest ? lengthOf(oldest) : 0))
  }

  #toKept({ input, result, message, source = null, ...counted }: CallEnded): KeptCall {
    const { callId, method, version, userId } = this.#call
    const given = keepable(input ?? null, counted.inputLength, this.#secrets)
    const answered = keepable(result ?? null, counted.resultLength, this.#secrets)
    return {
      ...{ callId, method, version, userId, startedAt: this.#startedAt, ...counted },
      message: message === undefined ? null : harmless(hideSecrets(message.slice(0, MESSAGE_LENGTH_MAX), this.#secrets)),
      source,
      hostCalls: Object.fromEntries(this.#hostCalls),
      fetches: this.#fetches,
      input: given.text,
      result: answered.text,
      isInputCut: given.cut,
    }
  }
}
