import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { Inventory, readInventory } from '#core/catalog/inventory-query.ts'
import { Nullable, OneOf, Timestamp } from '#core/foundation/schema.ts'
import { findFirstHour } from '#core/tasks/task-metric-query.ts'
import { deleteTaskHours } from '#core/tasks/task-metric-store.ts'
import { METRICS_KEPT_DAYS } from '#core/tasks/task-metrics.ts'
import { readTaskHistory, readTaskReport } from '#core/tasks/task-report.ts'

type Services = Pick<DataServices, 'database'> & Pick<WorkServices, 'taskMetrics'>
const endpoint = endpointOf<Services>()

const DAYS_DEFAULT = 7
const Count = Type.Integer({ minimum: 0 })
const Average = Type.Number({ minimum: 0 })
const Bytes = Type.Integer({ minimum: 0, description: 'Always 0: tasks do not measure bytes.' })
const Items = Type.Integer({ minimum: 0, description: 'Items that tasks count as their progress; a task that counts nothing is one item.' })
const tag = 'metrics'

const TaskTypeMetrics = Type.Object(
  {
    taskType: Type.String(),
    executed: Count,
    succeeded: Count,
    failed: Count,
    retried: Type.Integer({ minimum: 0, description: 'Failed tries that were followed by another.' }),
    avgDurationMs: Average,
    minDurationMs: Count,
    maxDurationMs: Count,
    p50DurationMs: Type.Integer({ minimum: 0, description: 'Accurate to a fifth.' }),
    p95DurationMs: Type.Integer({ minimum: 0, description: 'Accurate to a fifth.' }),
    avgQueueWaitMs: Average,
    itemsProcessed: Items,
    bytesProcessed: Bytes,
    throughputPerSec: Type.Number({ minimum: 0, description: 'Items per second of running time.' }),
    errorRatePct: Type.Number({ minimum: 0, maximum: 100 }),
    lastError: Nullable(Type.String({ description: 'Only for callers with the permission tasks-read.' })),
    lastErrorAt: Nullable(Timestamp),
  },
  { title: 'TaskTypeMetrics' },
)

const TaskMetrics = Type.Object(
  {
    summary: Type.Object({
      totalExecuted: Count,
      totalSucceeded: Count,
      totalFailed: Count,
      avgDurationMs: Average,
      avgQueueWaitMs: Average,
      tasksPerMinute: Average,
    }),
    byType: Type.Array(TaskTypeMetrics),
    queue: Type.Object({
      pendingCount: Count,
      processingCount: Count,
      staleCount: Count,
      oldestPendingAgeMs: Nullable(Count),
    }),
    retention: Type.String({ description: 'Days that are stored.' }),
    updatedAt: Timestamp,
  },
  { title: 'TaskMetrics', description: 'Excludes ended tasks for callers who do not see every series.' },
)

const TaskHistory = Type.Object(
  {
    from: Timestamp,
    to: Timestamp,
    granularity: OneOf(['hour', 'day']),
    points: Type.Array(
      Type.Object({
        periodStart: Timestamp,
        taskType: Nullable(Type.String()),
        count: Count,
        succeeded: Count,
        failed: Count,
        avgDurationMs: Average,
        minDurationMs: Count,
        maxDurationMs: Count,
        itemsProcessed: Items,
        bytesProcessed: Bytes,
      }),
      { description: 'Periods without tasks are missing.' },
    ),
  },
  { title: 'TaskMetricsHistory' },
)

export const metricsRoutes = [
  endpoint({
    name: 'getInventory',
    method: 'GET',
    path: '/api/v1/metrics/inventory',
    summary: 'Get counts of the inventory',
    tag,
    allow: { who: 'libraries-read' },
    reply: Inventory,
    run: async (call) => await readInventory(call.services.database, call.caller),
  }),
  endpoint({
    name: 'getTaskMetrics',
    method: 'GET',
    path: '/api/v1/metrics/tasks',
    summary: 'Get metrics of tasks by type, and of the queue',
    tag,
    allow: { who: 'libraries-read' },
    reply: TaskMetrics,
    run: async (call) => {
      await call.services.taskMetrics.write()
      const report = await readTaskReport(call.services.database, call.caller)
      return { ...report, retention: String(METRICS_KEPT_DAYS), updatedAt: new Date().toISOString() }
    },
  }),
  endpoint({
    name: 'getTaskMetricsHistory',
    method: 'GET',
    path: '/api/v1/metrics/tasks/history',
    summary: 'Get metrics of tasks by hour or day (UTC)',
    tag,
    allow: { who: 'libraries-read' },
    query: Type.Object({
      days: Type.Optional(
        Type.Integer({ minimum: 1, maximum: METRICS_KEPT_DAYS, description: `Number of days before now; default ${DAYS_DEFAULT}.` }),
      ),
      taskType: Type.Optional(Type.String({ maxLength: 100, description: 'Only tasks of this type.' })),
      granularity: Type.Optional(OneOf(['hour', 'day'])),
    }),
    reply: TaskHistory,
    run: async (call, { query }) => {
      const { days = DAYS_DEFAULT, granularity = 'hour', taskType } = query
      await call.services.taskMetrics.write()
      return { ...(await readTaskHistory(call.services.database, call.caller, { days, granularity, taskType })), granularity }
    },
  }),
  endpoint({
    name: 'deleteTaskMetrics',
    method: 'DELETE',
    path: '/api/v1/metrics/tasks',
    summary: 'Delete all metrics of tasks',
    tag,
    allow: { who: 'system-admin' },
    reply: Type.Object({ deletedCount: Type.Integer({ minimum: 0, description: 'Number of deleted hours, over all types.' }) }),
    run: async ({ services }) => ({ deletedCount: await services.taskMetrics.clear() }),
  }),
  endpoint({
    name: 'cleanUpTaskMetrics',
    method: 'POST',
    path: '/api/v1/metrics/tasks/cleanup',
    summary: `Delete metrics of tasks that are older than ${METRICS_KEPT_DAYS} days; also happens every hour automatically`,
    tag,
    allow: { who: 'system-admin' },
    reply: Type.Object({
      deletedCount: Type.Integer({ minimum: 0, description: 'Number of deleted hours, over all types.' }),
      oldestRemaining: Nullable(Timestamp),
      retentionDays: Type.String(),
    }),
    run: async ({ services }) => {
      const deletedCount = await deleteTaskHours(services.database, METRICS_KEPT_DAYS)
      const oldest = await findFirstHour(services.database)
      return { deletedCount, oldestRemaining: oldest?.toISOString() ?? null, retentionDays: String(METRICS_KEPT_DAYS) }
    },
  }),
]
