import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { TaskType } from '#core/tasks/task.ts'
import { onlyKnownTo } from '#core/tasks/task-query.ts'
import { QUEUE_SCHEMA } from '#core/tasks/task-store.ts'

/** Rows of one statement: finished analyses come by the hundred thousand. */
const STEP = 5_000
/** A claim without the row of its run after this time has lost its node in between, see takeBackLost. */
const ORPHAN_SECONDS = 10

/** Nodes whose connection is there hold a lock of their own. */
const LIVE_NODES = `SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** Whether a task of the type waits or runs. */
export async function hasOpenTask(database: Knex, type: TaskType): Promise<boolean> {
  const { rows } = await database.raw(
    `SELECT 1 FROM ${QUEUE_SCHEMA}.job j WHERE j.name = ? AND (j.state IN ('created', 'retry', 'active')
       OR (j.state = 'cancelled' AND EXISTS (SELECT 1 FROM task_runs r WHERE r.task_id = j.id))) LIMIT 1`,
    [type],
  )
  return rows.length > 0
}

/**
 * Forgets tasks that ended at least so many days ago, a piece at a time; answers how many. What still runs after it was cancelled stays.
 * @param by only those that this caller may know of; null for all
 */
export async function deleteEndedTasks(database: Knex, { days, by }: { days: number; by: Caller | null }): Promise<number> {
  const known = by === null ? null : await onlyKnownTo(database, by)
  for (let deleted = 0; ; ) {
    const some = database(`${QUEUE_SCHEMA}.job`)
      .whereRaw(`job.state IN ('completed', 'failed', 'cancelled') AND job.name NOT LIKE '\\_\\_pgboss%'`)
      .whereRaw('job.completed_on <= now() - make_interval(days => CAST(? AS integer))', [days])
      .whereRaw('NOT EXISTS (SELECT 1 FROM task_runs r WHERE r.task_id = job.id)')
      .limit(STEP)
      .select('job.id')
    if (known) some.modify(known)
    const count = await database(`${QUEUE_SCHEMA}.job`).whereIn('id', some).delete()
    deleted += count
    if (count < STEP) return deleted
  }
}

/** How a task stands that somebody wants taken from its node. */
export type Unlocked = 'taken back' | 'not running' | 'node lives'

/** Puts a running task back in line whose node is gone; it costs no try. */
export async function takeFromLostNode(database: Knex, taskId: string): Promise<Unlocked> {
  return await database.transaction(async (trx) => {
    const { rows } = await trx.raw(
      `SELECT r.task_id IS NULL AND j.started_on >= now() - make_interval(secs => :orphan) OR coalesce(r.node_lock IN (${LIVE_NODES}), false) AS lives
       FROM ${QUEUE_SCHEMA}.job j LEFT JOIN task_runs r ON r.task_id = j.id WHERE j.id = :taskId AND j.state = 'active' FOR UPDATE OF j`,
      { taskId, orphan: ORPHAN_SECONDS },
    )
    const [found] = rows as { lives: boolean }[]
    if (!found) return 'not running'
    if (found.lives) return 'node lives'
    await trx('task_runs').where('task_id', taskId).delete()
    await trx.raw(
      `UPDATE ${QUEUE_SCHEMA}.job SET state = 'retry', heartbeat_on = NULL, start_after = now(),
         retry_limit = retry_limit + CASE WHEN started_on IS NULL THEN 0 ELSE 1 END WHERE id = ? AND state = 'active'`,
      [taskId],
    )
    return 'taken back'
  })
}

/** How long the first of those that wait and may begin has waited, in ms; null where none does. */
export async function findLongestWait(database: Knex, by: Caller): Promise<number | null> {
  const row = await database(`${QUEUE_SCHEMA}.job`)
    .whereRaw(`job.state IN ('created', 'retry') AND job.start_after <= now() AND job.name NOT LIKE '\\_\\_pgboss%'`)
    .modify(await onlyKnownTo(database, by))
    .first(database.raw('floor(extract(epoch FROM now() - min(greatest(job.created_on, job.start_after))) * 1000)::bigint AS ms'))
  return row?.ms === null || row === undefined ? null : Number(row.ms)
}
