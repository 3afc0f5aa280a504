import { mayRead } from '#core/account/private-words.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Register } from '#core/foundation/register.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import { Lines, type LogLevel, type LogLine, missedLine } from '#plugins/logs/lines.ts'
import { type Counted, Metrics, type Numbers } from '#plugins/logs/metrics.ts'
import { hideSecrets, redact } from '#plugins/logs/text.ts'

/** The start of a call. */
export interface CallBegun {
  callId: string
  pluginId: string
  /** The plugin's own identifier, such as org.example.anilist. */
  key: string
  version: string
  method: string
  /** User for whom it runs. */
  userId: string | null
}

/** The end of a call: `code` is `ok` or its failure code, lengths are characters of JSON, `queueMs` is its time in the queue. */
interface CallEnded extends Counted {
  message?: string
  /** Place in the plugin's sources. */
  source?: string | null
  input?: unknown
  result?: unknown
}

interface FetchMore {
  /** The pattern of a granted host that covers this one: what others than its user read of a call; null when none does. */
  grant?: string | null
  /** For the rate limit of the host. */
  waitedMs?: number
}

/** A call as an administrator sees it, without secrets and with long texts cut. */
export interface RecordedCall extends Counted {
  callId: string
  method: string
  version: string
  userId: string | null
  startedAt: Date
  message: string | null
  /** Place in the plugin's sources, such as `src/main.ts:12:9`; null when unknown. */
  source: string | null
  hostCalls: Record<string, number>
  fetches: { host: string; grant: string | null; outcome: string; bytes: number; cached: boolean }[]
  input: unknown
  result: unknown
  /** Whether a part of `input` is missing or hidden, so that the call cannot be repeated exactly. */
  isInputCut: boolean
}

/** Metrics of a plugin since `since`: the start of this server, or the last time that the plugin was evicted. */
export interface PluginMetrics extends Numbers {
  pluginId: string
  key: string
  since: Date
  lastSuccessAt: Date | null
  lastFailureAt: Date | null
  linesKept: number
  /** Dropped because they came too fast. */
  linesLeftOut: number
}

/** A page of log lines. `missed` counts lines after the requested id that are no longer stored; `lastId` is the id of the newest line. */
interface LogPage {
  lines: LogLine[]
  missed: number
  lastId: number | null
}

const CALLS_KEPT = 50
/**
 * The host of a request in a call for a user, as everybody else may read it. A plugin chooses the name, also below a granted wildcard, and can put into it
 * what it has read.
 */
export const publicHost = ({ grant }: { grant: string | null }): string => grant ?? 'a host that is not granted'
/** The server's requests for pictures, which a page of a reader needs by the hundred, are counted apart: they must not displace calls. */
export const PICTURE_METHOD = 'picture'
/** Characters of an input or a result, as JSON. */
const VALUE_LENGTH_MAX = 8_000
const MESSAGE_LENGTH_MAX = 1_000
/** The maximum of a call. */
const FETCHES_KEPT = 40
/** A further host is always kept: those of five redirects of each request, and of addresses that were left out of the answer. */
const HOSTS_KEPT = 260
/** Kinds of host calls shown for one call; the server has fewer. */
const KINDS_MAX = 32
/** Memory for a recorded call besides its texts. */
const CALL_COST = 600
const FETCH_COST = 150
/** Plugins at a time; the least recently used is evicted. */
const PLUGINS_MAX = 128
/** Total characters of lines and calls. Beyond that, the plugin that uses most loses its oldest entries. */
const KEPT_LENGTH_MAX = 16 * 1024 * 1024
/** Each is an open connection. */
const FOLLOWERS_MAX = 32
/** Lines per batch of a follower. */
const FOLLOWED_LINES = 100

/** Input and result are stored as text, which takes less memory. They may still contain texts that look like secrets. */
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

/** A value for storage: cut to the limit. */
function keepable(value: unknown, length: number): { text: string; cut: boolean } {
  if (length <= VALUE_LENGTH_MAX) {
    const text = JSON.stringify(value)
    // The given length may be wrong.
    if (text.length <= VALUE_LENGTH_MAX) return { text, cut: false }
  }
  const kept = redact(value, { lengthMax: VALUE_LENGTH_MAX, hides: false })
  return { text: JSON.stringify(kept.value), cut: kept.cut }
}

/** Searching for possible secrets takes longer than many calls, so it happens only when somebody views the call. */
function callView(call: KeptCall): RecordedCall {
  const given = redact(JSON.parse(call.input), { lengthMax: VALUE_LENGTH_MAX })
  const answered = redact(JSON.parse(call.result), { lengthMax: VALUE_LENGTH_MAX })
  return { ...call, input: given.value, result: answered.value, isInputCut: call.isInputCut || given.cut }
}

/**
 * Activity of plugins, in the memory of this server: log lines, calls, metrics. All of it is bounded, per plugin and in total, and contains no
 * credentials. A restart empties it; only failures are in the database.
 */
export class PluginLogs {
  readonly #now: () => number
  /** The most recently used is last. */
  readonly #kept = new Register<Kept>()
  #keptLength = 0
  #followers = 0

  /** @param options.now milliseconds since 1970 */
  constructor({ now = Date.now }: { now?: () => number } = {}) {
    this.#now = now
  }

  /** The last lines, or those after an id; the oldest first. `level` leaves out lower levels. */
  lines(pluginId: string, page: { after?: number | null; limit: number; level?: LogLevel | undefined }): LogPage {
    const found = this.#kept.get(pluginId)
    return found ? found.lines.list(page) : { lines: [], missed: 0, lastId: null }
  }

  /**
   * Streams lines as they are written, starting after an id, or with the next one. Nothing is buffered for a slow client: it misses lines, and gets
   * a line with their number. Ends with the signal, and when the plugin is evicted.
   * @throws unavailable when there are too many followers
   */
  follow(pluginId: string, { after = null, signal }: { after?: number | null; signal: AbortSignal }): AsyncIterable<LogLine> {
    if (this.#followers >= FOLLOWERS_MAX)
      refuse('unavailable', `${FOLLOWERS_MAX} clients already follow plugin logs. Try again when one has disconnected.`)
    const one = this.#kept.get(pluginId) ?? this.#keep(pluginId, '')
    return this.#followed(one, after ?? one.lines.list({ limit: 0 }).lastId, signal)
  }

  /** The last calls, the newest first. */
  calls(pluginId: string): RecordedCall[] {
    return (this.#kept.get(pluginId)?.calls ?? []).map(callView).reverse()
  }

  /** One of them. */
  findCall(pluginId: string, callId: string): RecordedCall | null {
    const found = this.#kept.get(pluginId)?.calls.find((one) => one.callId === callId)
    return found === undefined ? null : callView(found)
  }

  /** Of one plugin, or of all with activity. */
  metrics(pluginId?: string): PluginMetrics[] {
    return (
      [...this.#kept.values()]
        // An entry without key was only viewed: the plugin had no activity.
        .filter((one) => one.key !== '' && (pluginId === undefined || one.pluginId === pluginId))
        .map((one) => ({
          pluginId: one.pluginId,
          key: one.key,
          since: one.since,
          ...one.metrics.read(),
          lastSuccessAt: one.lastSuccessAt,
          lastFailureAt: one.lastFailureAt,
          linesKept: one.lines.count(),
          linesLeftOut: one.lines.leftOut(),
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
    return new CallRecord(call, kept, { now: this.#now, grow: (what, length) => this.#grow(kept, what, length) })
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
      pluginId,
      key,
      since: new Date(this.#now()),
      lines: new Lines(this.#now),
      calls: [],
      linesLength: 0,
      callsLength: 0,
      metrics: new Metrics(),
      followers: 0,
      lastSuccessAt: null,
      lastFailureAt: null,
    }
    this.#kept.delete(pluginId)
    this.#kept.set(pluginId, one)
    return one
  }

  /** Counts stored or removed characters; beyond the limit, removes entries of the plugin that uses most. */
  #grow(one: Kept, what: 'linesLength' | 'callsLength', length: number): void {
    // The plugin was evicted meanwhile: nobody will see its entries.
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
  /** Counts stored or removed characters. */
  grow(what: 'linesLength' | 'callsLength', length: number): void
}

/** Records the events of a call. Never throws, whatever its arguments. */
export class CallRecord {
  readonly #call: CallBegun
  readonly #kept: Kept
  readonly #logs: KeepingLogs
  readonly #startedAt: Date
  readonly #hostCalls = new Register<number>()
  readonly #fetches: RecordedCall['fetches'] = []
  #ended = false

  constructor(call: CallBegun, kept: Kept, logs: KeepingLogs) {
    this.#call = call
    this.#kept = kept
    this.#logs = logs
    this.#startedAt = new Date(logs.now())
    kept.metrics.began()
  }

  /** Accepts arguments of any type from the guest. */
  log(level: unknown, message: unknown, data?: unknown): void {
    const { callId, method, userId } = this.#call
    this.#logs.grow('linesLength', this.#kept.lines.add({ level, message, data, callId, method, userId }))
  }

  /** @param kind a known kind, such as `storage.get` */
  hostCall(kind: string): void {
    this.#kept.metrics.hostCall(kind)
    if (this.#hostCalls.has(kind) || this.#hostCalls.size < KINDS_MAX) this.#hostCalls.set(kind, (this.#hostCalls.get(kind) ?? 0) + 1)
  }

  /** @param outcome status of the response, or the error code */
  fetch(host: string, outcome: number | string, bytes: number, cached: boolean, { grant = null, waitedMs = 0 }: FetchMore = {}): void {
    const request = { host: escapedText(host.slice(0, 255)), grant, outcome: String(outcome).slice(0, 40), bytes, cached }
    const shown = mayRead(this.#call.userId, null) ? request.host : publicHost(request)
    this.#kept.metrics.fetched({ host: shown, outcome: request.outcome, bytes, cached, waitedMs })
    const count = this.#fetches.length
    if (count < FETCHES_KEPT || (count < HOSTS_KEPT && !this.#fetches.some((one) => one.host === request.host))) this.#fetches.push(request)
  }

  /** Counts only the first time; later events belong to no call. */
  end(outcome: CallEnded): void {
    if (this.#ended) return
    this.#ended = true
    const kept = this.#kept
    kept.metrics.ended(this.#call.method, outcome)
    kept[outcome.code === 'ok' ? 'lastSuccessAt' : 'lastFailureAt'] = new Date(this.#logs.now())
    const added = this.#toStored(outcome)
    kept.calls.push(added)
    const isPicture = (call: KeptCall) => call.method === PICTURE_METHOD
    const alike = kept.calls.filter((call) => isPicture(call) === isPicture(added))
    const oldest = alike.length > CALLS_KEPT ? kept.calls.splice(kept.calls.indexOf(alike[0] as KeptCall), 1)[0] : undefined
    this.#logs.grow('callsLength', lengthOf(added) - (oldest ? lengthOf(oldest) : 0))
  }

  #toStored({ input, result, message, source = null, ...counted }: CallEnded): KeptCall {
    const { callId, method, version, userId } = this.#call
    const given = keepable(input ?? null, counted.inputLength)
    const answered = keepable(result ?? null, counted.resultLength)
    return {
      callId,
      method,
      version,
      userId,
      startedAt: this.#startedAt,
      ...counted,
      message: message === undefined ? null : escapedText(hideSecrets(message.slice(0, MESSAGE_LENGTH_MAX))),
      source,
      hostCalls: Object.fromEntries(this.#hostCalls),
      fetches: this.#fetches,
      input: given.text,
      result: answered.text,
      isInputCut: given.cut,
    }
  }
}
