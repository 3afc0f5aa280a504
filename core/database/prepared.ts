import { hash } from 'node:crypto'
import type { Knex } from 'knex'

/**
 * Marks a query that every request of its kind sends: each connection plans it once, which else costs more than running it. Not for conditions and
 * searches of users: PostgreSQL would plan those without knowing how many rows their values match.
 */
export const prepared = <Query extends Knex.Raw | Knex.QueryBuilder>(query: Query): Query => query.options({ prepare: true }) as Query

/** Of one connection, where each takes some 50 KB of the database server's memory. */
const PREPARED_MAX = 200

/** The name of the prepared statement with this text, equal on all connections. */
const nameOf = (sql: string): string => `carrel_${hash('sha256', sql, 'hex').slice(0, 32)}`

/** The part of a pg connection that is used here. */
interface PgConnection {
  connection: { parsedStatements: Record<string, string> }
  query(text: string): Promise<unknown>
}

const counts = new WeakMap<object, number>()

/**
 * Names a marked statement before it is sent. A connection that has too many forgets them all first.
 * @returns what the statement has to wait for; null for nothing
 */
export function namePrepared(connection: unknown, statement: unknown): Promise<void> | null {
  const marked = statement as { sql: string; options?: { prepare?: boolean; name?: string } }
  if (marked.options?.prepare !== true) return null
  const name = nameOf(marked.sql)
  marked.options.name = name
  const pg = connection as PgConnection
  if (pg.connection.parsedStatements[name] !== undefined) return null
  const count = (counts.get(pg) ?? 0) + 1
  counts.set(pg, count > PREPARED_MAX ? 1 : count)
  return count > PREPARED_MAX ? forgetAll(pg) : null
}

async function forgetAll(pg: PgConnection): Promise<void> {
  // In a transaction that has failed, the statement itself says so.
  await pg.query('DEALLOCATE ALL').catch(() => {})
  pg.connection.parsedStatements = {}
}
