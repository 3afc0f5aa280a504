import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { JsonJob, JsonOutcome } from '#plugins/host/json-job.ts'
import { readResult } from '#plugins/host/results.ts'
import { jsonExcess } from '#plugins/packages/json-bounds.ts'
import { type CodePlace, findSource, inBundle, type KeptMap } from '#plugins/packages/source-map.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'
import { JSON_BOUNDS, JsonText, MAIN_LENGTH_MAX } from '#plugins/runtime/guest-text.ts'

/** Reads what plugins send: short texts at once, long ones in a thread beside, so that none holds up the server. */
export interface JsonReader {
  /**
   * The answer of a method, as its schema knows it.
   * @param onLeftOut told how many items of a list did not fit and were left out; see results.ts
   * @throws GuestError invalid_result
   */
  readResult(method: string, text: string, onLeftOut?: (what: string) => void): Promise<unknown>
  /** The payload of a request of more than 64 K characters; the value of `storage.set` stays text. @throws GuestError invalid_argument */
  readLarge(wanted: string, text: string): Promise<unknown>
  /** Where something stands in the sources, by a source map as it is kept: see findSource. Never fails. */
  findSource(map: string | null, places: readonly CodePlace[]): Promise<string | null>
  close(): void
}

/** A source map of these is read in 5 ms at most; the largest takes half a second. */
const MAIN_MAP_LENGTH_MAX = 32 * 1024
/** So long an answer waits for the line that it names; on a machine that starts no thread within that, the place in the bundle has to do. */
const SOURCE_MS_MAX = 5_000
/** The largest texts take a fifth of a second there; what takes longer than this on the slowest machine does not end. */
const JOB_MS_MAX = 30_000
/** A thread starts in 0.6 s; on a machine that is busy with everything at once it has been seen to take ten. */
const START_MS_MAX = 60_000
/** A thread costs half a second to start and 20 MB. */
const IDLE_MS = 30_000
/** Waiting texts, 2.6 M characters each at most; more come from plugins that a hundred people call at once, or from one that floods. */
const QUEUE_MAX = 64
const MEMORY_MB_MAX = 192

interface Waiting {
  job: JsonJob
  resolve: (outcome: JsonOutcome) => void
}

export function openJsonReader(): JsonReader {
  const queue: Waiting[] = []
  let thread: Worker | null = null
  let current: Waiting | null = null
  let deadline: NodeJS.Timeout | undefined
  let idle: NodeJS.Timeout | undefined
  /** Whether the thread has read its own code. */
  let isReady = false
  let isClosed = false

  const settle = (outcome: JsonOutcome): void => {
    clearTimeout(deadline)
    const done = current
    current = null
    done?.resolve(outcome)
    next()
  }

  /** Whatever it was at is not worth another thread: it would end that too. */
  const giveUp = (of: Worker, refused: string): void => {
    if (thread !== of) return
    thread = null
    void of.terminate()
    settle({ refused })
  }

  const setDeadline = (of: Worker, ms: number): void => {
    clearTimeout(deadline)
    deadline = setTimeout(giveUp, ms, of, 'it takes too long to be read')
  }

  const start = (): Worker => {
    isReady = false
    const started = new Worker(new URL('./json-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX, maxYoungGenerationSizeMb: 16 },
    })
    started.on('message', (said: JsonOutcome | 'ready') => {
      if (thread !== started) return
      if (said !== 'ready') return settle(said)
      isReady = true
      if (current !== null) setDeadline(started, JOB_MS_MAX)
    })
    started.on('error', () => giveUp(started, 'it needs too much memory to be read'))
    started.on('exit', () => giveUp(started, 'it could not be read'))
    return started
  }

  const next = (): void => {
    clearTimeout(idle)
    if (current !== null) return
    current = queue.shift() ?? null
    if (current === null) {
      thread?.unref()
      idle = setTimeout(endThread, IDLE_MS).unref()
      return
    }
    const at = thread ?? start()
    thread = at
    at.ref()
    at.postMessage(current.job)
    setDeadline(at, isReady ? JOB_MS_MAX : START_MS_MAX)
  }

  const endThread = (): void => {
    const ended = thread
    thread = null
    void ended?.terminate()
  }

  /** The last search for a line. They come one by one: failures, of which there may be many, keep answers waiting for one of them at most. */
  let finding: Promise<unknown> = Promise.resolve()

  const readBeside = (job: JsonJob): Promise<JsonOutcome> =>
    new Promise((resolve) => {
      if (isClosed) return resolve({ refused: 'the server is stopping' })
      if (queue.length >= QUEUE_MAX) return resolve({ refused: `${QUEUE_MAX} others wait to be read` })
      queue.push({ job, resolve })
      next()
    })

  return {
    async readResult(method, text, onLeftOut) {
      if (text.length <= MAIN_LENGTH_MAX) {
        const excess = jsonExcess(text, JSON_BOUNDS)
        if (excess !== null) throw wrongResult(method, excess)
        return readResult(method, text, onLeftOut)
      }
      const outcome = await readBeside({ kind: 'result', method, text, leavesOut: onLeftOut !== undefined })
      if ('wrong' in outcome) throw new GuestError('invalid_result', outcome.wrong)
      if ('refused' in outcome) throw wrongResult(method, outcome.refused)
      if (outcome.leftOut !== undefined) onLeftOut?.(outcome.leftOut)
      return JSON.parse(outcome.json) as unknown
    },
    async readLarge(wanted, text) {
      const outcome = await readBeside({ kind: 'request', wanted, text })
      if (!('json' in outcome)) {
        const why = 'wrong' in outcome ? outcome.wrong : outcome.refused
        throw new GuestError('thrown', `What was sent to the server cannot be used: ${why}.`, 'invalid_argument')
      }
      const payload = JSON.parse(outcome.json) as Record<string, unknown>
      return outcome.value === undefined ? payload : { ...payload, value: new JsonText(outcome.value) }
    },
    async findSource(map, places) {
      if (map === null || places.length === 0) return inBundle(places)
      if (map.length <= MAIN_MAP_LENGTH_MAX) return findSource(JSON.parse(map) as KeptMap, places)
      const waited = new AbortController()
      const tooLong = sleep(SOURCE_MS_MAX, null, { signal: waited.signal, ref: false }).catch(() => null)
      const work = finding.then(() => (waited.signal.aborted ? null : readBeside({ kind: 'source', text: map, places })))
      finding = work
      const outcome = await Promise.race([work, tooLong])
      waited.abort()
      return outcome !== null && 'json' in outcome ? (JSON.parse(outcome.json) as string | null) : inBundle(places)
    },
    close() {
      isClosed = true
      clearTimeout(idle)
      clearTimeout(deadline)
      endThread()
      for (const one of [current, ...queue.splice(0)]) one?.resolve({ refused: 'the server is stopping' })
      current = null
    },
  }
}

const wrongResult = (method: string, why: string) =>
  new GuestError('invalid_result', `The plugin's ${method} answered what it may not: ${why}.`)
