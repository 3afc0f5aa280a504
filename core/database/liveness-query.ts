import type { Knex } from 'knex'
import { sharedProbe } from '#core/database/shared-probe.ts'
import { runInScope } from '#core/database/statement-scope.ts'

/** `read_only`: it answers but accepts no changes, because the disk is full or an administrator configured it so. */
export type DatabaseState = 'ok' | 'read_only' | 'unavailable'

/** The error codes of PostgreSQL for that: insufficient_resources such as disk_full, read_only_sql_transaction, io_error. */
const REFUSES_CHANGES = /^(?:53\w{3}|25006|58030)$/
/** A failure to connect is not `read_only`, although its code is in the same class. */
const TOO_MANY_CONNECTIONS = '53300'

/**
 * Checks whether the database answers and accepts changes, by changing one row, at most once a second.
 * @param database a pool of its own: the others may be full
 * @param options.deadlineMs after which it counts as unavailable; the check never takes longer
 */
export function databaseProbe(database: Knex, { deadlineMs }: { deadlineMs: number }): () => Promise<DatabaseState> {
  return sharedProbe<DatabaseState>({ check: () => check(database), late: 'unavailable', deadlineMs })
}

async function check(database: Knex): Promise<DatabaseState> {
  const never = new AbortController()
  try {
    // In a scope, so that a connection without an answer is closed and the next check gets another one.
    await runInScope({ owner: 'health', signal: () => never.signal }, () =>
      database('health_probe').insert({ id: 1, written_at: database.fn.now() }).onConflict('id').merge(),
    )
    return 'ok'
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return REFUSES_CHANGES.test(code) && code !== TOO_MANY_CONNECTIONS ? 'read_only' : 'unavailable'
  }
}
