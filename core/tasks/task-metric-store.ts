import type { Knex } from 'knex'

/** Metrics of the tasks of one type within one hour. */
export interface TaskHour {
  task_type: string
  /** ISO 8601, a whole hour. */
  hour: string
  succeeded: number
  failed: number
  /** Failed tries that were followed by another. */
  retried: number
  items: number
  duration_ms: number
  duration_min_ms: number
  duration_max_ms: number
  wait_ms: number
  /** Number of runs by class of duration. */
  durations: number[]
  last_error: string | null
  last_error_at: string | null
}

/** Adds to the metrics of these hours. */
export async function addTaskHours(database: Knex, hours: readonly TaskHour[]): Promise<void> {
  const sums = ['succeeded', 'failed', 'retried', 'items', 'duration_ms', 'wait_ms']
  await database.raw(
    `INSERT INTO task_metrics AS m SELECT * FROM jsonb_populate_recordset(NULL::task_metrics, CAST(? AS jsonb)) AS r ORDER BY r.hour, r.task_type
     ON CONFLICT (hour, task_type) DO UPDATE SET ${sums.map((name) => `${name} = m.${name} + excluded.${name}`).join(', ')},
       duration_min_ms = least(m.duration_min_ms, excluded.duration_min_ms), duration_max_ms = greatest(m.duration_max_ms, excluded.duration_max_ms),
       durations = array(SELECT coalesce(a, 0) + coalesce(b, 0) FROM unnest(m.durations, excluded.durations) WITH ORDINALITY AS d (a, b, place) ORDER BY place),
       last_error = coalesce(excluded.last_error, m.last_error), last_error_at = coalesce(excluded.last_error_at, m.last_error_at)`,
    [JSON.stringify(hours)],
  )
}

/** Deletes metrics that are older than so many days, 0 for all; returns the number of rows (hours of types). */
export async function deleteTaskHours(database: Knex, olderThanDays: number): Promise<number> {
  const query = database('task_metrics')
  if (olderThanDays > 0) query.whereRaw('hour < now() - make_interval(days => CAST(? AS integer))', [olderThanDays])
  return await query.delete()
}
