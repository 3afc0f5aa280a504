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

/** What is told at once. All that are told the same are given the same array, so that it is written out once. */
export type Delivery = readonly Followed[]

/** Where a stream goes. */
export interface Sink {
  /** Answers whether more may come now; where not, it says so by {@link Stream.resume}. */
  take(delivery: Delivery): boolean
  /** Nothing comes any more. */
  end(): void
}

/** What may be done with a stream from outside. */
export interface FollowedStream {
  /** From now on everything goes there. */
  start(sink: Sink): void
  /** More may come. */
  resume(): void
  /** Nobody follows any more. */
  end(): void
}

/** One follower. It keeps nothing: what it has not been given yet is in the window, and what it is given it shares with the others. */
export class Stream implements FollowedStream {
  readonly follower: Follower
  /** Followers of the same audience and the same grants are shown the same. */
  readonly audience: string
  /** Up to which place of the window it was given; infinite until it has a place. */
  position = Number.POSITIVE_INFINITY
  /** What it has seen last, until it can be looked up. */
  after: string | null
  readonly #types: ReadonlySet<EventType> | null
  readonly #owner: StreamOwner
  #sink: Sink | null = null
  #isReady = false
  #isOver = false

  constructor(
    owner: StreamOwner,
    of: { follower: Follower; audience: string; types: ReadonlySet<EventType> | null; after: string | null },
  ) {
    this.#owner = owner
    this.follower = of.follower
    this.audience = of.audience
    this.#types = of.types
    this.after = of.after
  }

  /** Whether it takes more. */
  get isReady(): boolean {
    return this.#isReady
  }

  wants(type: EventType): boolean {
    return this.#types === null || type === 'reload' || this.#types.has(type)
  }

  give(delivery: Delivery): void {
    if (this.#sink !== null && !this.#isOver) this.#isReady = this.#sink.take(delivery)
  }

  start(sink: Sink): void {
    if (this.#isOver) {
      sink.end()
      return
    }
    this.#sink = sink
    this.#isReady = true
    this.#owner.started(this)
  }

  resume(): void {
    if (this.#isOver) return
    this.#isReady = true
    this.#owner.resumed(this)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#isReady = false
    this.#owner.ended(this)
    this.#sink?.end()
  }
}

/** Who gives streams what they take. */
export interface StreamOwner {
  started(stream: Stream): void
  resumed(stream: Stream): void
  ended(stream: Stream): void
}
