import { cutBytes, harmless, hideSecrets, redact } from '#plugins/logs/text.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A line that a plugin wrote, or the server about the lines that are missing. */
export interface LogLine {
  /** Rises by one from line to line of a plugin, and never falls, not even when the server starts again. */
  id: number
  at: Date
  level: LogLevel
  /** One line, without control characters. */
  message: string
  /** JSON of what the plugin gave along, perhaps cut. */
  data: string | null
  /** Null where the server speaks. */
  callId: string | null
  method: string | null
}

/** What a guest says; of whatever types. */
export interface WrittenLine {
  level: unknown
  message: unknown
  data: unknown
  callId: string
  method: string
  secrets: readonly string[]
}

/** The last lines of a plugin. */
export interface Lines {
  /** Adds what a guest says, whatever it is. Answers how many characters it now keeps more or less than before. */
  add(line: WrittenLine): number
  /** Takes the oldest line away; answers its length, 0 when there is none. */
  dropOldest(): number
  /**
   * At most so many of what is kept: the last ones, or those that follow an id, the oldest first. An id that lies beyond the last one is of no run
   * of this server that is known; then everything counts as following it. `missed` are lines after that id that are gone.
   */
  list(page: { after?: number | null; limit: number; level?: LogLevel | undefined }): { lines: LogLine[]; missed: number; lastId: number }
  /** Resolves with the next line, with the end, or when nobody waits any more. */
  changed(signal: AbortSignal): Promise<void>
  count(): number
  /** Lines that were not kept because they came too fast. */
  leftOut(): number
  /** Wakes all who wait; nothing is added any more. */
  close(): void
  isClosed(): boolean
}

const LINES_KEPT = 2_000
/** Of message and data together. */
const LINE_BYTES_MAX = 2_048
/** What a line costs beside its texts. */
const LINE_COST = 150
/**
 * A plugin that works may write a burst of several calls at once; one that writes without end gets so many a second, which nobody can read, and
 * which cost the server nothing.
 */
const BURST = 1_000
const LINES_A_SECOND = 100
/** Data may be read so far before it is cut to the line. */
const DATA_LENGTH_MAX = 2_048
/** The sandbox sends no more for one line; what is longer is cut as the text that it is. */
const DATA_PARSED_LENGTH_MAX = 64 * 1024
/** Ids of a later run of the server are larger as long as no plugin writes a thousand lines in each millisecond of the one before. */
const IDS_A_MILLISECOND = 1_000

const OF_SERVER = { level: 'warn', data: null, callId: null, method: null } as const

/** What a reader is told in the place of lines that are gone. @param nextId of the line that comes after them */
export const missedLine = (missed: number, nextId: number, at: number): LogLine => ({
  id: nextId - 1,
  at: new Date(at),
  ...OF_SERVER,
  message: `${missed} lines are missing here: they were written faster than they were read.`,
})

/** Whether a line of one level is shown where lines below another are left out. */
export const isAtLeast = (level: LogLevel, least: LogLevel): boolean => LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least)

/** What came with a line, as far as there is room for it. @param data JSON as the sandbox sends it, or what somebody made who left it */
function readData(data: unknown, bytesMax: number, secrets: readonly string[]): string | null {
  if (data === undefined || data === null) return null
  const text = JSON.stringify(redact(readJson(data), { lengthMax: DATA_LENGTH_MAX, secrets }).value)
  return cutBytes(harmless(text), Math.max(0, bytesMax)) || null
}

function readJson(data: unknown): unknown {
  if (typeof data !== 'string' || data.length > DATA_PARSED_LENGTH_MAX) return data
  try {
    return JSON.parse(data)
  } catch {
    // Cut on its way.
    return data
  }
}

function readLine({ level, message, data, callId, method, secrets }: WrittenLine): Omit<LogLine, 'id' | 'at'> {
  const text = typeof message === 'string' ? message : (JSON.stringify(redact(message, { lengthMax: LINE_BYTES_MAX }).value) ?? '')
  const shown = cutBytes(harmless(hideSecrets(text.slice(0, LINE_BYTES_MAX * 2), secrets)), LINE_BYTES_MAX)
  return {
    level: LOG_LEVELS.find((one) => one === level) ?? 'debug',
    message: shown,
    data: readData(data, LINE_BYTES_MAX - Buffer.byteLength(shown), secrets),
    ...{ callId, method },
  }
}

const lengthOf = ({ message, data }: LogLine): number => message.length + (data?.length ?? 0) + LINE_COST

export function openLines(now: () => number): Lines {
  return new LastLines(now)
}

class LastLines implements Lines {
  readonly #now: () => number
  readonly #lines: LogLine[] = []
  readonly #waiting = new Set<() => void>()
  readonly #baseId: number
  #nextId: number
  #tokens = BURST
  #filledAt: number
  #leftOut = 0
  #told = 0
  #closed = false

  constructor(now: () => number) {
    this.#now = now
    this.#filledAt = now()
    this.#baseId = Math.floor(this.#filledAt) * IDS_A_MILLISECOND
    this.#nextId = this.#baseId
  }

  add(line: WrittenLine): number {
    if (this.#closed) return 0
    if (!this.#mayWrite()) {
      this.#leftOut += 1
      return 0
    }
    let grown = 0
    if (this.#leftOut > this.#told) {
      grown += this.#keep({ ...OF_SERVER, message: `${this.#leftOut - this.#told} lines were left out: the plugin wrote them too fast.` })
      this.#told = this.#leftOut
    }
    grown += this.#keep(readLine(line))
    this.#wake()
    return grown
  }

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

  leftOut(): number {
    return this.#leftOut
  }

  close(): void {
    this.#closed = true
    this.#wake()
  }

  isClosed(): boolean {
    return this.#closed
  }

  dropOldest(): number {
    const oldest = this.#lines.shift()
    return oldest ? lengthOf(oldest) : 0
  }

  #mayWrite(): boolean {
    const at = this.#now()
    this.#tokens = Math.min(BURST, this.#tokens + (Math.max(0, at - this.#filledAt) / 1000) * LINES_A_SECOND)
    this.#filledAt = at
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
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
