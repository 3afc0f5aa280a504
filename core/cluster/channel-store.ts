import type { Knex } from 'knex'
import type { Client } from 'pg'

/** After a lost connection; the database may be restarting. */
const RECONNECT_MS = 1_000
/** A connection that a network has swallowed says nothing by itself. */
const PROBE_MS = 15_000
/** A machine that is at its limits takes seconds for anything; a loss that is none costs all that follow a look at everything. */
const PROBE_DEADLINE_MS = 30_000

/** A connection of our own, outside the pool, that hears what is notified on one channel. */
export interface Channel {
  close(): Promise<void>
}

interface ChannelOptions {
  name: string
  prepare?: (client: Client) => Promise<unknown>
  onPayload: (payload: string) => void
  onReturn: () => void
  onLoss: (error: unknown) => void
}

/**
 * @param options.prepare runs on every connection before it listens
 * @param options.onPayload what was notified, by other processes and by this one, in the order of the commits
 * @param options.onReturn the connection is back after a loss, during which notifications were missed
 * @throws when the first connection fails
 */
export async function openChannel(database: Knex, options: ChannelOptions): Promise<Channel> {
  return await new ListeningChannel(database, options).open()
}

class ListeningChannel implements Channel {
  readonly #database: Knex
  readonly #options: ChannelOptions
  #closed = false
  #client: Client | null = null
  #timer: NodeJS.Timeout | undefined
  #probing: NodeJS.Timeout | undefined

  constructor(database: Knex, options: ChannelOptions) {
    this.#database = database
    this.#options = options
  }

  async open(): Promise<this> {
    // knex asks how to connect when its pool connects for the first time; until then a connection of our own goes to a default address.
    await this.#database.raw('SELECT 1')
    await this.#connect()
    return this
  }

  async #connect(): Promise<void> {
    // Outside the pool, since it stays for good.
    const fresh = (await this.#database.client.acquireRawConnection()) as Client
    if (this.#closed) return await fresh.end()
    // From here on close() ends it, even while it waits in prepare().
    this.#client = fresh
    let listens = false
    let fault: unknown = null
    const lose = (error: unknown) => {
      if (fault || this.#closed) return
      fault = error
      // Before that it is connect() that fails: a second way to connect again would end in connections waiting for each other.
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
      if (fault) throw fault
      listens = true
      this.#probing = setTimeout(() => this.#probe(fresh, lose), PROBE_MS)
    } catch (error) {
      this.#discard(fresh)
      throw error
    }
  }

  /** Asks the connection for a sign of life now and then. */
  async #probe(connected: Client, lose: (error: unknown) => void): Promise<void> {
    let isAnswered = false
    // The answer may lie there when this process had no turn for so long: it is read before the second of these.
    const giveUp = () => setImmediate(() => setImmediate(() => isAnswered || lose(new Error('the connection does not answer'))))
    const late = setTimeout(giveUp, PROBE_DEADLINE_MS)
    try {
      await connected.query('SELECT 1')
      isAnswered = true
      if (!this.#closed && this.#client === connected) this.#probing = setTimeout(() => this.#probe(connected, lose), PROBE_MS)
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
