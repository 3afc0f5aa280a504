import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { visibleMessage } from '#core/account/path-view.ts'
import { isRestricted } from '#core/account/user-store.ts'
import { percentileOf } from '#core/tasks/duration.ts'
import { findLongestWait } from '#core/tasks/task-admin-store.ts'
import { findFirstHour, listPeriodSums, listTypeSums, type PeriodSums, type TypeSums } from '#core/tasks/task-metric-query.ts'
import { countTasks } from '#core/tasks/task-query.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/**
 * Metrics of tasks and the state of the queue. The metrics do not record which series they concern, so they are empty for callers who do not see
 * every series.
 */
export async function readTaskReport(database: Knex, caller: Caller) {
  const isVisible = !(await isRestricted(database, caller))
  const [types, first, stats, oldestPendingAgeMs] = await Promise.all([
    isVisible ? listTypeSums(database) : [],
    isVisible ? findFirstHour(database) : null,
    countTasks(database, caller),
    findLongestWait(database, caller),
  ])
  const sum = (name: 'succeeded' | 'failed' | 'durationMs' | 'waitMs') => types.reduce((total, type) => total + type[name], 0)
  const executed = sum('succeeded') + sum('failed')
  const minutes = first === null ? 1 : Math.max(1, (Date.now() - first.getTime()) / MINUTE_MS)
  return {
    summary: {
      totalExecuted: executed,
      totalSucceeded: sum('succeeded'),
      totalFailed: sum('failed'),
      avgDurationMs: ratio(sum('durationMs'), executed),
      avgQueueWaitMs: ratio(sum('waitMs'), executed),
      tasksPerMinute: executed / minutes,
    },
    byType: types.map((type) => describeType(type, caller)),
    queue: {
      pendingCount: stats.pending,
      processingCount: stats.processing,
      staleCount: stats.stale,
      oldestPendingAgeMs,
    },
  }
}

/** The metrics by hour or day; periods without tasks are missing. */
export async function readTaskHistory(
  database: Knex,
  caller: Caller,
  request: { days: number; granularity: 'hour' | 'day'; taskType: string | undefined },
) {
  const to = new Date()
  const from = new Date(to.getTime() - request.days * DAY_MS)
  const isVisible = !(await isRestricted(database, caller))
  const periods = isVisible ? await listPeriodSums(database, { ...request, from }) : []
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    points: periods.map((period) => describePeriod(period, request.taskType ?? null)),
  }
}

const ratio = (part: number, whole: number) => (whole === 0 ? 0 : part / whole)

function describeType(type: TypeSums, caller: Caller) {
  const executed = type.succeeded + type.failed
  // Only last tries are timed.
  const isTimed = executed > 0
  const seesErrors = caller.permissions.has('tasks-read')
  return {
    taskType: type.taskType,
    executed,
    succeeded: type.succeeded,
    failed: type.failed,
    retried: type.retried,
    avgDurationMs: ratio(type.durationMs, executed),
    minDurationMs: isTimed ? type.minMs : 0,
    maxDurationMs: type.maxMs,
    p50DurationMs: percentileOf(type.durations, 0.5, type.maxMs),
    p95DurationMs: percentileOf(type.durations, 0.95, type.maxMs),
    avgQueueWaitMs: ratio(type.waitMs, executed),
    itemsProcessed: type.items,
    bytesProcessed: 0,
    throughputPerSec: ratio(type.items * 1000, type.durationMs),
    errorRatePct: ratio(type.failed * 100, executed),
    lastError: seesErrors && type.lastError !== null ? visibleMessage(caller, type.lastError) : null,
    lastErrorAt: type.lastErrorAt,
  }
}

function describePeriod(period: PeriodSums, taskType: string | null) {
  const count = period.succeeded + period.failed
  return {
    periodStart: period.start,
    taskType,
    count,
    succeeded: period.succeeded,
    failed: period.failed,
    avgDurationMs: ratio(period.durationMs, count),
    minDurationMs: count > 0 ? period.minMs : 0,
    maxDurationMs: period.maxMs,
    itemsProcessed: period.items,
    bytesProcessed: 0,
  }
}
