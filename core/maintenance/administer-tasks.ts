import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Scans } from '#core/ingest/scans.ts'
import { TASK_PRIORITY, type TaskQueue, type TaskType } from '#core/tasks/task.ts'
import { deleteEndedTasks } from '#core/tasks/task-admin-store.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { takeFromLostNode } from '#core/tasks/task-worker-store.ts'

interface Dependencies {
  database: Knex
  tasks: TaskQueue
  scans: Scans
}

/** Cancels every task, scans first, and forgets all that have ended; answers how many were forgotten. What still runs ends, and stays to be read. */
export async function removeAllTasks({ database, tasks, scans }: Dependencies): Promise<number> {
  // A scan has a row of its own that says how it stands.
  await Promise.all((await scans.listActive()).map(async ({ taskId }) => taskId && (await scans.cancelOne(taskId))))
  for (const type of Object.keys(TASK_PRIORITY) as TaskType[]) if (type !== 'scan_library') await tasks.cancelAll({ type, all: true })
  return await deleteEndedTasks(database, { days: 0, by: null })
}

/** Forgets tasks that ended at least so many days ago, of those that the caller may know of; answers how many. */
export async function forgetEndedTasks({ database }: Pick<Dependencies, 'database'>, caller: Caller, days: number): Promise<number> {
  return await deleteEndedTasks(database, { days, by: caller })
}

/** Puts a task back in line whose node is gone, which happens within seconds by itself. @throws not_found; conflict while its node lives */
export async function unlockTask({ database }: Pick<Dependencies, 'database'>, caller: Caller, taskId: string): Promise<string> {
  const task = await getTask(database, taskId, caller)
  switch (await takeFromLostNode(database, taskId)) {
    case 'taken back':
      return 'The task is back in line.'
    case 'not running':
      return `Nobody holds this task (${task.status}): there is nothing to unlock.`
    case 'node lives':
      refuse('conflict', `This task runs on ${task.lockedBy ?? 'a node'}, which lives. Cancel it, and try it again when it has ended.`)
  }
}
