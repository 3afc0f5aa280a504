import { runForSeveral } from '#core/database/statement-scope.ts'

/** Runs the work for a key once for all concurrent callers. */
interface SingleFlight {
  /**
   * Joins the running work of `key` or starts it. A caller whose signal aborts stops waiting immediately; the work itself is aborted when
   * no caller waits for it any more.
   */
  join<T>(key: string, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** No later caller joins the running work: the next call of `join` starts it again. Callers that already wait receive its result. */
  forget(): void
  /** Aborts everything that was not forgotten, and waits until it has ended. */
  close(): Promise<void>
}

interface Flight {
  promise: Promise<unknown>
  abort: AbortController
  waiting: number
}

export function openSingleFlight(): SingleFlight {
  const flights = new Map<string, Flight>()

  function start(key: string, work: (signal: AbortSignal) => Promise<unknown>): Flight {
    const abort = new AbortController()
    const flight: Flight = { abort, waiting: 0, promise: Promise.resolve() }
    // The caller that started the work may be the first to leave.
    flight.promise = runForSeveral(() => work(abort.signal)).finally(() => {
      if (flights.get(key) === flight) flights.delete(key)
    })
    // Every waiter may have left before it fails.
    flight.promise.catch(() => {})
    flights.set(key, flight)
    return flight
  }

  return {
    async join<T>(key: string, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      signal?.throwIfAborted()
      const flight = flights.get(key) ?? start(key, work)
      flight.waiting++
      let leave: (() => void) | undefined
      try {
        if (!signal) return (await flight.promise) as T
        const left = new Promise<never>((_, reject) => {
          leave = () => reject(signal.reason)
          signal.addEventListener('abort', leave, { once: true })
        })
        return (await Promise.race([flight.promise, left])) as T
      } finally {
        if (leave) signal?.removeEventListener('abort', leave)
        flight.waiting--
        if (flight.waiting === 0 && flights.get(key) === flight) {
          // Still running without any caller; a new caller starts again instead of joining work that is being aborted.
          flights.delete(key)
          flight.abort.abort()
        }
      }
    },
    forget: () => flights.clear(),
    async close() {
      const running = [...flights.values()]
      for (const flight of running) flight.abort.abort()
      await Promise.allSettled(running.map((flight) => flight.promise))
    },
  }
}
