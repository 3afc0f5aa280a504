import pg from 'pg'

/** Not empty: then pg takes PGOPTIONS of the environment. */
export const NO_OPTIONS = ' '
/** A server that takes longer to accept a cancel request has a problem; then the connection itself is closed. */
const DEADLINE_MS = 2_000

/** Cancels statements over a connection of its own, because the statements to cancel may occupy the whole pool. */
export interface Canceler {
  /** Resolves when the server has signaled the process: statements that begin afterwards are not canceled. @throws if that fails */
  cancel(processId: number): Promise<void>
  close(): Promise<void>
}

export function openCanceler(configure: () => pg.ClientConfig): Canceler {
  let connecting: Promise<pg.Client> | null = null

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ options: NO_OPTIONS, ...configure(), connectionTimeoutMillis: DEADLINE_MS, query_timeout: DEADLINE_MS })
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

  async function cancel(processId: number): Promise<void> {
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

  // One after another; each takes a fraction of a millisecond, and a connection runs one statement at a time.
  let last: Promise<unknown> = Promise.resolve()
  return {
    cancel(processId) {
      const sent = last.then(() => cancel(processId))
      last = sent.catch(() => {})
      return sent
    },
    async close() {
      await last
      const open = connecting
      connecting = null
      await open?.then((client) => client.end()).catch(() => {})
    },
  }
}
