import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import type { Scans } from '#core/scan/scans.ts'
import type { TaskType } from '#core/tasks/task.ts'
import { deleteEndedTasks } from '#core/tasks/task-admin-store.ts'
import { countTasks, getTask } from '#core/tasks/task-query.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'
import { requeueOfDeadNode } from '#core/tasks/task-worker-store.ts'

interface Dependencies {
  database: Knex
  tasks: TaskQueue
  scans: Scans
}

/** Cancels a task for a user; returns a sentence, which differs while the task still runs. @throws not_found; conflict when it has ended */
export async function cancelTask({ database, tasks, scans }: Dependencies, taskId: string): Promise<string> {
  const task = await getTask(database, taskId)
  // A scan has its own row with its state.
  const stop = async () => (task.taskType === 'scan_library' ? await scans.cancelOne(taskId) : await tasks.cancel(taskId))
  if (!(await stop())) refuse('conflict', `This task has ended already (${(await getTask(database, taskId)).status}).`)
  return (await getTask(database, taskId)).status === 'processing'
    ? 'The task is being cancelled; it still runs until it reaches a point where it can stop.'
    : 'The task was cancelled.'
}

/** Queues a failed or canceled task again; returns a sentence. @throws not_found; conflict when it is neither */
export async function retryTask({ database, tasks }: Dependencies, taskId: string): Promise<string> {
  const task = await getTask(database, taskId)
  if (task.taskType === 'scan_library') refuse('conflict', 'A scan cannot be retried: start a new one.')
  if (task.status !== 'failed' && task.status !== 'cancelled') {
    refuse('conflict', `Only failed and cancelled tasks can be retried; this one is ${task.status}.`)
  }
  if (!(await tasks.retry(taskId))) refuse('conflict', 'Another task for the same work is waiting already.')
  return 'The task is queued again.'
}

/** Cancels every task, scans first, and deletes all that have ended; returns how many it deleted. Running tasks end later, and stay in the list. */
export async function removeAllTasks({ database, tasks, scans }: Dependencies): Promise<number> {
  // A scan has its own row with its state.
  await Promise.all((await scans.listActive()).map(async ({ taskId }) => taskId && (await scans.cancelOne(taskId))))
  // Those in the table: an earlier version may have left some of a type that is none any more, which would wait forever.
  const types = Object.keys((await countTasks(database)).byType) as TaskType[]
  for (const type of types) if (type !== 'scan_library') await tasks.cancelAll({ type, all: true })
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
