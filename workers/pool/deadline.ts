import { BEGUN, monotonicMs } from './job.ts'

/** A thread starts in 0.2 s; on a busy machine it took several. */
const THREAD_START_MS = 30_000

/** The time limit of a job in a thread: ends `deadlineMs` after a thread began the job, or when no thread has begun it within `THREAD_START_MS`. */
export class Deadline {
  /** The thread writes its times here. */
  readonly times = new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT))
  readonly #deadlineMs: number
  readonly #requestedAt = monotonicMs()
  readonly #controller = new AbortController()
  #waitedMs = 0
  #waitingSince: number | null = null
  #timer: NodeJS.Timeout

  constructor(deadlineMs: number) {
    this.#deadlineMs = deadlineMs
    this.#timer = setTimeout(() => this.#check(), deadlineMs)
  }

  /** Aborts at the deadline. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether the thread has started the job. */
  get begun(): boolean {
    return this.times[BEGUN] !== 0
  }

  #check(): void {
    const now = monotonicMs()
    const begun = this.times[BEGUN] || null
    const paused = this.#waitedMs + (this.#waitingSince === null ? 0 : now - this.#waitingSince)
    const left = (begun ?? this.#requestedAt + THREAD_START_MS) + this.#deadlineMs + paused - now
    if (left <= 0) this.#controller.abort()
    else this.#timer = setTimeout(() => this.#check(), begun ? left : Math.min(left, this.#deadlineMs))
  }

  /** Does not count the time in which the thread only waits for `work`. */
  async except<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#waitingSince = monotonicMs()
    try {
      return await work()
    } finally {
      this.#waitedMs += monotonicMs() - this.#waitingSince
      this.#waitingSince = null
    }
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
