import { BEGUN, monotonicMs, openTimes } from './job.ts'

/** A thread starts in 0.2 s; on a busy machine it took several. */
const THREAD_START_MS = 30_000

/** The time limit of a job in a thread. */
export interface Deadline {
  /** The thread writes its times here. */
  times: Float64Array
  /** Aborts at the deadline. */
  signal: AbortSignal
  /** Does not count the time in which the thread only waits for `work`. */
  except<Result>(work: () => Promise<Result>): Promise<Result>
  /** Whether the thread has started the job. */
  begun(): boolean
  end(): void
}

/** Aborts `deadlineMs` after a thread began the job, or when no thread has begun it within `THREAD_START_MS`. */
export function openDeadline(deadlineMs: number): Deadline {
  const controller = new AbortController()
  const times = openTimes()
  const requestedAt = monotonicMs()
  let waited = 0
  let waitingSince: number | null = null
  let timer = setTimeout(check, deadlineMs)

  function check(): void {
    const now = monotonicMs()
    const begun = times[BEGUN] || null
    const paused = waited + (waitingSince === null ? 0 : now - waitingSince)
    const left = (begun ?? requestedAt + THREAD_START_MS) + deadlineMs + paused - now
    if (left <= 0) controller.abort()
    else timer = setTimeout(check, begun ? left : Math.min(left, deadlineMs))
  }

  return {
    times,
    signal: controller.signal,
    begun: () => times[BEGUN] !== 0,
    async except(work) {
      waitingSince = monotonicMs()
      try {
        return await work()
      } finally {
        waited += monotonicMs() - waitingSince
        waitingSince = null
      }
    },
    end: () => clearTimeout(timer),
  }
}
