/** Gives a place back; only the first call counts. */
type Leave = () => void

/** Lets a fixed number of things happen at a time; the rest wait in order of arrival. */
export class Semaphore {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(places: number) {
    this.#free = places
  }

  /** How many wait for a place. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Waits for a place. Rejects with the signal's reason when that aborts meanwhile. */
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

  /** Runs `work` when there is a place; it may call `leave` to give its place to the next before it has ended. Rejects as {@link enter}. */
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

  /** Hands the place to the next in line, so that nobody who comes later can take it, or sets it free. */
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

/** A {@link Semaphore} for each key, such as a file or a plugin; kept as long as somebody is inside or waits. */
export class KeyedSemaphore {
  readonly #places: number
  readonly #byKey = new Map<string, { semaphore: Semaphore; users: number }>()

  /** @param places of each key */
  constructor(places: number) {
    this.#places = places
  }

  /** How many wait for a place of this key. */
  waiting(key: string): number {
    return this.#byKey.get(key)?.semaphore.waiting ?? 0
  }

  /** As {@link Semaphore.enter}, by key. */
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

  /** As {@link Semaphore.run}, by key. */
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
