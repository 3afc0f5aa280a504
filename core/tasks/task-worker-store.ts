import type { Knex } from 'knex'
import { LIVE_NODES } from '#core/cluster/presence-store.ts'
import { addJobs, resetJobs } from '#core/tasks/task-store.ts'
import { WORKER_SCHEMA } from '#core/tasks/worker-connections-store.ts'

/** A subquery: workers whose node is alive. */
export const LIVE_WORKERS = `SELECT worker FROM task_workers WHERE node_lock IN (${LIVE_NODES})`

/** Records the workers of a node, before they claim anything. */
export async function registerWorkers(
  database: Knex,
  node: { workers: readonly string[]; nodeId: string; nodeLock: number },
): Promise<void> {
  await database.raw(
    `INSERT INTO task_workers (worker, node_id, node_lock) SELECT worker, :nodeId, CAST(:nodeLock AS bigint) FROM unnest(CAST(:workers AS text[])) AS worker
     ON CONFLICT (worker) DO NOTHING`,
    { ...node, workers: [...node.workers] },
  )
}

/** Removes a worker that has ended. Its tasks are due again. */
export async function retireWorker(database: Knex, worker: string): Promise<void> {
  await database.transaction(async (trx) => {
    await trx('task_workers').where({ worker }).delete()
    await returnTasks(trx, [worker])
  })
}

/**
 * Queues tasks of dead nodes again, however often that happens: a kill, a power cut or a full machine is no error of the task, and a scan of
 * days must finish eventually. Such a run does not count as a try. Files that crash the server are found by name (see suspect-store.ts). Returns the number of tasks.
 * @param own workers of this node, which is alive even if it has lost the connection with its lock
 */
export async function requeueLost(database: Knex, own: readonly string[]): Promise<number> {
  return await database.transaction(async (trx) => {
    const { rows } = await trx.raw(
      `DELETE FROM task_workers WHERE worker <> ALL(CAST(? AS text[])) AND node_lock NOT IN (${LIVE_NODES}) RETURNING worker`,
      [[...own]],
    )
    return await returnTasks(
      trx,
      rows.map((row: { worker: string }) => row.worker),
    )
  })
}

/** Queues the tasks of unknown workers again; unlocks their jobs. */
async function returnTasks(trx: Knex.Transaction, workers: readonly string[]): Promise<number> {
  const { rows } = await trx.raw(
    `WITH picked AS (
       SELECT id FROM tasks t WHERE status = 'processing' AND NOT EXISTS (SELECT 1 FROM task_workers w WHERE w.worker = t.worker) ORDER BY id FOR UPDATE
     ) UPDATE tasks t SET status = CASE WHEN cancel_requested AND NOT retry_requested THEN 'cancelled' ELSE 'pending' END, worker = NULL,
       completed_at = CASE WHEN cancel_requested AND NOT retry_requested THEN now() END, cancel_requested = false, retry_requested = false,
       attempts = attempts - 1, progress_current = NULL, progress_total = NULL, progress_message = NULL
     FROM picked WHERE t.id = picked.id RETURNING t.id, t.status`,
  )
  if (rows.length === 0 && workers.length === 0) return 0
  const waiting = (rows as { id: string; status: string }[]).filter(({ status }) => status === 'pending').map(({ id }) => id)
  if (workers.length > 0) await trx.raw(`SELECT ${WORKER_SCHEMA}.force_unlock_workers(CAST(? AS text[]))`, [[...workers]])
  const { rows: queued } = await trx.raw(`SELECT key FROM ${WORKER_SCHEMA}.jobs WHERE key = ANY(CAST(? AS text[])) AND locked_at IS NULL`, [
    waiting,
  ])
  const known = new Set(queued.map((row: { key: string }) => row.key))
  await resetJobs(trx, waiting)
  await addJobs(
    trx,
    waiting.filter((id) => !known.has(id)),
  )
  return rows.length
}

/** The result of queueing a task of a dead node again. */
type Unlocked = 'requeued' | 'not running' | 'node alive'

/** Queues a running task again if its node is dead; the run does not count as a try. */
export async function requeueOfDeadNode(database: Knex, taskId: string): Promise<Unlocked> {
  return await database.transaction(async (trx) => {
    const task = await trx('tasks')
      .where({ id: taskId, status: 'processing' })
      .first('worker', trx.raw(`coalesce(worker IN (${LIVE_WORKERS}), false) AS lives`))
    if (!task) return 'not running'
    if (task.lives) return 'node alive'
    await trx('task_workers').where('worker', task.worker).delete()
    await returnTasks(trx, [task.worker])
    return 'requeued'
  })
}
