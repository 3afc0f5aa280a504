import { EventEmitter } from 'node:events'
import type { Knex } from 'knex'
import type { Pool, PoolClient } from 'pg'

/** Where graphile-worker keeps its tables. */
export const WORKER_SCHEMA = 'graphile_worker'

type Query = (statement: unknown, values?: unknown[]) => Promise<unknown>

/** The connections of knex, as graphile-worker wants them: it needs no pool beside the one that is there, and none to listen on. */
export class WorkerConnections {
  readonly #database: Knex
  readonly #ready: Promise<void>
  #isClosing = false

  /** @param ready no statement is run before */
  constructor(database: Knex, ready: Promise<void> = Promise.resolve()) {
    this.#database = database
    this.#ready = ready
  }

  /** What graphile-worker takes for a pool of pg; it uses no more of it than this. */
  asPool(): Pool {
    const connect = (listen?: (error: null, client: PoolClient, release: () => void) => void) =>
      listen ? listen(null, silentListener(), () => {}) : this.#connect()
    const events = new EventEmitter().on('error', () => {}).on('connect', () => {})
    return Object.assign(events, { options: {}, connect }) as unknown as Pool
  }

  /** From now on a database that is away keeps nobody waiting: what could not be told to it is found by the next node that looks. */
  close(): void {
    this.#isClosing = true
  }

  async #connect(): Promise<PoolClient> {
    await this.#ready
    const { client } = this.#database
    try {
      const connection = await client.acquireConnection()
      const query: Query = async (statement, values) => await this.#bearClosing(() => connection.query(statement, values))
      return { query, release: () => client.releaseConnection(connection) } as unknown as PoolClient
    } catch (error) {
      if (!this.#isClosing) throw error
      return { query: async () => ({ rows: [] }), release() {} } as unknown as PoolClient
    }
  }

  async #bearClosing(run: () => Promise<unknown>): Promise<unknown> {
    try {
      return await run()
    } catch (error) {
      if (!this.#isClosing) throw error
      return { rows: [] }
    }
  }
}

/** A connection on which nothing is heard: the queue nudges its workers itself, by type and over the presence of its node. */
const silentListener = () => ({ on() {}, removeListener() {}, query: async () => ({ rows: [] }) }) as unknown as PoolClient
