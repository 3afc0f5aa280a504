import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Pool, PoolClient } from 'pg'

/** The schema with the tables of graphile-worker. */
export const WORKER_SCHEMA = 'graphile_worker'

/** The pause after a lost connection; the database may be restarting. */
const RETRY_MS = 1_000

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

  /** The connection is taken from knex with the first statement, so that what keeps it away is the failure of a statement. */
  async #connect(): Promise<PoolClient> {
    await this.#ready
    const { client } = this.#database
    let connection: { query: Query } | null = null
    const release = async () => {
      const held = connection
      connection = null
      if (held) await client.releaseConnection(held)
    }
    const query: Query = async (statement, values) => {
      for (;;) {
        try {
          connection ??= (await client.acquireConnection()) as { query: Query }
          return await connection.query(statement, values)
        } catch (error) {
          if (this.#isClosing) return { rows: [] }
          if (!isAboutTypes(statement)) throw error
          await release()
          await sleep(RETRY_MS)
        }
      }
    }
    return clientOf({ query, release })
  }
}

/**
 * graphile-worker asks for the ids of its types once and keeps the answer, even if it is an error: its workers would never claim a job again. So these
 * statements are tried until the database answers.
 */
const isAboutTypes = (statement: unknown): boolean => ((statement as { text?: string }).text ?? '').includes('_private_tasks as tasks')

/** A connection without notifications: the queue itself notifies its workers, by type and over the presence of its node. */
const silentListener = () => clientOf({ on() {}, removeListener() {}, query: async () => ({ rows: [] }) })

// graphile-worker uses nothing else of a connection.
const clientOf = (parts: { query: Query; [part: string]: unknown }) => parts as unknown as PoolClient
