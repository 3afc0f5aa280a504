import Type from 'typebox'
import { endpoint } from '#api/routes/route.ts'
import { OneOf, Uuid } from '#core/schema.ts'
import { cancelTask, retryTask } from '#core/task/change-task.ts'
import { countTasks, getTask, listTasks, TASK_STATUSES, TaskRecord, TaskStats } from '#core/task/task-query.ts'

/** Finished analyses come by the thousand; nobody reads more at once. */
const LIMIT_MAX = 1_000
const LIMIT_DEFAULT = 50
const Message = Type.Object({ message: Type.String() })
const params = Type.Object({ taskId: Uuid })
const tag = 'tasks'

export const taskRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/tasks',
    summary: 'List tasks, the newest first',
    tag,
    allow: { who: 'tasks-read' },
    query: Type.Object({
      status: Type.Optional(OneOf(TASK_STATUSES)),
      taskType: Type.Optional(Type.String({ maxLength: 100 })),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: `${LIMIT_DEFAULT} unless said; more than ${LIMIT_MAX} is served as ${LIMIT_MAX}.`,
        }),
      ),
    }),
    reply: Type.Array(TaskRecord),
    run: async ({ services }, { query }) =>
      await listTasks(services.database, { ...query, limit: Math.min(query.limit ?? LIMIT_DEFAULT, LIMIT_MAX) }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/tasks/stats',
    summary: 'Count tasks by status and type',
    tag,
    allow: { who: 'tasks-read' },
    reply: TaskStats,
    run: async ({ services }) => await countTasks(services.database),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/tasks/:taskId',
    summary: 'Show a task',
    tag,
    allow: { who: 'tasks-read' },
    params,
    reply: TaskRecord,
    run: async ({ services }, { params }) => await getTask(services.database, params.taskId),
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/tasks/:taskId/cancel',
    summary: 'Cancel a task that waits or runs',
    tag,
    allow: { who: 'tasks-write' },
    params,
    reply: Message,
    run: async ({ services }, { params }) => ({ message: await cancelTask(services, params.taskId) }),
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/tasks/:taskId/retry',
    summary: 'Put a failed or cancelled task back in line',
    tag,
    allow: { who: 'tasks-write' },
    params,
    reply: Message,
    run: async ({ services }, { params }) => ({ message: await retryTask(services, params.taskId) }),
  }),
]
