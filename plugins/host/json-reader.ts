import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { JsonJob, JsonOutcome } from '#plugins/host/json-job.ts'
import { readResult } from '#plugins/host/results.ts'
import { jsonExcess } from '#plugins/packages/json-bounds.ts'
import { type CodePlace, findSource, inBundle, type StoredMap } from '#plugins/packages/source-map.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import { JSON_BOUNDS, JsonText, MAIN_LENGTH_MAX } from '#plugins/runtime/guest-text.ts'

/** Parses what plugins send: short texts in place, long ones in a separate thread, so that none blocks the server. */
export interface JsonReader {
  /**
   * The answer of a method, checked against its schema.
   * @param onLeftOut receives the number of list items that were invalid and left out; see results.ts
   * @throws GuestError invalid_result
   */
  readResult(method: string, text: string, onLeftOut?: (what: string) => void): Promise<unknown>
  /** The payload of a host call of more than 64 K characters; the value of `storage.set` stays text. @throws GuestError invalid_argument */
  readLarge(wanted: string, text: string): Promise<unknown>
  /** Looks up places in a stored source map: see findSource. Never fails. */
  findSource(map: string | null, places: readonly CodePlace[]): Promise<string | null>
  close(): void
}

/** Parsing a map of this size takes at most 5 ms; the largest takes half a second. */
const MAIN_MAP_LENGTH_MAX = 32 * 1024
/** How long an answer waits for its source line; if no thread starts within that time, the place in the bundle is used. */
const SOURCE_MS_MAX = 5_000
/** The largest texts take a fifth of a second; a job beyond this limit, even on the slowest machine, will not end. */
const JOB_MS_MAX = 30_000
/** A thread starts in 0.6 s; on a busy machine it took ten. */
const START_MS_MAX = 60_000
/** A thread takes half a second to start, and 20 MB. */
const IDLE_MS = 30_000
/** Queued texts, 2.6 M characters each at most; more come from plugins that a hundred users call at once, or from a flood. */
const QUEUE_MAX = 64
const MEMORY_MB_MAX = 192

interface Waiting {
  job: JsonJob
  resolve: (outcome: JsonOutcome) => void
}

export function openJsonReader(): JsonReader {
  return new ThreadReader()
}

class ThreadReader implements JsonReader {
  readonly #queue: Waiting[] = []
  #thread: Worker | null = null
  #current: Waiting | null = null
  #deadline: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined
  /** Whether the thread has loaded its own code. */
  #isReady = false
  #isClosed = false
  /** The last lookup of a line. Lookups run one by one: many failures then delay other answers by at most one lookup. */
  #finding: Promise<unknown> = Promise.resolve()

  async readResult(method: string, text: string, onLeftOut?: (what: string) => void): Promise<unknown> {
    if (text.length <= MAIN_LENGTH_MAX) {
      const excess = jsonExcess(text, JSON_BOUNDS)
      if (excess !== null) throw wrongResult(method, excess)
      return readResult(method, text, onLeftOut)
    }
    const outcome = await this.#readBeside({ kind: 'result', method, text, leavesOut: onLeftOut !== undefined })
    if ('wrong' in outcome) throw new GuestError('invalid_result', outcome.wrong)
    if ('refused' in outcome) throw wrongResult(method, outcome.refused)
    if (outcome.leftOut !== undefined) onLeftOut?.(outcome.leftOut)
    return JSON.parse(outcome.json) as unknown
  }

  async readLarge(wanted: string, text: string): Promise<unknown> {
    const outcome = await this.#readBeside({ kind: 'request', wanted, text })
    if (!('json' in outcome)) {
      const why = 'wrong' in outcome ? outcome.wrong : outcome.refused
      throw new GuestError('thrown', `The server cannot read this value: ${why}.`, 'invalid_argument')
    }
    const payload = JSON.parse(outcome.json) as Record<string, unknown>
    return outcome.value === undefined ? payload : { ...payload, value: new JsonText(outcome.value) }
  }

  async findSource(map: string | null, places: readonly CodePlace[]): Promise<string | null> {
    if (map === null || places.length === 0) return inBundle(places)
    if (map.length <= MAIN_MAP_LENGTH_MAX) return findSource(JSON.parse(map) as StoredMap, places)
    const waited = new AbortController()
    const tooLong = sleep(SOURCE_MS_MAX, null, { signal: waited.signal, ref: false }).catch(() => null)
    const work = this.#finding.then(() => (waited.signal.aborted ? null : this.#readBeside({ kind: 'source', text: map, places })))
    this.#finding = work
    const outcome = await Promise.race([work, tooLong])
    waited.abort()
    return outcome !== null && 'json' in outcome ? (JSON.parse(outcome.json) as string | null) : inBundle(places)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#idle)
    clearTimeout(this.#deadline)
    this.#endThread()
    for (const one of [this.#current, ...this.#queue.splice(0)]) one?.resolve({ refused: 'the server is stopping' })
    this.#current = null
  }

  #settle(outcome: JsonOutcome): void {
    clearTimeout(this.#deadline)
    const done = this.#current
    this.#current = null
    done?.resolve(outcome)
    this.#next()
  }

  /** The current job is not retried in another thread: it would end that too. */
  #giveUp(of: Worker, refused: string): void {
    if (this.#thread !== of) return
    this.#thread = null
    void of.terminate()
    this.#settle({ refused })
  }

  #setDeadline(of: Worker, ms: number): void {
    clearTimeout(this.#deadline)
    this.#deadline = setTimeout(() => this.#giveUp(of, 'parsing it took too long'), ms)
  }

  #start(): Worker {
    this.#isReady = false
    const started = new Worker(new URL('./json-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX, maxYoungGenerationSizeMb: 16 },
    })
    started.on('message', (said: JsonOutcome | 'ready') => {
      if (this.#thread !== started) return
      if (said !== 'ready') return this.#settle(said)
      this.#isReady = true
      if (this.#current !== null) this.#setDeadline(started, JOB_MS_MAX)
    })
    started.on('error', () => this.#giveUp(started, 'parsing it needs too much memory'))
    started.on('exit', () => this.#giveUp(started, 'it could not be parsed'))
    return started
  }

  #next(): void {
    clearTimeout(this.#idle)
    if (this.#current !== null) return
    this.#current = this.#queue.shift() ?? null
    if (this.#current === null) {
      this.#thread?.unref()
      this.#idle = setTimeout(() => this.#endThread(), IDLE_MS).unref()
      return
    }
    const at = this.#thread ?? this.#start()
    this.#thread = at
    at.ref()
    at.postMessage(this.#current.job)
    this.#setDeadline(at, this.#isReady ? JOB_MS_MAX : START_MS_MAX)
  }

  #endThread(): void {
    const ended = this.#thread
    this.#thread = null
    void ended?.terminate()
  }

  #readBeside(job: JsonJob): Promise<JsonOutcome> {
    return new Promise((resolve) => {
      if (this.#isClosed) return resolve({ refused: 'the server is stopping' })
      if (this.#queue.length >= QUEUE_MAX) return resolve({ refused: `${QUEUE_MAX} others are already queued` })
      this.#queue.push({ job, resolve })
      this.#next()
    })
  }
}

const wrongResult = (method: string, why: string) =>
  new GuestError('invalid_result', `The plugin's ${method} returned an invalid answer: ${why}.`)
