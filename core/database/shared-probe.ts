import { setTimeout as sleep } from 'node:timers/promises'

/** Clients may request it at any rate: a second is fresh enough for a load balancer and turns a flood into one check per second. */
const SHARED_MS = 1_000

/**
 * A check that many may request at the same time and that may hang: only one runs at a time, its result is cached for a second, and callers
 * receive `late` while it takes longer than the deadline.
 * @param options.check must not reject
 */
export function sharedProbe<T>(options: { check: () => Promise<T>; late: T; deadlineMs: number }): () => Promise<T> {
  // A hanging check must not be followed by more of them, each holding a connection or a thread.
  let running: Promise<T> | null = null
  let cached: { answer: T; freshUntil: number } | null = null

  function settle(answer: T): T {
    cached = { answer, freshUntil: performance.now() + SHARED_MS }
    return answer
  }

  return async () => {
    if (cached && performance.now() < cached.freshUntil) return cached.answer
    running ??= options.check().then((answer) => {
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
