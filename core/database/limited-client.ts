import PostgresClient from 'knex/lib/dialects/postgres/index.js'
import { namePrepared } from '#core/database/prepared.ts'
import type { Connection, Pool, StatementLimiter } from '#core/database/statement-limits.ts'
import { currentScope } from '#core/database/statement-scope.ts'

/**
 * A knex client that applies the limits of the current scope, if any, to its statements. Every statement of every query builder passes
 * through here, so that queries need no code for it. The class holds the limiter: clients of transactions inherit methods but no fields.
 */
export function limitedClient(limiter: StatementLimiter): typeof PostgresClient {
  return class LimitedClient extends PostgresClient {
    override query(given: unknown, statement: unknown): Promise<unknown> {
      const connection = given as Connection
      const scope = currentScope()
      const sql = typeof statement === 'string' ? statement : (statement as { sql: string }).sql
      const about = { sql, isInside: this.transacting === true }
      const start = () => {
        const waits = [limiter.prepare(connection, scope, about), namePrepared(connection, statement)].filter((one) => one !== null)
        return waits.length === 0 ? super.query(connection, statement) : Promise.all(waits).then(() => super.query(connection, statement))
      }
      return scope === null ? start() : limiter.run(connection, scope, about, start)
    }

    override async acquireConnection(): Promise<object> {
      const scope = currentScope()
      if (scope !== null) return await limiter.acquire(scope, this.pool as Pool)
      const connection = await super.acquireConnection()
      try {
        // Some statements of the queue do not pass through here.
        await limiter.prepare(connection as Connection, null, { sql: '', isInside: false })
        return connection
      } catch (error) {
        await super.releaseConnection(connection)
        throw error
      }
    }

    override releaseConnection(connection: object): Promise<void> {
      limiter.release(connection)
      return super.releaseConnection(connection)
    }

    override async destroy(callback?: unknown): Promise<void> {
      await super.destroy(callback)
      await limiter.close()
    }
  }
}
