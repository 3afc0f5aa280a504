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

/**
 * @param options.prepare runs on every connection before it listens
 * @param options.onPayload what was notified, by other processes and by this one, in the order of the commits
 * @param options.onReturn the connection is back after a loss, during which notifications were missed
 * @throws when the first connection fails
 */
export async function openChannel(
  database: Knex,
  options: {
    name: string
    prepare?: (client: Client) => Promise<unknown>
    onPayload: (payload: string) => void
    onReturn: () => void
    onLoss: (error: unknown) => void
  },
): Promise<Channel> {
  let closed = false
  let client: Client | null = null
  let timer: NodeJS.Timeout | undefined
  let probing: NodeJS.Timeout | undefined

  async function connect(): Promise<void> {
    // Outside the pool, since it stays for good.
    const fresh = (await database.client.acquireRawConnection()) as Client
    if (closed) return await fresh.end()
    // From here on close() ends it, even while it waits in prepare().
    client = fresh
    let listens = false
    let fault: unknown = null
    const lose = (error: unknown) => {
      if (fault || closed) return
      fault = error
      // Before that it is connect() that fails: a second way to connect again would end in connections waiting for each other.
      if (!listens) return
      discard(fresh)
      options.onLoss(error)
      timer = setTimeout(reconnect, RECONNECT_MS)
    }
    fresh.on('error', lose)
    fresh.on('end', () => lose(new Error('the connection was closed')))
    fresh.on('notification', ({ payload }) => {
      if (payload) options.onPayload(payload)
    })
    try {
      await options.prepare?.(fresh)
      await fresh.query(`LISTEN ${options.name}`)
      if (fault) throw fault
      listens = true
      probing = setTimeout(() => probe(fresh, lose), PROBE_MS)
    } catch (error) {
      discard(fresh)
      throw error
    }
  }

  /** Asks the connection for a sign of life now and then. */
  async function probe(connected: Client, lose: (error: unknown) => void): Promise<void> {
    let isAnswered = false
    // The answer may lie there when this process had no turn for so long: it is read before the second of these.
    const giveUp = () => setImmediate(() => setImmediate(() => isAnswered || lose(new Error('the connection does not answer'))))
    const late = setTimeout(giveUp, PROBE_DEADLINE_MS)
    try {
      await connected.query('SELECT 1')
      isAnswered = true
      if (!closed && client === connected) probing = setTimeout(() => probe(connected, lose), PROBE_MS)
    } catch (error) {
      lose(error)
    } finally {
      clearTimeout(late)
    }
  }

  function discard(lost: Client): void {
    if (client === lost) client = null
    clearTimeout(probing)
    lost.end().catch(() => {})
  }

  async function reconnect(): Promise<void> {
    try {
      await connect()
      if (!closed) options.onReturn()
    } catch (error) {
      if (closed) return
      options.onLoss(error)
      timer = setTimeout(reconnect, RECONNECT_MS)
    }
  }

  await connect()
  return {
    async close() {
      closed = true
      clearTimeout(timer)
      clearTimeout(probing)
      await client?.end()
    },
  }
}
