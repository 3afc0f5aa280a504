import { setTimeout as sleep } from 'node:timers/promises'
import { ThreadHost, type ThreadLoss, ThreadLost } from '#core/foundation/thread-host.ts'
import type { JsonJob, JsonOutcome } from '#plugins/host/json-job.ts'
import { readResult } from '#plugins/host/results.ts'
import { jsonExcess } from '#plugins/packages/json-bounds.ts'
import { type CodePlaces, findSource, type SourcePlaces, type StoredMap } from '#plugins/packages/source-map.ts'
import { GuestError, refuseGuest } from '#plugins/runtime/guest-error.ts'
import { JSON_BOUNDS, JsonText, MAIN_LENGTH_MAX } from '#plugins/runtime/guest-text.ts'

/** Parsing a map of this size takes at most 5 ms; the largest takes half a second. */
const MAIN_MAP_LENGTH_MAX = 32 * 1024
/** How long an answer waits for its source line; if no thread starts within that time, the place in the bundle is used. */
const SOURCE_MS_MAX = 5_000
/** Queued texts, 2.6 M characters each at most; more come from plugins that a hundred users call at once, or from a flood. */
const QUEUE_MAX = 64

/** As a clause that completes a sentence. */
const LOSSES: Record<ThreadLoss, string> = {
  deadline: 'parsing it took too long',
  memory: 'parsing it needs too much memory',
  crash: 'it could not be parsed',
  closed: 'the server is stopping',
  full: `${QUEUE_MAX} others are already queued`,
}

/** Parses what plugins send: short texts in place, long ones in a separate thread, so that none blocks the server. */
export class JsonReader {
  readonly #thread = new ThreadHost<JsonJob, JsonOutcome>({
    program: new URL('./json-thread.ts', import.meta.url),
    memoryMbMax: 192,
    youngMbMax: 16,
    // A thread takes half a second to start, and 20 MB.
    idleMs: 30_000,
    // The largest texts take a fifth of a second; a job beyond this limit, even on the slowest machine, will not end.
    jobMsMax: 30_000,
    queueMax: QUEUE_MAX,
  })
  /** The last lookup of a line. Lookups run one by one: many failures then delay other answers by at most one lookup. */
  #finding: Promise<unknown> = Promise.resolve()

  /**
   * The answer of a method, checked against its schema.
   * @param onLeftOut receives the number of list items that were invalid and left out; see results.ts
   * @throws GuestError invalid_result
   */
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
    return JSON.parse(outcome.json)
  }

  /** The payload of a host call of more than 64 K characters; the value of `storage.set` stays text. @throws GuestError invalid_argument */
  async readLarge(wanted: string, text: string): Promise<unknown> {
    const outcome = await this.#readBeside({ kind: 'request', wanted, text })
    if (!('json' in outcome)) {
      const why = 'wrong' in outcome ? outcome.wrong : outcome.refused
      refuseGuest('invalid_argument', `The server cannot read this value: ${why}.`)
    }
    const payload = JSON.parse(outcome.json) as Record<string, unknown>
    return outcome.value === undefined ? payload : { ...payload, value: new JsonText(outcome.value) }
  }

  /** Looks up places in a stored source map: see findSource. Never fails. */
  async findSource(map: string | null, given: CodePlaces): Promise<SourcePlaces> {
    // An error that is sent to a thread loses its members.
    const places = { places: given.places, shares: given.shares }
    if (map === null || (given.places.length === 0 && given.shares.length === 0)) return findSource(null, places)
    if (map.length <= MAIN_MAP_LENGTH_MAX) return findSource(JSON.parse(map) as StoredMap, places)
    const waited = new AbortController()
    const tooLong = sleep(SOURCE_MS_MAX, null, { signal: waited.signal, ref: false }).catch(() => null)
    const work = this.#finding.then(() => (waited.signal.aborted ? null : this.#readBeside({ kind: 'source', text: map, places })))
    this.#finding = work
    const outcome = await Promise.race([work, tooLong])
    waited.abort()
    return outcome !== null && 'json' in outcome ? (JSON.parse(outcome.json) as SourcePlaces) : findSource(null, places)
  }

  close(): void {
    void this.#thread.close()
  }

  async #readBeside(job: JsonJob): Promise<JsonOutcome> {
    return await this.#thread.run(job).catch((error: unknown) => {
      if (error instanceof ThreadLost) return { refused: LOSSES[error.reason] }
      throw error
    })
  }
}

const wrongResult = (method: string, why: string) =>
  new GuestError('invalid_result', `The plugin's ${method} returned an invalid answer: ${why}.`)
