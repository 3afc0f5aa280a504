import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { Channel } from '#core/cluster/channel-store.ts'
import type { Announcement, CarrelEvent, EventType } from '#core/events/event.ts'
import { EVENT_CHANNEL, readAnnouncements } from '#core/events/event-store.ts'
import { foldAnnouncements } from '#core/events/fold.ts'
import { type Delivery, EventStream, type Follower, type StreamOwner } from '#core/events/stream.ts'
import { EventWindow } from '#core/events/window.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'

/** Tabs and devices of one user, with room for programs that do not close their streams. A stream takes about 20 KB. */
const STREAMS_PER_USER_MAX = 100
/** The same as the limit of connections. */
const STREAMS_MAX = 10_000
const RETRY_AFTER_SECONDS = 60
/** The least pause between two deliveries; it is never shorter than the last delivery, so that half of the time is left for other work. */
const PAUSE_MS = 100
const PAUSE_MS_MAX = 1_000
/** How many streams are served before other work gets a turn. */
const SLICE = 250
/** How many events all streams together receive in one delivery, and the least and the most for one stream: beyond it events are folded. */
const DELIVERED_MAX = 50_000
const PER_STREAM_MIN = 10
const PER_STREAM_MAX = 100
/** How many events are checked for one position in one delivery: a whole window at once would take the database a second. */
const CHECKED_MAX = 1_000
/** How many positions one delivery serves: after a lost connection each stream may have another one. */
const POSITIONS_MAX = 50
const RETRY_MS = 1_000

/** Decides who receives what. */
export interface Audience {
  /** Followers of one class who see the same series see the same events, except those for one user alone. */
  classOf(follower: Follower): string
  /** By current permissions and rules, for these events and followers. */
  decide(announcements: readonly Announcement[], followers: readonly Follower[]): Promise<Decision>
}

export interface Decision {
  /** Followers who see the same series have the same group. */
  groupOf(follower: Follower): string
  /** What a follower sees of an event; null for nothing. */
  show(follower: Follower, announcement: Announcement): CarrelEvent | null
}

interface Options {
  database: Knex
  log: Log
  audience: Audience
  /** Called when cached permissions are no longer valid: another node has changed them, or may have. */
  onAccessChange?: () => void
}

interface Group {
  announcements: readonly Announcement[] | null
  /** Position after the events. */
  to: number
  streams: readonly EventStream[]
}

/** Sends events to those who follow them. */
export class Events implements StreamOwner {
  readonly #database: Knex
  readonly #log: Log
  readonly #audience: Audience
  readonly #onAccessChange: () => void
  readonly #window = new EventWindow(newId())
  readonly #streams = new Set<EventStream>()
  readonly #streamsOf = new Register<Set<EventStream>>()
  /** There are only a few constant sets of types. */
  readonly #types: ReadonlySet<EventType>[] = []
  /** Work for all streams must not run in the context of the request that happened to start it. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #channel: Channel | null = null
  #started = false
  #closed = false
  #delivering = false
  readonly #closing = new AbortController()

  constructor({ database, log, audience, onAccessChange = () => {} }: Options) {
    this.#database = database
    this.#log = log
    this.#audience = audience
    this.#onAccessChange = onAccessChange
  }

  /**
   * Sends events as they are committed: from now on, or those after the event `after`, the last one that the follower received. If that event is
   * no longer kept, `reload` comes first. The stream ends when the user's permissions have changed, when the stream has fallen too far behind (after a
   * `reload`), and when this closes.
   * @param from.types omits all other types, except `reload`
   * @throws rate_limit_exceeded, unavailable: immediately, when there are too many streams
   */
  follow(follower: Follower, from: { after: string | null; types?: ReadonlySet<EventType> }): EventStream {
    const { after, types = null } = from
    const ofUser = this.#streamsOf.get(follower.userId) ?? new Set()
    if (ofUser.size >= STREAMS_PER_USER_MAX)
      refuse('rate_limit_exceeded', `You have ${ofUser.size} event streams open, the most that one user may have; close some of them.`, {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    if (this.#closed || this.#streams.size >= STREAMS_MAX)
      refuse('unavailable', 'The server has reached its limit of event streams; try again later.', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    this.start()
    const audience = `${this.#audience.classOf(follower)} ${types === null ? '' : this.#numberOf(types)}`
    const stream = new EventStream(this, { follower, audience, types, after })
    this.#streams.add(stream)
    this.#streamsOf.set(follower.userId, ofUser.add(stream))
    return stream
  }

  /** Starts listening for announcements; otherwise the first stream does. */
  start(): void {
    if (this.#started) return
    this.#started = true
    this.#outside(() => void this.#connect())
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#closing.abort()
    for (const stream of this.#streams) stream.end()
    await this.#channel?.close()
  }

  started(stream: EventStream): void {
    if (this.#channel === null) return
    this.#setPosition(stream, stream.after === null ? this.#window.end : this.#window.find(stream.after))
    this.resumed(stream)
  }

  resumed({ position }: EventStream): void {
    if (position < this.#window.end) this.#deliver()
  }

  ended(stream: EventStream): void {
    const { userId } = stream.follower
    const ofUser = this.#streamsOf.get(userId)
    this.#streams.delete(stream)
    ofUser?.delete(stream)
    if (ofUser?.size === 0) this.#streamsOf.delete(userId)
  }

  #numberOf(types: ReadonlySet<EventType>): number {
    const known = this.#types.indexOf(types)
    return known < 0 ? this.#types.push(types) - 1 : known
  }

  /** @param position null when the last event that the follower received is not kept */
  #setPosition(stream: EventStream, position: number | null): void {
    stream.position = position ?? this.#window.end
    const id = this.#window.idAt(stream.position)
    stream.give([{ id, event: position === null ? reload() : null }])
  }

  /** The client reconnects, authenticates again, and reloads what it shows. */
  #dismiss(stream: EventStream): void {
    this.#setPosition(stream, null)
    stream.end()
  }

  async #connect(): Promise<void> {
    while (!this.#closed) {
      try {
        const channel = await new Channel(this.#database, {
          name: EVENT_CHANNEL,
          onPayload: (payload) => this.#receive(payload),
          onReturn: () => void this.#restart(),
          onLoss: (error) => this.#log.warn({ err: error }, 'The database connection that receives events was lost; it will be reopened'),
        }).open()
        this.#channel = channel
        if (this.#closed) return await channel.close()
        // Events may have arrived since the connection listens: send them to the streams that waited for it.
        for (const stream of this.#streams)
          this.#setPosition(stream, stream.after === null ? this.#window.start : this.#window.find(stream.after))
        this.#deliver()
        return
      } catch (error) {
        this.#log.warn({ err: error }, 'Could not listen for events; the server tries again')
        await sleep(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => {})
      }
    }
  }

  /** Announcements were missed while the connection was lost, also those about permissions. */
  async #restart(): Promise<void> {
    this.#window.clear(newId())
    this.#onAccessChange()
    const streams = [...this.#streams]
    // None receives anything before it ends.
    for (const stream of streams) stream.position = Number.POSITIVE_INFINITY
    for (const [index, stream] of streams.entries()) {
      if (index % SLICE === SLICE - 1) await nextTurn()
      this.#dismiss(stream)
    }
  }

  #receive(payload: string): void {
    const all = readAnnouncements(payload)
    for (const announcement of all) this.#window.add(announcement, payload.length / all.length)
    const changed = all.filter(({ ends }) => ends)
    if (changed.length > 0) this.#onAccessChange()
    // Immediately, even when a client is slow: nothing more is sent under the old permissions.
    for (const { userId } of changed) for (const stream of this.#streamsOf.get(userId ?? '') ?? []) this.#dismiss(stream)
    this.#deliver()
  }

  #deliver(): void {
    if (this.#delivering || this.#closed) return
    this.#delivering = true
    this.#outside(() => void this.#deliverAll())
  }

  async #deliverAll(): Promise<void> {
    try {
      for (;;) {
        const began = performance.now()
        const due = this.#listDue()
        if (due.length === 0) return
        await this.#deliverTo(due)
        const pauseMs = Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS, performance.now() - began))
        await sleep(pauseMs, undefined, { signal: this.#closing.signal })
      }
    } catch (error) {
      if (this.#closed) return
      this.#log.warn({ err: error }, 'Could not deliver events; the server tries again')
      await sleep(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => {})
    } finally {
      this.#delivering = false
      if (this.#listDue().length > 0) this.#deliver()
    }
  }

  /** Streams that are ready and not at the end. */
  #listDue(): EventStream[] {
    const { end } = this.#window
    return this.#closed ? [] : [...this.#streams].filter((stream) => stream.position < end && stream.isReady)
  }

  async #deliverTo(due: readonly EventStream[]): Promise<void> {
    const window = this.#window
    const { epoch } = window
    const groups = this.#groupByPosition(due)
    const followers = groups.flatMap(({ streams }) => streams.map(({ follower }) => follower))
    const decision = await this.#audience.decide([...new Set(groups.flatMap(({ announcements }) => announcements ?? []))], followers)
    const most = Math.min(PER_STREAM_MAX, Math.max(PER_STREAM_MIN, Math.floor(DELIVERED_MAX / due.length)))
    let count = 0
    for (const { announcements, to, streams } of groups) {
      const deliveryFor = announcements && this.#sharedDeliveries(announcements, to, { decision, most })
      for (const stream of streams) {
        if (++count % SLICE === 0) await nextTurn()
        // The listening connection was lost and reopened in the meantime: all streams are dismissed.
        if (window.epoch !== epoch) return
        if (deliveryFor === null) {
          this.#dismiss(stream)
          continue
        }
        const delivery = deliveryFor(stream)
        stream.position = to
        if (delivery.length > 0) stream.give(delivery)
      }
    }
  }

  #groupByPosition(due: readonly EventStream[]): Group[] {
    const window = this.#window
    return [...Map.groupBy(due, ({ position }) => position)].slice(0, POSITIONS_MAX).map(([position, streams]) => {
      const to = Math.min(window.end, position + CHECKED_MAX)
      return { streams, to, announcements: position < window.start ? null : window.slice(position, to) }
    })
  }

  /** What streams receive of these events: streams with the same audience share it, checked and folded once. */
  #sharedDeliveries(announcements: readonly Announcement[], to: number, { decision, most }: { decision: Decision; most: number }) {
    const [before, after] = [this.#window.idAt(to - announcements.length), this.#window.idAt(to)]
    const personal = new Set(announcements.flatMap(({ userId }) => userId ?? []))
    const deliveries = new Map<string, Delivery>()
    return (stream: EventStream): Delivery => {
      const { follower, audience } = stream
      const { userId, narrowedBy } = follower
      const key = `${audience} ${decision.groupOf(follower)} ${personal.has(userId) ? `${userId} ${narrowedBy}` : ''}`
      let delivery = deliveries.get(key)
      if (delivery === undefined) {
        const visible = announcements.flatMap((announcement): Announcement[] => {
          const event = stream.wants(announcement.event.type) ? decision.show(follower, announcement) : null
          return event === null ? [] : [{ ...announcement, event }]
        })
        delivery = deliveryOf(visible, most, { before, after })
        deliveries.set(key, delivery)
      }
      return delivery
    }
  }
}

/** @param at ids of the events before the first and at the end of the events */
function deliveryOf(visible: readonly Announcement[], most: number, at: { before: string; after: string }): Delivery {
  const folded = foldAnnouncements(visible, most)
  if (folded === visible) return visible.map(({ id, event }) => ({ id, event }))
  // A client that disconnects in the middle of folded events receives all of them again.
  return [...folded.map(({ event }) => ({ id: at.before, event })), { id: at.after, event: null }]
}

/** Unique and unguessable; contains no information. */
const newId = () => randomBytes(9).toString('base64url')

const reload = (): CarrelEvent => ({ type: 'reload', timestamp: new Date().toISOString() })
