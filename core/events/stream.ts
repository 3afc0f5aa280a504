import type { CarrelEvent, EventType } from '#core/events/event.ts'

/** The caller who follows events. */
export interface Follower {
  userId: string
  /** The API key by which the caller has come; null without one. */
  narrowedBy: string | null
  permissions: ReadonlySet<string>
}

/** One event, or with null the position of a follower who has received everything so far. */
export interface Followed {
  /** The id to resume from after a lost connection. */
  id: string
  event: CarrelEvent | null
}

/** Events that are sent together. Streams that receive the same events share one array, so that it is serialized once. */
export type Delivery = readonly Followed[]

/** The receiver of a stream. */
export interface Sink {
  /** Returns whether more may come now; if not, it calls {@link EventStream.resume} later. */
  take(delivery: Delivery): boolean
  /** Nothing more will come. */
  end(): void
}

/** One follower. It buffers nothing: events that it has not received yet are in the window, and delivered ones are shared with other streams. */
export class EventStream {
  readonly follower: Follower
  /** Followers with the same audience who see the same series see the same events. */
  readonly audience: string
  /** Position in the window up to which it has received events; infinite until it is placed. */
  position = Number.POSITIVE_INFINITY
  /** The last event that it received, until that is looked up. */
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

  /** Whether it accepts more. */
  get isReady(): boolean {
    return this.#isReady
  }

  wants(type: EventType): boolean {
    return this.#types === null || type === 'reload' || this.#types.has(type)
  }

  give(delivery: Delivery): void {
    if (this.#sink !== null && !this.#isOver) this.#isReady = this.#sink.take(delivery)
  }

  /** Starts sending everything to this sink. */
  start(sink: Sink): void {
    if (this.#isOver) {
      sink.end()
      return
    }
    this.#sink = sink
    this.#isReady = true
    this.#owner.started(this)
  }

  /** The sink is ready for more. */
  resume(): void {
    if (this.#isOver) return
    this.#isReady = true
    this.#owner.resumed(this)
  }

  /** The client has disconnected. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#isReady = false
    this.#owner.ended(this)
    this.#sink?.end()
  }
}

/** The owner of the streams, which delivers to them. */
export interface StreamOwner {
  started(stream: EventStream): void
  resumed(stream: EventStream): void
  ended(stream: EventStream): void
}
