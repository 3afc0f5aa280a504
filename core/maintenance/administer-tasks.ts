import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Scans } from '#core/scan/scans.ts'
import { TASK_PRIORITY, type TaskType } from '#core/tasks/task.ts'
import { deleteEndedTasks } from '#core/tasks/task-admin-store.ts'
import { getTask } from '#core/tasks/task-query.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'
import { requeueOfDeadNode } from '#core/tasks/task-worker-store.ts'

interface Dependencies {
  database: Knex
  tasks: TaskQueue
  scans: Scans
}

/** Cancels every task, scans first, and deletes all that have ended; returns how many it deleted. Running tasks end later, and stay in the list. */
export async function removeAllTasks({ database, tasks, scans }: Dependencies): Promise<number> {
  // A scan has its own row with its state.
  await Promise.all((await scans.listActive()).map(async ({ taskId }) => taskId && (await scans.cancelOne(taskId))))
  for (const type of Object.keys(TASK_PRIORITY) as TaskType[]) if (type !== 'scan_library') await tasks.cancelAll({ type, all: true })
  return await deleteEndedTasks(database, { days: 0, by: null })
}

/** Queues a task again whose node has died; normally this happens by itself within seconds. @throws not_found; conflict while its node is alive */
export async function unlockTask({ database }: Pick<Dependencies, 'database'>, caller: Caller, taskId: string): Promise<string> {
  const task = await getTask(database, taskId, caller)
  switch (await requeueOfDeadNode(database, taskId)) {
    case 'requeued':
      return 'The task is queued again.'
    case 'not running':
      return `The task is not running (${task.status}): there is nothing to unlock.`
    case 'node alive':
      refuse('conflict', `This task runs on ${task.lockedBy ?? 'a node'}, which is alive. Cancel it, and retry it when it has ended.`)
  }
}
