import { type Analysis, type AnalysisRequest, type Analyze, SMALL_FILE_BYTES_MAX } from '#core/fields/analysis.ts'
import { formatOfName } from '#core/fields/book-format.ts'
import type { Semaphore } from '#core/foundation/semaphore.ts'

/** Of one job: the result of the first waits for the last. */
const FILES_MAX = 16
/** Small files take milliseconds. If they take longer, each is analyzed by itself, with its own deadline. */
const TOGETHER_MS_MAX = 5_000

interface Options {
  /** Each job takes one. */
  places: Semaphore
  /** Analyzes one file, which has a place. */
  alone: Analyze
  /** Analyzes several in one thread; null or nothing for those that must be analyzed by themselves. `more`: as many others wait. */
  together(requests: readonly AnalysisRequest[], signal: AbortSignal, more: boolean): Promise<readonly (Analysis | null)[]>
}

interface Waiting {
  request: AnalysisRequest
  signal: AbortSignal | undefined
  isOver: boolean
  end(outcome: Promise<Analysis>): void
}

/** Covers of the other formats are usually drawn in another process. */
export const isSmallFile = ({ path, bytes = Number.POSITIVE_INFINITY }: AnalysisRequest): boolean =>
  bytes <= SMALL_FILE_BYTES_MAX && ['cbz', 'epub'].includes(formatOfName(path) ?? '')

/**
 * Analyzes small files that wait at the same time in one job of a thread. If the thread dies, or takes too long, nothing is said about any of them: each is
 * analyzed by itself, as every other file.
 */
export class SmallFiles {
  readonly #options: Options
  readonly #waiting = new Set<Waiting>()
  #isAsking = false

  constructor(options: Options) {
    this.#options = options
  }

  async analyze(request: AnalysisRequest, signal?: AbortSignal): Promise<Analysis> {
    signal?.throwIfAborted()
    return await new Promise<Analysis>((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(one)
        one.end(Promise.reject(signal?.reason))
      }
      const end = (outcome: Promise<Analysis>) => {
        one.isOver = true
        signal?.removeEventListener('abort', giveUp)
        outcome.then(resolve, reject)
      }
      const one: Waiting = { request, signal, isOver: false, end }
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#waiting.add(one)
      this.#ask()
    })
  }

  /** Waits for a place; all files that wait by then share it. */
  #ask(): void {
    if (this.#isAsking || this.#waiting.size === 0) return
    this.#isAsking = true
    void this.#options.places.run(async () => {
      this.#isAsking = false
      const some = [...this.#waiting].slice(0, FILES_MAX)
      for (const one of some) this.#waiting.delete(one)
      this.#ask()
      const [first] = some
      if (first === undefined) return
      if (some.length === 1) await this.#alone(first)
      else await this.#together(some)
    })
  }

  async #alone(one: Waiting): Promise<void> {
    if (one.isOver) return
    const { request, signal } = one
    const outcome = this.#options.alone(request, { ...(signal && { signal }) })
    one.end(outcome)
    await outcome.catch(() => {})
  }

  async #together(some: readonly Waiting[]): Promise<void> {
    const results = await this.#attempt(some)
    for (const [index, one] of some.entries()) {
      const result = results[index]
      if (one.isOver) continue
      if (result) one.end(Promise.resolve(result))
      else void this.#options.places.run(() => this.#alone(one))
    }
  }

  /** Ends the thread only when nobody waits for any of the results, or when it takes too long. */
  async #attempt(some: readonly Waiting[]): Promise<readonly (Analysis | null)[]> {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), TOGETHER_MS_MAX)
    const check = () => {
      if (some.every(({ signal }) => signal?.aborted)) controller.abort()
    }
    for (const { signal } of some) signal?.addEventListener('abort', check)
    try {
      return await this.#options.together(
        some.map(({ request }) => request),
        controller.signal,
        this.#waiting.size >= FILES_MAX,
      )
    } catch {
      return []
    } finally {
      clearTimeout(timer)
      for (const { signal } of some) signal?.removeEventListener('abort', check)
    }
  }
}
