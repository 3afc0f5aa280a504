import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { type Channel, openChannel } from '#core/database/channel-store.ts'
import { refuse } from '#core/errors.ts'
import type { Announcement, CarrelEvent, EventType } from '#core/events/event.ts'
import { EVENT_CHANNEL, readAnnouncements } from '#core/events/event-store.ts'
import { foldAnnouncements } from '#core/events/fold.ts'
import { type Followed, type Follower, Stream } from '#core/events/stream.ts'
import { openWindow } from '#core/events/window.ts'
import type { Log } from '#core/log.ts'

/** Tabs and devices of one person, with room for programs that do not close what they open. A stream costs some 30 KB. */
const STREAMS_PER_USER_MAX = 100
/** As many as there may be connections. */
const STREAMS_MAX = 10_000
const COME_BACK_SECONDS = 60
/** Between two deliveries, or as long as the last one took: what comes meanwhile goes out together, and half of the time is for others. */
const PAUSE_MS = 100
const PAUSE_MS_MAX = 1_000
/** Streams that are served before others have a turn. */
const SLICE = 250
/** What all streams together are told a delivery, and the least and the most that one is: beyond it events are folded. */
const TOLD_MAX = 50_000
const TOLD_EACH_MIN = 10
const TOLD_EACH_MAX = 100
/** Places from which streams are told in one delivery: after a break each may have come to another. */
const PLACES_MAX = 50
const RETRY_MS = 1_000

export type { Followed, Follower } from '#core/events/stream.ts'

/** Answers for some events and the users who follow what each follower is shown of them; null for nothing. */
export type Audience = (
  announcements: readonly Announcement[],
  userIds: readonly string[],
) => Promise<(follower: Follower, announcement: Announcement) => CarrelEvent | null>

export interface Events {
  /**
   * Events from now on as they are committed, or from the one after `after`, of which the follower may know at the time; where that one is not
   * known any more, `reload` comes first. Ends with the signal, when what the user may do has changed, and when this closes.
   * @param from.types leaves out the others, `reload` excepted
   * @throws rate_limit_exceeded, unavailable: at once, when there are too many streams
   */
  follow(follower: Follower, from: { after: string | null; signal: AbortSignal; types?: ReadonlySet<EventType> }): AsyncIterable<Followed>
  /** Begins to hear what is announced; without it the first stream does. */
  start(): void
  close(): Promise<void>
}

export function openEvents(options: { database: Knex; log: Log; audience: Audience }): Events {
  return new OpenEvents(options)
}

class OpenEvents implements Events {
  readonly #database: Knex
  readonly #log: Log
  readonly #audience: Audience
  readonly #window = openWindow(newId())
  readonly #streams = new Set<Stream>()
  readonly #streamsOf = new Map<string, number>()
  /** Work for all streams must not be bound to the request that happened to ask for it. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #channel: Channel | null = null
  #started = false
  #closed = false
  #delivering = false
  readonly #closing = new AbortController()

  constructor({ database, log, audience }: { database: Knex; log: Log; audience: Audience }) {
    this.#database = database
    this.#log = log
    this.#audience = audience
  }

  follow(...[follower, { after, signal, types }]: Parameters<Events['follow']>): AsyncIterable<Followed> {
    const ofUser = this.#streamsOf.get(follower.userId) ?? 0
    if (ofUser >= STREAMS_PER_USER_MAX)
      refuse('rate_limit_exceeded', `You follow ${ofUser} streams of events already, the most that one user may; close some of them.`, {
        retryAfterSeconds: COME_BACK_SECONDS,
      })
    if (this.#closed || this.#streams.size >= STREAMS_MAX)
      refuse('unavailable', 'There are as many streams of events as this server keeps; try again later.', {
        retryAfterSeconds: COME_BACK_SECONDS,
      })
    this.start()
    const stream = new Stream(follower, types ?? null, ({ position }) => {
      if (position < this.#window.end) this.#deliver()
    })
    this.#streams.add(stream)
    this.#streamsOf.set(follower.userId, ofUser + 1)
    stream.onEnd = () => this.#forget(stream)
    const position = after === null ? this.#window.end : this.#window.find(after)
    if (this.#channel === null) stream.after = after
    else this.#place(stream, position)
    if (signal.aborted) stream.end()
    else signal.addEventListener('abort', () => stream.end(), { once: true })
    return stream
  }

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

  /** @param position null where the event that the follower has seen last is not known */
  #place(stream: Stream, position: number | null): void {
    stream.position = position ?? this.#window.end
    const id = this.#window.idAt(stream.position)
    stream.give([{ id, event: position === null ? reload() : null }])
  }

  #forget(stream: Stream): void {
    this.#streams.delete(stream)
    const { userId } = stream.follower
    const left = (this.#streamsOf.get(userId) ?? 1) - 1
    if (left === 0) this.#streamsOf.delete(userId)
    else this.#streamsOf.set(userId, left)
  }

  async #connect(): Promise<void> {
    while (!this.#closed) {
      try {
        const channel = await openChannel(this.#database, {
          name: EVENT_CHANNEL,
          onPayload: (payload) => this.#receive(payload),
          onReturn: () => this.#restart(),
          onLoss: (error) => this.#log.warn({ err: error }, 'The connection that hears of events was lost; it will be made again'),
        })
        this.#channel = channel
        if (this.#closed) return await channel.close()
        for (const stream of this.#streams) this.#place(stream, stream.after === null ? this.#window.end : this.#window.find(stream.after))
        return
      } catch (error) {
        this.#log.warn({ err: error }, 'Events cannot be heard of; it is tried again')
        await sleep(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => {})
      }
    }
  }

  /** Nobody knows what was announced while the connection was away. */
  #restart(): void {
    this.#window.clear(newId())
    for (const stream of this.#streams) this.#place(stream, null)
  }

  #receive(payload: string): void {
    const all = readAnnouncements(payload)
    for (const announcement of all) this.#window.add(announcement, payload.length / all.length)
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
      this.#log.warn({ err: error }, 'Events could not be delivered; it is tried again')
      await sleep(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => {})
    } finally {
      this.#delivering = false
      if (this.#listDue().length > 0) this.#deliver()
    }
  }

  /** Streams that have taken all they were given and are not at the end. */
  #listDue(): Stream[] {
    const { end } = this.#window
    return this.#closed ? [] : [...this.#streams].filter((stream) => stream.position < end && stream.isWaiting)
  }

  async #deliverTo(due: readonly Stream[]): Promise<void> {
    const window = this.#window
    const { end, epoch } = window
    const most = Math.min(TOLD_EACH_MAX, Math.max(TOLD_EACH_MIN, Math.floor(TOLD_MAX / due.length)))
    const groups = [...Map.groupBy(due, ({ position }) => position)].slice(0, PLACES_MAX).map(([position, streams]) => {
      const news = position < window.start ? null : window.slice(position, end)
      return { position, streams, news, told: foldAnnouncements(news ?? [], most) }
    })
    const userIds = new Set(groups.flatMap(({ streams }) => streams.map(({ follower }) => follower.userId)))
    const shown = await this.#audience(
      groups.flatMap(({ told }) => told),
      [...userIds],
    )
    let count = 0
    for (const { position, streams, news, told } of groups) {
      const isFolded = told !== news
      for (const stream of streams) {
        if (++count % SLICE === 0) await nextTurn()
        // The connection that hears was lost and came back meanwhile: all have been told to reload.
        if (window.epoch !== epoch) return
        if (news === null || position < window.start) {
          this.#place(stream, null)
          continue
        }
        const given = told.flatMap((announcement): Followed[] => {
          const event = stream.wants(announcement.event.type) ? shown(stream.follower, announcement) : null
          // Whoever goes away in the middle of what was folded is told all of it again.
          return event === null ? [] : [{ id: isFolded ? window.idAt(position) : announcement.id, event }]
        })
        if (isFolded && given.length > 0) given.push({ id: window.idAt(end), event: null })
        stream.position = end
        const isOver = news.some(({ ends, userId }) => ends && userId === stream.follower.userId)
        stream.give(given, isOver)
      }
    }
  }
}

/** Tells nothing, and nobody guesses it. */
const newId = () => randomBytes(9).toString('base64url')

const reload = (): CarrelEvent => ({ type: 'reload', timestamp: new Date().toISOString() })
