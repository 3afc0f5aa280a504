import type { Knex } from 'knex'
import { refuse } from '#core/foundation/errors.ts'
import type { Scans } from '#core/scan/scans.ts'
import { getTask } from '#core/tasks/task-query.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

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
