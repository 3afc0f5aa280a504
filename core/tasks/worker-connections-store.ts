import { EventEmitter } from 'node:events'
import type { Knex } from 'knex'
import type { Pool, PoolClient } from 'pg'

/** The schema with the tables of graphile-worker. */
export const WORKER_SCHEMA = 'graphile_worker'

type Query = (statement: unknown, values?: unknown[]) => Promise<unknown>

/** Gives graphile-worker the connections of knex: it needs no further pool, and none to listen on. */
export class WorkerConnections {
  readonly #database: Knex
  readonly #ready: Promise<void>
  #isClosing = false

  /** @param ready settles before the first statement runs */
  constructor(database: Knex, ready: Promise<void> = Promise.resolve()) {
    this.#database = database
    this.#ready = ready
  }

  /** The parts of a pg pool that graphile-worker uses. */
  asPool(): Pool {
    const connect = (listen?: (error: null, client: PoolClient, release: () => void) => void) =>
      listen ? listen(null, silentListener(), () => {}) : this.#connect()
    const events = new EventEmitter().on('error', () => {}).on('connect', () => {})
    // graphile-worker uses nothing else of a pool.
    return Object.assign(events, { options: {}, connect }) as unknown as Pool
  }

  /** From now on, ignores an unavailable database: the next node that checks finds what could not be written. */
  close(): void {
    this.#isClosing = true
  }

  async #connect(): Promise<PoolClient> {
    await this.#ready
    const { client } = this.#database
    try {
      const connection = await client.acquireConnection()
      const query: Query = async (statement, values) => await this.#ignoreWhenClosing(() => connection.query(statement, values))
      return clientOf({ query, release: () => client.releaseConnection(connection) })
    } catch (error) {
      if (!this.#isClosing) throw error
      return clientOf({ query: async () => ({ rows: [] }), release() {} })
    }
  }

  async #ignoreWhenClosing(run: () => Promise<unknown>): Promise<unknown> {
    try {
      return await run()
    } catch (error) {
      if (!this.#isClosing) throw error
      return { rows: [] }
    }
  }
}

/** A connection without notifications: the queue itself notifies its workers, by type and over the presence of its node. */
const silentListener = () => clientOf({ on() {}, removeListener() {}, query: async () => ({ rows: [] }) })

// graphile-worker uses nothing else of a connection.
const clientOf = (parts: { query: Query; [part: string]: unknown }) => parts as unknown as PoolClient
