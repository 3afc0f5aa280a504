import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import type { TaskType } from '#core/tasks/task.ts'
import { onlyVisibleTo } from '#core/tasks/task-query.ts'

/** Rows per statement: there may be a hundred thousand finished analyses. */
const STEP = 5_000
/** Whether a task of the type is running, or could begin now. */
export async function hasDueTask(database: Knex, type: TaskType): Promise<boolean> {
  const isDue = `status = 'processing' OR (status = 'pending' AND scheduled_for <= now())`
  return (await database('tasks').where({ type }).whereRaw(`(${isDue})`).first('id')) !== undefined
}

/**
 * Deletes tasks that ended at least so many days ago, in portions; returns how many.
 * @param by only tasks that this caller may see; null for all
 */
export async function deleteEndedTasks(database: Knex, { days, by }: { days: number; by: Caller | null }): Promise<number> {
  const known = by === null ? null : await onlyVisibleTo(database, by)
  for (let deleted = 0; ; ) {
    const some = database('tasks')
      .whereIn('tasks.status', ['completed', 'failed', 'cancelled'])
      .whereRaw('tasks.completed_at <= now() - make_interval(days => CAST(? AS integer))', [days])
      .limit(STEP)
      .select('tasks.id')
    if (known) some.modify(known)
    const count = await database('tasks').whereIn('id', some).delete()
    deleted += count
    if (count < STEP) return deleted
  }
}

/** How long the first task that could begin has waited, in ms; null if there is none. */
export async function findLongestWait(database: Knex, by: Caller): Promise<number | null> {
  const row = await database('tasks')
    .whereRaw(`tasks.status = 'pending' AND tasks.scheduled_for <= now()`)
    .modify(await onlyVisibleTo(database, by))
    .first(database.raw('floor(extract(epoch FROM now() - min(greatest(tasks.created_at, tasks.scheduled_for))) * 1000)::bigint AS ms'))
  return row?.ms === null || row === undefined ? null : Number(row.ms)
}
