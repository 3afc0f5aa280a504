import { parseJson } from '#core/foundation/plain-object.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import { TokenBucket } from '#core/foundation/token-bucket.ts'
import { cutBytes, hideSecrets, redact } from '#plugins/logs/text.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A line from a plugin, or from the server about missing lines. */
export interface LogLine {
  /** Increases by one with each line of a plugin, and never decreases, even across restarts. */
  id: number
  at: Date
  level: LogLevel
  /** One line, without control characters. */
  message: string
  /** The plugin's data as JSON, perhaps cut. */
  data: string | null
  /** Null for lines of the server. */
  callId: string | null
  method: string | null
  /** The user for whom the plugin ran, who alone may read what it wrote; null for none. */
  userId: string | null
}

/** A line from a guest; its members may have any type. */
interface WrittenLine {
  level: unknown
  message: unknown
  data: unknown
  callId: string
  method: string
  userId: string | null
}

const LINES_KEPT = 2_000
/** For message and data together. */
const LINE_BYTES_MAX = 2_048
/** Memory for a line besides its texts. */
const LINE_COST = 150
/**
 * A healthy plugin may write the lines of several calls in a burst; a plugin that writes endlessly gets this many a second, which nobody can read
 * but which cost the server nothing.
 */
const PACE = { burst: 1_000, perSecond: 100 }
/** Data is read up to this length before it is cut to the line. */
const DATA_LENGTH_MAX = 2_048
/** The sandbox sends at most this much for one line; longer data is cut as text. */
const DATA_PARSED_LENGTH_MAX = 64 * 1024
/** Ids of a later run of the server are larger, unless a plugin writes a thousand lines in each millisecond of the earlier run. */
const IDS_A_MILLISECOND = 1_000

const OF_SERVER = { level: 'warn', data: null, callId: null, method: null, userId: null } as const

/** A line that replaces missing ones. @param nextId of the line after them */
export const missedLine = (missed: number, nextId: number, at: number): LogLine => ({
  id: nextId - 1,
  at: new Date(at),
  ...OF_SERVER,
  message: `${missed} lines are missing here: the plugin wrote them faster than the client read them.`,
})

/** Whether a line of this level is shown when lines below another level are left out. */
export const isAtLeast = (level: LogLevel, least: LogLevel): boolean => LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least)

/** The data of a line, cut to the available space. @param data JSON from the sandbox, or arbitrary text from code that escaped it */
function readData(data: unknown, bytesMax: number): string | null {
  if (data === undefined || data === null) return null
  const text = JSON.stringify(redact(readJson(data), { lengthMax: DATA_LENGTH_MAX }).value)
  return cutBytes(escapedText(text), Math.max(0, bytesMax)) || null
}

function readJson(data: unknown): unknown {
  if (typeof data !== 'string' || data.length > DATA_PARSED_LENGTH_MAX) return data
  const value = parseJson(data)
  // JSON that was cut on its way is kept as text.
  return value === undefined ? data : value
}

function readLine({ level, message, data, callId, method, userId }: WrittenLine): Omit<LogLine, 'id' | 'at'> {
  const text = typeof message === 'string' ? message : (JSON.stringify(redact(message, { lengthMax: LINE_BYTES_MAX }).value) ?? '')
  const visible = cutBytes(escapedText(hideSecrets(text.slice(0, LINE_BYTES_MAX * 2))), LINE_BYTES_MAX)
  return {
    level: LOG_LEVELS.find((one) => one === level) ?? 'debug',
    message: visible,
    data: readData(data, LINE_BYTES_MAX - Buffer.byteLength(visible)),
    callId,
    method,
    userId,
  }
}

const lengthOf = ({ message, data }: LogLine): number => message.length + (data?.length ?? 0) + LINE_COST

/** The last lines of a plugin. */
export class Lines {
  readonly #now: () => number
  readonly #lines: LogLine[] = []
  readonly #waiting = new Set<() => void>()
  readonly #baseId: number
  #nextId: number
  readonly #bucket: TokenBucket
  #leftOut = 0
  #reported = 0
  #closed = false

  constructor(now: () => number) {
    this.#now = now
    const begunAt = now()
    this.#bucket = new TokenBucket(PACE, begunAt / 1000)
    this.#baseId = Math.floor(begunAt) * IDS_A_MILLISECOND
    this.#nextId = this.#baseId
  }

  /** Adds a line from a guest, of any type. Returns the change of the stored length in characters. */
  add(line: WrittenLine): number {
    if (this.#closed) return 0
    this.#bucket.refill(PACE, this.#now() / 1000)
    if (!this.#bucket.take()) {
      this.#leftOut += 1
      return 0
    }
    let grown = 0
    if (this.#leftOut > this.#reported) {
      grown += this.#keep({
        ...OF_SERVER,
        message: `${this.#leftOut - this.#reported} lines were dropped: the plugin wrote them too fast.`,
      })
      this.#reported = this.#leftOut
    }
    grown += this.#keep(readLine(line))
    this.#wake()
    return grown
  }

  /**
   * Stored lines up to a limit: the last ones, or those after an id, the oldest first. An id beyond the last one comes from an unknown run of this
   * server; then every line counts as following it. `missed` counts lines after that id that are no longer stored.
   */
  list({ after = null, limit, level }: { after?: number | null; limit: number; level?: LogLevel | undefined }): {
    lines: LogLine[]
    missed: number
    lastId: number
  } {
    const lastId = this.#nextId - 1
    const first = this.#lines[0]?.id ?? this.#nextId
    const from = after === null || after > lastId ? first : Math.max(after + 1, first)
    const wanted = this.#lines.slice(from - first).filter((line) => level === undefined || isAtLeast(line.level, level))
    return {
      lines: after === null ? wanted.slice(Math.max(0, wanted.length - limit)) : wanted.slice(0, limit),
      missed: after === null || after > lastId ? 0 : Math.max(0, first - Math.max(after + 1, this.#baseId)),
      lastId,
    }
  }

  /** Resolves with the next line, on close, or when the signal aborts. */
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (this.#closed || signal.aborted) return resolve()
      const done = (): void => {
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#waiting.add(done)
      signal.addEventListener('abort', done)
    })
  }

  count(): number {
    return this.#lines.length
  }

  /** Lines that were dropped because they came too fast. */
  leftOut(): number {
    return this.#leftOut
  }

  /** Wakes everybody who waits; nothing is added afterwards. */
  close(): void {
    this.#closed = true
    this.#wake()
  }

  isClosed(): boolean {
    return this.#closed
  }

  /** Removes the oldest line; returns its length, 0 when there is none. */
  dropOldest(): number {
    const oldest = this.#lines.shift()
    return oldest ? lengthOf(oldest) : 0
  }

  #keep(line: Omit<LogLine, 'id' | 'at'>): number {
    const kept = { id: this.#nextId++, at: new Date(this.#now()), ...line }
    this.#lines.push(kept)
    return lengthOf(kept) - (this.#lines.length > LINES_KEPT ? this.dropOldest() : 0)
  }

  #wake(): void {
    for (const one of [...this.#waiting]) one()
  }
}
