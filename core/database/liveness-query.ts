import type { Knex } from 'knex'
import { runInScope } from '#core/database/statement-scope.ts'
import { openSharedProbe } from '#core/foundation/shared-probe.ts'

/** `read_only`: it answers but takes no changes, for want of space or because an administrator wants it so. */
export type DatabaseState = 'ok' | 'read_only' | 'unavailable'

/** Codes of PostgreSQL that say so: insufficient_resources as disk_full, read_only_sql_transaction, io_error. */
const REFUSES_CHANGES = /^(?:53\w{3}|25006|58030)$/
/** No connection to be had at all is none of these, though it stands among them. */
const TOO_MANY_CONNECTIONS = '53300'

/**
 * Asks whether the database answers and takes changes, by a change of one row, at most once a second.
 * @param database a pool of its own: the others may be full
 * @param options.deadlineMs after which it counts as unavailable; the answer never takes longer
 */
export function openDatabaseProbe(database: Knex, { deadlineMs }: { deadlineMs: number }): () => Promise<DatabaseState> {
  return openSharedProbe<DatabaseState>({ ask: () => ask(database), late: 'unavailable', deadlineMs })
}

async function ask(database: Knex): Promise<DatabaseState> {
  const never = new AbortController()
  try {
    // Within a scope, so that a connection on which nothing comes back is cut and the next question gets another one.
    await runInScope({ owner: 'health', signal: () => never.signal }, () =>
      database('health_probe').insert({ id: 1, written_at: database.fn.now() }).onConflict('id').merge(),
    )
    return 'ok'
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return REFUSES_CHANGES.test(code) && code !== TOO_MANY_CONNECTIONS ? 'read_only' : 'unavailable'
  }
}
