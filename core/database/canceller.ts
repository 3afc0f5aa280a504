import pg from 'pg'

/** A server that takes longer to hear this than that is not well; then the connection itself is cut. */
const DEADLINE_MS = 2_000

/** Cancels statements over a connection of its own, for the pool may be full of those that are to be cancelled. */
export interface Canceller {
  /** Returns when the server has told the process: what that process begins afterwards is not cancelled. @throws when it cannot be told */
  cancel(processId: number): Promise<void>
  close(): Promise<void>
}

export function openCanceller(configure: () => pg.ClientConfig): Canceller {
  let connecting: Promise<pg.Client> | null = null

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ ...configure(), connectionTimeoutMillis: DEADLINE_MS, query_timeout: DEADLINE_MS })
    const forget = () => {
      connecting = null
    }
    client.once('end', forget)
    client.on('error', forget)
    try {
      await client.connect()
      return client
    } catch (error) {
      forget()
      throw error
    }
  }

  async function tell(processId: number): Promise<void> {
    connecting ??= connect()
    const client = await connecting
    try {
      await client.query('SELECT pg_cancel_backend($1)', [processId])
    } catch (error) {
      connecting = null
      void client.end().catch(() => {})
      throw error
    }
  }

  // One after another; each takes a fraction of a millisecond, and a connection does one thing at a time.
  let last: Promise<unknown> = Promise.resolve()
  return {
    cancel(processId) {
      const told = last.then(() => tell(processId))
      last = told.catch(() => {})
      return told
    },
    async close() {
      await last
      const open = connecting
      connecting = null
      await open?.then((client) => client.end()).catch(() => {})
    },
  }
}
