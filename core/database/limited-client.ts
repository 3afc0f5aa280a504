import PostgresClient from 'knex/lib/dialects/postgres/index.js'
import { namePrepared } from '#core/database/prepared.ts'
import { type Connection, NoPlace, noConnection, type StatementLimiter, waitedTooLong } from '#core/database/statement-limits.ts'
import { currentScope, type LiveScope, runWithPlace } from '#core/database/statement-scope.ts'

/** What statements of a scope wait for besides their own limits: a place to run in, and a share of the connections. */
class ScopeWaits {
  readonly #limiter: StatementLimiter
  readonly #shares = new WeakMap<object, () => void>()

  constructor(limiter: StatementLimiter) {
    this.#limiter = limiter
  }

  /** Without a place, the connection was released; another one is acquired when there is a place. */
  async runAgain(scope: LiveScope, run: () => Promise<unknown>): Promise<unknown> {
    const { limits, places } = this.#limiter
    scope.onWait?.()
    const begun = performance.now()
    const release = await places.take(scope.owner, limits.waitMs - scope.waitedMs)
    scope.waitedMs += performance.now() - begun
    if (release === null) throw waitedTooLong(limits)
    try {
      return await runWithPlace(scope, run)
    } finally {
      release()
    }
  }

  /** @param isFull whether all connections are in use */
  async acquireShare(scope: LiveScope, isFull: () => boolean, acquire: (waitMs: number) => Promise<object>): Promise<object> {
    const { limits, shares } = this.#limiter
    const begun = performance.now()
    const free = shares.tryTake(scope.owner)
    if (free === null || isFull()) scope.onWait?.()
    const release = free ?? (await shares.take(scope.owner, limits.acquireMs))
    if (release === null) throw noConnection()
    try {
      const connection = await acquire(limits.acquireMs - (performance.now() - begun))
      this.#shares.set(connection, release)
      return connection
    } catch (error) {
      release()
      throw error
    }
  }

  releaseShare(connection: object): void {
    this.#shares.get(connection)?.()
    this.#shares.delete(connection)
  }
}

/**
 * A knex client that applies the limits of the current scope, if any, to its statements. Every statement of every query builder passes
 * through here, so that queries need no code for it. The class holds the limiter: clients of transactions inherit methods but no fields.
 */
export function limitedClient(limiter: StatementLimiter): typeof PostgresClient {
  const waits = new ScopeWaits(limiter)

  return class LimitedClient extends PostgresClient {
    override runner(builder: unknown) {
      const runner = super.runner(builder)
      const stored = currentScope()
      if (stored === null || stored.hasPlace || this.transacting) return runner
      const run = runner.run.bind(runner)
      const limited = () =>
        run().catch((error: unknown) => {
          if (error instanceof NoPlace) return waits.runAgain(stored.scope, () => super.runner(builder).run())
          throw error
        })
      // Not assigned where it is written: V8 allocates such functions as old objects, and this one would keep the request until a full collection.
      runner.run = limited
      return runner
    }

    override query(connection: unknown, statement: unknown): Promise<unknown> {
      const stored = currentScope()
      const start = () => {
        const naming = namePrepared(connection, statement)
        return naming === null ? super.query(connection, statement) : naming.then(() => super.query(connection, statement))
      }
      if (stored === null) return start()
      const sql = typeof statement === 'string' ? statement : (statement as { sql: string }).sql
      const mayRunAgain = !stored.hasPlace && !this.transacting
      return limiter.run({ sql, connection: connection as Connection, scope: stored.scope, mayRunAgain }, start)
    }

    override async acquireConnection(): Promise<object> {
      const stored = currentScope()
      if (stored === null) return await super.acquireConnection()
      const pool = this.pool as Pool
      const isFull = () => pool !== undefined && pool.numUsed() + pool.numPendingCreates() >= pool.max
      return await waits.acquireShare(stored.scope, isFull, (waitMs) => acquireWithin(pool, waitMs))
    }

    override releaseConnection(connection: object): Promise<void> {
      waits.releaseShare(connection)
      return super.releaseConnection(connection)
    }

    override async destroy(callback?: unknown): Promise<void> {
      await super.destroy(callback)
      await limiter.close()
    }
  }
}

/** The pool of an open client; after `destroy` there is none. */
type Pool =
  | { acquire(): { promise: Promise<object>; abort(): void }; numUsed(): number; numPendingCreates(): number; max: number }
  | undefined

async function acquireWithin(pool: Pool, waitMs: number): Promise<object> {
  if (!pool) throw new Error('Unable to acquire a connection')
  const pending = pool.acquire()
  let isLate = false
  const abort = () => {
    isLate = true
    pending.abort()
  }
  const timer = setTimeout(abort, Math.max(1, waitMs))
  try {
    return await pending.promise
  } catch (error) {
    throw isLate ? noConnection() : error
  } finally {
    clearTimeout(timer)
  }
}
