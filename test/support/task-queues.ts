import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import type { TaskQueue } from '#core/tasks/task.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { openTestDatabase } from '#test/support/database.ts'

/** Task queues of several nodes over one fresh database. */
export async function openQueues(t: Test, count: number, options: { sweepMs?: number } = {}) {
  const { database, url } = await openTestDatabase(t, { poolMax: 12 })
  const queues: TaskQueue[] = []
  for (let index = 0; index < count; index++) {
    queues.push(await openTaskQueue({ database, log: silentLog, nodeId: `node-${index}`, retryDelaySeconds: 1, ...options }))
  }
  t.teardown(() => Promise.all(queues.map((queue) => queue.stop())))
  return { database, url, queues, queue: queues[0] as TaskQueue }
}

/** @throws when it is not so in time */
export async function until(what: () => Promise<boolean> | boolean, ms = 60_000): Promise<void> {
  const deadline = Date.now() + ms
  while (!(await what())) {
    if (Date.now() > deadline) throw new Error('waited in vain')
    await sleep(10)
  }
}

export const task = (key: string, more: object = {}) => ({ type: 'analyze_book' as const, dedupeKey: key, ...more })
