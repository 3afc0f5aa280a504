import { BEGUN, monotonicMs, openTimes } from './job.ts'

/** A thread starts in 0.2 s; on a machine that is busy with everything at once it has been seen to take several. */
const THREAD_START_MS = 30_000

/** The time that a thread has for an job. */
export interface Deadline {
  /** For the thread to write into. */
  times: Float64Array
  /** Aborts when the time is over. */
  signal: AbortSignal
  /** Time in which the thread only waits for `work` does not count. */
  except<Result>(work: () => Promise<Result>): Promise<Result>
  /** Whether the thread has begun. */
  begun(): boolean
  end(): void
}

/** Ends `deadlineMs` after the work began in a thread, or when no thread has begun it in a time of its own. */
export function openDeadline(deadlineMs: number): Deadline {
  const controller = new AbortController()
  const times = openTimes()
  const asked = monotonicMs()
  let waited = 0
  let waitingSince: number | null = null
  let timer = setTimeout(check, deadlineMs)

  function check(): void {
    const now = monotonicMs()
    const begun = times[BEGUN] || null
    const paused = waited + (waitingSince === null ? 0 : now - waitingSince)
    const left = (begun ?? asked + THREAD_START_MS) + deadlineMs + paused - now
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
