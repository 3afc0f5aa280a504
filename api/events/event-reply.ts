import type { EventServices } from '#api/areas/events.ts'
import type { Call } from '#api/http/endpoint.ts'
import { blocksOf } from '#api/http/event-stream.ts'
import type { Blocks, EventClient, EventSource, EventsReply } from '#api/http/reply.ts'
import type { EventType } from '#core/events/event.ts'
import type { Delivery, EventStream, Followed, Sink } from '#core/events/stream.ts'

type Services = EventServices

/**
 * The wire format of events. Events that several streams get are encoded once. Events for one user are encoded separately, since they may
 * contain that user's id.
 */
export class EventForm {
  readonly #format: (followed: Followed, userId: string) => string
  readonly #written = new WeakMap<Delivery, Blocks>()

  constructor(format: (followed: Followed, userId: string) => string) {
    this.#format = format
  }

  blocksOf(delivery: Delivery, userId: string): Blocks {
    let blocks = this.#written.get(delivery)
    if (blocks === undefined) {
      blocks = blocksOf(delivery.map((followed) => this.#format(followed, userId)).join(''))
      this.#written.set(delivery, blocks)
    }
    return blocks
  }
}

/**
 * The event stream of one caller.
 * @param more.types the types to send; `reload` is always sent
 * @param more.lastEventId the event after which the stream begins, if the client sends no header
 */
export function eventsFor(
  { services, caller }: Call<Services>,
  { form, types, lastEventId }: { form: EventForm; types?: ReadonlySet<EventType>; lastEventId?: string },
): EventsReply {
  const follower = caller
  return {
    kind: 'events',
    followsRights: true,
    open: (last) => {
      const after = last ?? (lastEventId || null)
      return new EventFeed(services.events.follow(follower, { after, ...(types && { types }) }), form, follower.userId)
    },
  }
}

/** Connects a stream of events to its client. */
class EventFeed implements EventSource, Sink {
  readonly #stream: EventStream
  readonly #form: EventForm
  readonly #userId: string
  #client: EventClient | null = null

  constructor(stream: EventStream, form: EventForm, userId: string) {
    this.#stream = stream
    this.#form = form
    this.#userId = userId
  }

  start(client: EventClient): void {
    this.#client = client
    this.#stream.start(this)
  }

  resume(): void {
    this.#stream.resume()
  }

  close(): void {
    this.#stream.end()
  }

  take(delivery: Delivery): boolean {
    return this.#client?.write(this.#form.blocksOf(delivery, this.#userId)) ?? false
  }

  end(): void {
    this.#client?.end()
  }
}
