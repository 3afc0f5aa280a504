import type { Knex } from 'knex'
import type { Client } from 'pg'

/** The pause after a lost connection; the database may be restarting. */
const RECONNECT_MS = 1_000
/** How soon a connection that the network has dropped is noticed: it reports nothing by itself. */
interface Probes {
  /** The interval. */
  everyMs: number
  /** The longest that an answer may take. */
  deadlineMs: number
}
/** An overloaded machine takes seconds for anything, and a false alarm makes every follower reload everything. */
const PROBES: Probes = { everyMs: 15_000, deadlineMs: 30_000 }

interface ChannelOptions {
  name: string
  prepare?: (client: Client) => Promise<unknown>
  onPayload: (payload: string) => void
  onReturn: () => void
  onLoss: (error: unknown) => void
  probes?: Probes
}

/** A connection of its own, outside the pool, that receives the notifications of one channel. */
export class Channel {
  readonly #database: Knex
  readonly #options: ChannelOptions
  readonly #probes: Probes
  #closed = false
  #client: Client | null = null
  #timer: NodeJS.Timeout | undefined
  #probing: NodeJS.Timeout | undefined

  /**
   * @param options.prepare runs on every connection before it listens
   * @param options.onPayload receives the payloads from other processes and this one, in the order of the commits
   * @param options.onLoss called again when a try to restore the connection has failed
   * @param options.onReturn the connection is restored after a loss, during which notifications were missed
   */
  constructor(database: Knex, options: ChannelOptions) {
    this.#database = database
    this.#options = options
    this.#probes = options.probes ?? PROBES
  }

  /** @throws when the first connection fails */
  async open(): Promise<this> {
    // knex resolves the address of the database when its pool first connects; before that, a connection of our own goes to a default address.
    await this.#database.raw('SELECT 1')
    await this.#connect()
    return this
  }

  async #connect(): Promise<void> {
    // Outside the pool, since it stays open permanently.
    const fresh = (await this.#database.client.acquireRawConnection()) as Client
    if (this.#closed) return await fresh.end()
    // From here on close() ends it, even during prepare().
    this.#client = fresh
    let listens = false
    let lossError: unknown = null
    const lose = (error: unknown) => {
      if (lossError || this.#closed) return
      lossError = error
      // Until it listens, #connect() rejects instead: two attempts to reconnect would wait for each other.
      if (!listens) return
      this.#discard(fresh)
      this.#options.onLoss(error)
      this.#timer = setTimeout(() => this.#reconnect(), RECONNECT_MS)
    }
    fresh.on('error', lose)
    fresh.on('end', () => lose(new Error('the connection was closed')))
    fresh.on('notification', ({ payload }) => {
      if (payload) this.#options.onPayload(payload)
    })
    try {
      await this.#options.prepare?.(fresh)
      await fresh.query(`LISTEN ${this.#options.name}`)
      if (lossError) throw lossError
      listens = true
      this.#probing = setTimeout(() => this.#probe(fresh, lose), this.#probes.everyMs)
    } catch (error) {
      this.#discard(fresh)
      throw error
    }
  }

  /** Probes the connection, and schedules the next probe. */
  async #probe(connected: Client, lose: (error: unknown) => void): Promise<void> {
    let isAnswered = false
    // If this process was busy for that long, the answer may be waiting in the socket; the event loop reads it before the second of these callbacks.
    const giveUp = () => setImmediate(() => setImmediate(() => isAnswered || lose(new Error('the connection does not answer'))))
    const late = setTimeout(giveUp, this.#probes.deadlineMs)
    try {
      await connected.query('SELECT 1')
      isAnswered = true
      if (!this.#closed && this.#client === connected) this.#probing = setTimeout(() => this.#probe(connected, lose), this.#probes.everyMs)
    } catch (error) {
      lose(error)
    } finally {
      clearTimeout(late)
    }
  }

  #discard(lost: Client): void {
    if (this.#client === lost) this.#client = null
    clearTimeout(this.#probing)
    lost.end().catch(() => {})
  }

  async #reconnect(): Promise<void> {
    try {
      await this.#connect()
      if (!this.#closed) this.#options.onReturn()
    } catch (error) {
      if (this.#closed) return
      this.#options.onLoss(error)
      this.#timer = setTimeout(() => this.#reconnect(), RECONNECT_MS)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#probing)
    await this.#client?.end()
  }
}
