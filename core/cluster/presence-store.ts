import { randomInt } from 'node:crypto'
import type { Knex } from 'knex'
import { type Channel, openChannel } from '#core/cluster/channel-store.ts'

/** On which nodes tell each other things; a hint only, since everybody also looks for himself every few seconds. */
const CHANNEL = 'carrel_node'

/** A subquery: the locks of all nodes whose connection is there, see {@link openPresence}. */
export const LIVE_NODES = `SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** The lock of a node: unlike that of any other process, and exact in a double. */
export const newNodeLock = (): number => randomInt(1, 2 ** 48 - 1)

/** A connection of our own that hears the other nodes, and by holding a lock shows them that this node lives. */
export type Presence = Channel

/**
 * @param options.onSignal what other nodes (and this one) said, as it was given to {@link sendSignal}
 * @param options.onReturn the connection is back after a loss, during which signals were missed and the lock was held by nobody
 * @throws when the first connection fails
 */
export async function openPresence(
  database: Knex,
  options: { nodeLock: number; onSignal: (signal: unknown) => void; onReturn: () => void; onLoss: (error: unknown) => void },
): Promise<Presence> {
  const { nodeLock, onSignal, onReturn, onLoss } = options
  return await openChannel(database, {
    name: CHANNEL,
    prepare: (client) => client.query('SELECT pg_advisory_lock($1)', [nodeLock]),
    onPayload: (payload) => onSignal(JSON.parse(payload)),
    onReturn,
    onLoss,
  })
}

/** @param signal JSON of less than 8,000 bytes. Inside a transaction it is sent with the commit. */
export async function sendSignal(database: Knex, signal: unknown): Promise<void> {
  await database.raw('SELECT pg_notify(?, ?)', [CHANNEL, JSON.stringify(signal)])
}
