import type { CarrelEvent, EventType } from '#core/events/event.ts'

/** Who follows: a caller. */
export interface Follower {
  userId: string
  permissions: ReadonlySet<string>
}

/** One event, or with null the place where somebody stands who has been told everything so far. */
export interface Followed {
  /** What to follow on from after a break. */
  id: string
  event: CarrelEvent | null
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/**
 * What one follower has not taken yet. It is given more only when it has taken all, so it never holds more than one delivery, and what it holds it
 * shares with the others. Without a generator and its closures: there are thousands.
 */
export class Stream implements AsyncIterableIterator<Followed, undefined> {
  readonly follower: Follower
  /** Up to which place of the window it was given. */
  position = Number.POSITIVE_INFINITY
  /** What it has seen last, until it can be looked up. */
  after: string | null = null
  onEnd: () => void = () => {}
  readonly #types: ReadonlySet<EventType> | null
  readonly #onWaiting: (stream: Stream) => void
  #given: readonly Followed[] = []
  #taken = 0
  #take: ((result: IteratorResult<Followed, undefined>) => void) | null = null
  #isOver = false

  constructor(follower: Follower, types: ReadonlySet<EventType> | null, onWaiting: (stream: Stream) => void) {
    this.follower = follower
    this.#types = types
    this.#onWaiting = onWaiting
  }

  /** Whether everything that it was given has been taken, and more is asked for. */
  get isWaiting(): boolean {
    return this.#take !== null
  }

  wants(type: EventType): boolean {
    return this.#types === null || type === 'reload' || this.#types.has(type)
  }

  /** In place of what has not been taken yet. @param isOver nothing comes after it */
  give(given: readonly Followed[], isOver = false): void {
    if (this.#isOver) return
    this.#given = given
    this.#taken = 0
    this.#isOver = isOver
    const take = this.#take
    if (take === null) return
    const [first] = given
    if (first !== undefined) {
      this.#taken = 1
      this.#take = null
      take({ done: false, value: first })
    } else if (isOver) this.end()
  }

  end(): void {
    this.#isOver = true
    this.#given = []
    this.#take?.(DONE)
    this.#take = null
    this.onEnd()
    this.onEnd = () => {}
  }

  next(): Promise<IteratorResult<Followed, undefined>> {
    const next = this.#given[this.#taken]
    if (next !== undefined) {
      this.#taken += 1
      return Promise.resolve({ done: false, value: next })
    }
    this.#given = []
    this.#taken = 0
    if (this.#isOver) {
      this.end()
      return Promise.resolve(DONE)
    }
    return new Promise((resolve) => {
      this.#take = resolve
      this.#onWaiting(this)
    })
  }

  return(): Promise<IteratorReturnResult<undefined>> {
    this.end()
    return Promise.resolve(DONE)
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
