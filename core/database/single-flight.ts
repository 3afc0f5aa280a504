import { currentScope, runForSeveral } from '#core/database/statement-scope.ts'
import { Register } from '#core/foundation/register.ts'

interface Flight {
  promise: Promise<unknown>
  abort: AbortController
  waiting: number
  /** Whose permits and connections its statements use; null if they have no limits. */
  owner: string | null
  isWaiting: boolean
  /** Resolves when it waits for a permit or a connection. */
  waits: Promise<typeof WAITS>
  hasEnded: boolean
}

const WAITS = Symbol('waits')

/** Runs the work for a key once for all concurrent callers. */
export class SingleFlight {
  readonly #flights = new Register<Flight>()
  readonly #mayRepeat: boolean

  /**
   * @param options.mayRepeat the work only reads, so it may run again: a caller who has joined the work of another user leaves it when that user has no
   *   permit or connection left, and runs it in their own
   */
  constructor({ mayRepeat = false }: { mayRepeat?: boolean } = {}) {
    this.#mayRepeat = mayRepeat
  }

  /**
   * Joins the running work of `key` or starts it. A caller whose signal aborts stops waiting immediately; the work itself is aborted when
   * no caller waits for it any more.
   */
  async join<T>(key: string, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const owner = currentScope()?.owner ?? null
    for (;;) {
      signal?.throwIfAborted()
      const known = this.#flights.get(key)
      const isOthers = this.#mayRepeat && known !== undefined && known.owner !== owner
      const flight = known === undefined || (isOthers && known.isWaiting) ? this.#start(key, owner, work) : known
      flight.waiting++
      try {
        const result = await orLeft(flight === known && isOthers ? [flight.promise, flight.waits] : [flight.promise], signal)
        if (result !== WAITS) return result as T
      } finally {
        this.#leave(key, flight)
      }
    }
  }

  /** No later caller joins the running work: the next call of `join` starts it again. Callers that already wait receive its result. */
  forget(): void {
    this.#flights.clear()
  }

  /** Aborts everything that was not forgotten, and waits until it has ended. */
  async close(): Promise<void> {
    const running = [...this.#flights.values()]
    for (const flight of running) flight.abort.abort()
    await Promise.allSettled(running.map((flight) => flight.promise))
  }

  #start(key: string, owner: string | null, work: (signal: AbortSignal) => Promise<unknown>): Flight {
    const { promise: waits, resolve } = Promise.withResolvers<typeof WAITS>()
    const flight: Flight = { owner, abort: new AbortController(), waiting: 0, promise: waits, isWaiting: false, waits, hasEnded: false }
    const onWait = () => {
      flight.isWaiting = true
      resolve(WAITS)
    }
    // The caller that started the work may be the first to leave.
    flight.promise = runForSeveral(() => work(flight.abort.signal), { onWait }).finally(() => {
      flight.hasEnded = true
      if (this.#flights.get(key) === flight) this.#flights.delete(key)
    })
    // Every waiter may have left before it fails.
    flight.promise.catch(() => {})
    this.#flights.set(key, flight)
    return flight
  }

  #leave(key: string, flight: Flight): void {
    flight.waiting--
    if (flight.waiting > 0 || flight.hasEnded) return
    // Still running without any caller; a new caller starts again instead of joining work that is being aborted.
    if (this.#flights.get(key) === flight) this.#flights.delete(key)
    flight.abort.abort()
  }
}

/** What ends first; rejects when the signal aborts. */
async function orLeft(ends: readonly Promise<unknown>[], signal: AbortSignal | undefined): Promise<unknown> {
  if (!signal) return await Promise.race(ends)
  const { promise: left, reject } = Promise.withResolvers<never>()
  const leave = () => reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([...ends, left])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
