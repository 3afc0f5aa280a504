import pg from 'pg'

/** Not empty: then pg takes PGOPTIONS of the environment. */
export const NO_OPTIONS = ' '
/** A server that takes longer to accept a cancel request has a problem; then the connection itself is closed. */
const DEADLINE_MS = 2_000

/** Cancels statements over a connection of its own, because the statements to cancel may occupy the whole pool. */
export class Canceler {
  readonly #configure: () => pg.ClientConfig
  #connecting: Promise<pg.Client> | null = null
  // One after another; each takes a fraction of a millisecond, and a connection runs one statement at a time.
  #last: Promise<unknown> = Promise.resolve()

  constructor(configure: () => pg.ClientConfig) {
    this.#configure = configure
  }

  /** Resolves when the server has signaled the process: statements that begin afterwards are not canceled. @throws if that fails */
  cancel(processId: number): Promise<void> {
    const sent = this.#last.then(() => this.#cancel(processId))
    this.#last = sent.catch(() => {})
    return sent
  }

  async close(): Promise<void> {
    await this.#last
    const open = this.#connecting
    this.#connecting = null
    await open?.then((client) => client.end()).catch(() => {})
  }

  async #cancel(processId: number): Promise<void> {
    this.#connecting ??= this.#connect()
    const client = await this.#connecting
    try {
      await client.query('SELECT pg_cancel_backend($1)', [processId])
    } catch (error) {
      this.#connecting = null
      void client.end().catch(() => {})
      throw error
    }
  }

  async #connect(): Promise<pg.Client> {
    const own = this.#configure()
    const client = new pg.Client({ options: NO_OPTIONS, ...own, connectionTimeoutMillis: DEADLINE_MS, query_timeout: DEADLINE_MS })
    const forget = () => {
      this.#connecting = null
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
}
