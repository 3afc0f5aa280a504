import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import { type Log, silentLog } from '#core/foundation/log.ts'
import { openTaskQueue, type TaskQueue } from '#core/tasks/task-queue.ts'
import { openTestDatabase } from '#test/support/database.ts'

/** Task queues of several nodes with one new database. */
export async function openQueues(t: Test, count: number, options: { sweepMs?: number; log?: Log } = {}) {
  const { database, url } = await openTestDatabase(t, { poolMax: 12 })
  const queues: TaskQueue[] = []
  for (let index = 0; index < count; index++) {
    queues.push(await openTaskQueue({ database, log: silentLog, nodeId: `node-${index}`, ...options }))
  }
  t.teardown(() => Promise.all(queues.map((queue) => queue.stop())))
  return { database, url, queues, queue: queues[0] as TaskQueue }
}

/** Polls until the condition is true. @throws after the timeout */
export async function until(what: () => Promise<boolean> | boolean, ms = 60_000): Promise<void> {
  const deadline = Date.now() + ms
  while (!(await what())) {
    if (Date.now() > deadline) throw new Error('Timeout while waiting for the condition')
    await sleep(10)
  }
}

export const task = (key: string, more: object = {}) => ({ type: 'analyze_book' as const, dedupeKey: key, ...more })

/** Until the end of the test, failed tasks are retried as soon as the queue polls: normally a retry waits half a minute. */
export function hastenTries(t: Test, database: Knex): void {
  const hasten = async () => {
    await database('tasks').where('status', 'pending').where('attempts', '>', 0).update({ scheduled_for: new Date() })
    await database.raw(
      `SELECT count(*) FROM graphile_worker.reschedule_jobs(ARRAY(SELECT id FROM graphile_worker.jobs WHERE attempts > 0 AND locked_at IS NULL AND run_at > now()),
         run_at := now())`,
    )
  }
  const timer = setInterval(() => hasten().catch(() => {}), 100)
  t.teardown(() => clearInterval(timer))
}

/** Inserts a task that runs on a node; the node has ended, unless the caller passes its lock. */
export async function addRunningTask(
  database: Knex,
  task: { type: string } & Record<string, unknown>,
  nodeId = 'gone',
  nodeLock: number | string = 1,
): Promise<[{ id: string; worker: string }]> {
  const worker = `synthetic ${randomUUID()}`
  return await database.transaction(async (trx) => {
    await trx('task_workers').insert({ worker, node_id: nodeId, node_lock: nodeLock })
    const state = { status: 'processing', runs: 1, attempts: 1, max_attempts: 4, priority: 100, started_at: new Date() }
    const [{ id }] = await trx('tasks').insert({ dedupe_key: worker, ...state, worker, ...task }, 'id')
    return [{ id, worker }]
  })
}
