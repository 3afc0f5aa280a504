import { Register } from '#core/foundation/register.ts'

/** Releases a place; only the first call counts. */
type Leave = () => void

/** Lets a fixed number of callers run at a time; the others wait in order of arrival. */
export class Semaphore {
  readonly #places: number
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(places: number) {
    this.#places = places
    this.#free = places
  }

  /** How many callers have a place. */
  get running(): number {
    return this.#places - this.#free
  }

  /** How many callers wait for a place. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Waits for a place. Rejects with the signal's reason if the signal aborts in the meantime. */
  async enter(signal?: AbortSignal): Promise<Leave> {
    signal?.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#wait(signal)
    let isInside = true
    return () => {
      if (isInside) this.#leave()
      isInside = false
    }
  }

  /** Runs `work` when there is a place; `work` may call `leave` to release its place before it ends. Rejects like {@link enter}. */
  async run<Result>(work: (leave: Leave) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const leave = await this.enter(signal)
    try {
      return await work(leave)
    } finally {
      leave()
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = () => {
        this.#waiting.delete(enter)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#waiting.add(enter)
    })
  }

  /** Passes the place to the caller that has waited longest, so that no later caller can take it; releases it if none waits. */
  #leave(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    next()
  }
}

/** A {@link Semaphore} for each key, such as a file or a plugin; kept as long as a caller runs or waits. */
export class KeyedSemaphore {
  readonly #places: number
  readonly #byKey = new Register<{ semaphore: Semaphore; users: number }>()

  /** @param places of each key */
  constructor(places: number) {
    this.#places = places
  }

  /** How many callers wait for a place of this key. */
  waiting(key: string): number {
    return this.#byKey.get(key)?.semaphore.waiting ?? 0
  }

  /** Like {@link Semaphore.enter}, by key. */
  async enter(key: string, signal?: AbortSignal): Promise<Leave> {
    const one = this.#byKey.get(key) ?? { semaphore: new Semaphore(this.#places), users: 0 }
    this.#byKey.set(key, one)
    one.users++
    const leave = await one.semaphore.enter(signal).catch((error: unknown) => {
      this.#forget(key, one)
      throw error
    })
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      leave()
      this.#forget(key, one)
    }
  }

  /** Like {@link Semaphore.run}, by key. */
  async run<Result>(key: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const leave = await this.enter(key, signal)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  #forget(key: string, one: { users: number }): void {
    one.users--
    if (one.users === 0) this.#byKey.delete(key)
  }
}
