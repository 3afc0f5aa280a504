import { setTimeout as sleep } from 'node:timers/promises'

/** Anybody may ask, as often as they like: a second is fresh enough for a load balancer and makes a flood one question a second. */
const SHARED_MS = 1_000

/**
 * A question that many may ask at once and that may hang: one is under way at a time, its answer holds for a second, and whoever asks
 * while it takes longer than the deadline is told `late`.
 * @param options.ask must not throw
 */
export function openSharedProbe<T>(options: { ask: () => Promise<T>; late: T; deadlineMs: number }): () => Promise<T> {
  // One that hangs must not be followed by more of them, each holding a connection or a thread.
  let running: Promise<T> | null = null
  let known: { answer: T; goodUntil: number } | null = null

  function settle(answer: T): T {
    known = { answer, goodUntil: performance.now() + SHARED_MS }
    return answer
  }

  return async () => {
    if (known && performance.now() < known.goodUntil) return known.answer
    running ??= options.ask().then((answer) => {
      running = null
      return settle(answer)
    })
    const over = new AbortController()
    const late = sleep(options.deadlineMs, null, { signal: over.signal, ref: false }).then(
      () => settle(options.late),
      () => options.late,
    )
    try {
      return await Promise.race([running, late])
    } finally {
      over.abort()
    }
  }
}
