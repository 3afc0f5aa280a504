import { randomInt } from 'node:crypto'
import type { Knex } from 'knex'
import { Channel } from '#core/cluster/channel-store.ts'

/** The channel for signals between nodes. Signals are only hints, since every node also polls. */
const CHANNEL = 'carrel_node'

/** A subquery: the locks of all connected nodes, see {@link openPresence}. */
export const LIVE_NODES = `SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** A random lock for a node: unique among processes, and exact in a double. */
export const newNodeLock = (): number => randomInt(1, 2 ** 48 - 1)

/**
 * Opens a separate connection that receives signals of other nodes, and whose advisory lock shows them that this node is alive.
 * @param options.onSignal receives the signals of all nodes, including this one, as given to {@link sendSignal}
 * @param options.onReturn the connection is restored after a loss, during which signals were missed and the lock was free
 * @throws when the first connection fails
 */
export async function openPresence(
  database: Knex,
  options: { nodeLock: number; onSignal: (signal: unknown) => void; onReturn: () => void; onLoss: (error: unknown) => void },
): Promise<Channel> {
  const { nodeLock, onSignal, onReturn, onLoss } = options
  return await new Channel(database, {
    name: CHANNEL,
    prepare: (client) => client.query('SELECT pg_advisory_lock($1)', [nodeLock]),
    onPayload: (payload) => onSignal(JSON.parse(payload)),
    onReturn,
    onLoss,
  }).open()
}

/** @param signal JSON of less than 8,000 bytes. Inside a transaction it is sent with the commit. */
export async function sendSignal(database: Knex, signal: unknown): Promise<void> {
  await database.raw('SELECT pg_notify(?, ?)', [CHANNEL, JSON.stringify(signal)])
}
