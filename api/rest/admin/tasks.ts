import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { type Call, endpointOf } from '#api/http/endpoint.ts'
import { type ListPage, Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { readInstant } from '#core/foundation/instant.ts'
import { described, Noun, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { TASK_STATUSES, type TaskStatus } from '#core/foundation/task-status.ts'
import { cancelTask, retryTask } from '#core/maintenance/change-task.ts'
import { countListedTasks, countTasks, getTask, listTasks, TaskRecord, TaskStats } from '#core/tasks/task-query.ts'

type Services = Pick<DataServices, 'database'> & Pick<WorkServices, 'scans' | 'tasks'>
const endpoint = endpointOf<Services>()

/** Analyses end by the thousand; one answer lists no more than this. */
const LIMIT_MAX = 1_000
const LIMIT_DEFAULT = 50
const Message = Noun('Message')({ message: Type.String() })
const params = Type.Object({ taskId: Uuid })
const tag = 'tasks'

export const taskRoutes = [
  endpoint({
    name: 'listTasks',
    method: 'GET',
    path: '/api/v1/tasks',
    summary: 'List tasks, newest first: the first few, or with page or pageSize one page of all',
    tag,
    allow: { who: 'tasks-read' },
    query: Type.Object({
      status: Type.Optional(OneOf(TASK_STATUSES)),
      taskType: Type.Optional(Type.String({ maxLength: 100 })),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: `Without page and pageSize. Default ${LIMIT_DEFAULT}; values above ${LIMIT_MAX} are reduced to ${LIMIT_MAX}.`,
        }),
      ),
      ...pageQuery,
      libraryId: Type.Optional(described(Uuid, 'Only tasks of this library, its series and its books.')),
      from: Type.Optional(described(Timestamp, 'Only tasks that were added at this time or later.')),
      until: Type.Optional(
        described(Timestamp, 'Only tasks that were added before this time. Pages with the same time have no task twice.'),
      ),
    }),
    reply: Type.Union([Type.Array(TaskRecord), Paginated(TaskRecord)]),
    run: (call, { query }) => answerTasks(call, query),
  }),
  endpoint({
    name: 'getTaskStats',
    method: 'GET',
    path: '/api/v1/tasks/stats',
    summary: 'Count tasks by status and type',
    tag,
    allow: { who: 'tasks-read' },
    reply: TaskStats,
    run: async ({ services, caller }) => await countTasks(services.database, caller),
  }),
  endpoint({
    name: 'getTask',
    method: 'GET',
    path: '/api/v1/tasks/:taskId',
    summary: 'Get a task',
    tag,
    allow: { who: 'tasks-read' },
    params,
    reply: TaskRecord,
    run: async (call, { params }) => await getTask(call.services.database, params.taskId, call.caller),
  }),
  endpoint({
    name: 'cancelTask',
    method: 'POST',
    path: '/api/v1/tasks/:taskId/cancel',
    summary: 'Cancel a waiting or running task',
    tag,
    allow: { who: 'tasks-write' },
    params,
    reply: Message,
    run: async (call, { params }) => {
      await refuseHidden(call, params.taskId)
      return { message: await cancelTask(call.services, params.taskId) }
    },
  }),
  endpoint({
    name: 'retryTask',
    method: 'POST',
    path: '/api/v1/tasks/:taskId/retry',
    summary: 'Queue a failed or cancelled task again',
    tag,
    allow: { who: 'tasks-write' },
    params,
    reply: Message,
    run: async (call, { params }) => {
      await refuseHidden(call, params.taskId)
      return { message: await retryTask(call.services, params.taskId) }
    },
  }),
]

interface TaskListQuery {
  status?: TaskStatus
  taskType?: string
  limit?: number
  page?: number
  pageSize?: number
  libraryId?: string
  from?: string
  until?: string
}

async function answerTasks(call: Call<Services>, query: TaskListQuery): Promise<TaskRecord[] | ListPage<TaskRecord>> {
  const { caller, services } = call
  const timeOf = (text: string | undefined) => (text === undefined ? undefined : (readInstant(text) ?? undefined))
  const { status, taskType, libraryId } = query
  const filter = { status, taskType, libraryId, from: timeOf(query.from), until: timeOf(query.until) }
  if (query.page === undefined && query.pageSize === undefined)
    return await listTasks(services.database, { ...filter, limit: Math.min(query.limit ?? LIMIT_DEFAULT, LIMIT_MAX) }, caller)
  const [items, total] = await Promise.all([
    listTasks(services.database, { ...filter, ...pageWindow(query) }, caller),
    countListedTasks(services.database, filter, caller),
  ])
  return paginate(call, query, { items, total })
}

/** @throws not_found if the task does not exist or the caller may not see it */
async function refuseHidden(call: Call<Services>, taskId: string): Promise<void> {
  await getTask(call.services.database, taskId, call.caller)
}
