import type { Knex } from 'knex'

interface Sums {
  succeeded: number
  failed: number
  retried: number
  items: number
  durationMs: number
  minMs: number
  maxMs: number
  waitMs: number
}

/** Metrics of the tasks of one type. Times in ms; `lastErrorAt` is ISO 8601. */
export interface TypeSums extends Sums {
  taskType: string
  durations: number[]
  lastError: string | null
  lastErrorAt: string | null
}

/** Metrics of one hour or day. */
export interface PeriodSums extends Sums {
  /** ISO 8601. */
  start: string
}

const SUMS = `sum(succeeded)::float8 AS succeeded, sum(failed)::float8 AS failed, sum(retried)::float8 AS retried, sum(items)::float8 AS items,
  sum(duration_ms)::float8 AS "durationMs", min(duration_min_ms)::float8 AS "minMs", max(duration_max_ms)::float8 AS "maxMs", sum(wait_ms)::float8 AS "waitMs"`

/** By type, most frequent first. */
export async function listTypeSums(database: Knex): Promise<TypeSums[]> {
  const { rows } = await database.raw(
    `SELECT m.*, e.last_error AS "lastError", e.last_error_at AS "lastErrorAt", coalesce(d.durations, '{}') AS durations
     FROM (SELECT task_type AS "taskType", ${SUMS} FROM task_metrics GROUP BY task_type) m
     LEFT JOIN LATERAL (SELECT last_error, last_error_at FROM task_metrics t WHERE t.task_type = m."taskType" AND last_error IS NOT NULL
       ORDER BY hour DESC LIMIT 1) e ON true
     LEFT JOIN (SELECT task_type, array_agg(n ORDER BY place) AS durations FROM (
       SELECT task_type, place, sum(n)::float8 AS n FROM task_metrics, unnest(durations) WITH ORDINALITY AS u (n, place) GROUP BY task_type, place
     ) summed GROUP BY task_type) d ON d.task_type = m."taskType"
     ORDER BY m.succeeded + m.failed DESC, m."taskType"`,
  )
  return (rows as (Omit<TypeSums, 'lastErrorAt'> & { lastErrorAt: Date | null })[]).map((row) => ({
    ...row,
    lastErrorAt: row.lastErrorAt?.toISOString() ?? null,
  }))
}

/** By hour or day (UTC), earliest first; periods without runs are missing. */
export async function listPeriodSums(
  database: Knex,
  { from, granularity, taskType }: { from: Date; granularity: 'hour' | 'day'; taskType: string | undefined },
): Promise<PeriodSums[]> {
  const { rows } = await database.raw(
    `SELECT date_trunc(:granularity, hour, 'UTC') AS start, ${SUMS} FROM task_metrics
     WHERE hour >= :from ${taskType === undefined ? '' : 'AND task_type = :taskType'} GROUP BY 1 ORDER BY 1`,
    { granularity, from, ...(taskType !== undefined && { taskType }) },
  )
  return (rows as (Sums & { start: Date })[]).map((row) => ({ ...row, start: row.start.toISOString() }))
}

/** The first hour with metrics; null if there is none. */
export async function findFirstHour(database: Knex): Promise<Date | null> {
  const row = await database('task_metrics').min({ hour: 'hour' }).first()
  return row?.hour ?? null
}
