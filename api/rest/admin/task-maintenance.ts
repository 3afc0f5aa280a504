import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { BULK_BOOKS_MAX, BULK_SERIES_MAX } from '#core/analysis/request-analyses.ts'
import { Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { removeAllTasks, unlockTask } from '#core/maintenance/change-task.ts'
import { STARTABLE, startTask } from '#core/maintenance/start-task.ts'
import { deleteEndedTasks } from '#core/tasks/task-admin-store.ts'

type Services = Pick<DataServices, 'database' | 'log'> & Pick<WorkServices, 'scans' | 'tasks'>
const endpoint = endpointOf<Services>()

/** Far above the priorities of all types. */
const PRIORITY_MAX = 10_000
/** No task is stored longer. */
const DAYS_MAX = 365
const Deleted = Type.Object({ deleted: Type.Integer({ minimum: 0 }) })
const kinds = Object.entries(STARTABLE).map(([type, { takes, needs }]) => `${type} (${takes}; ${needs})`)
const tag = 'tasks'

/** Members of types that cannot be started here: they are accepted, so that the error names the type and not a member. */
const OTHER_MEMBERS = Object.fromEntries(
  ['source', 'sourceId', 'sourceScope', 'jobId', 'pluginId', 'userId', 'exportId', 'externalId', 'reason', 'thumbnailPath'].map((name) => [
    name,
    Type.Optional(
      Nullable(Type.String({ title: 'OtherTaskMember', maxLength: 1_000, description: 'For types that cannot be started here.' })),
    ),
  ]),
)

const TaskRequest = Type.Object(
  {
    type: Type.String({
      maxLength: 100,
      description: `Type of the task. In parentheses: its members and the required permission: ${kinds.join(', ')}.`,
    }),
    libraryId: Type.Optional(Nullable(Uuid)),
    seriesId: Type.Optional(Nullable(Uuid)),
    bookId: Type.Optional(Nullable(Uuid)),
    bookIds: Type.Optional(Nullable(Type.Array(Uuid, { minItems: 1, maxItems: BULK_BOOKS_MAX }))),
    seriesIds: Type.Optional(Nullable(Type.Array(Uuid, { minItems: 1, maxItems: BULK_SERIES_MAX }))),
    force: Type.Optional(Nullable(Type.Boolean())),
    mode: Type.Optional(Nullable(OneOf(['normal', 'deep']))),
    ...OTHER_MEMBERS,
  },
  { title: 'TaskRequest' },
)

export const taskAdminRoutes = [
  endpoint({
    name: 'createTask',
    method: 'POST',
    path: '/api/v1/tasks',
    summary: 'Start a task by its type, as its own operation does',
    tag,
    allow: { who: 'tasks-write' },
    status: 202,
    body: Type.Object({
      taskType: TaskRequest,
      priority: Type.Optional(
        Nullable(Type.Integer({ minimum: 0, maximum: PRIORITY_MAX, description: 'Tasks of higher priority run first.' })),
      ),
      scheduledFor: Type.Optional(
        Nullable(Timestamp, { description: 'Earliest start; at most 30 days from now. Ignored by scans, which start at once.' }),
      ),
    }),
    reply: Type.Object({ taskId: Uuid }),
    run: async (call, { body: { taskType, ...when } }) => {
      const { taskId } = await startTask(call.services, call.caller, { task: taskType, ...when })
      return { taskId }
    },
  }),
  endpoint({
    name: 'purgeTasks',
    method: 'DELETE',
    path: '/api/v1/tasks/purge',
    summary: 'Delete ended tasks that the caller may see',
    tag,
    allow: { who: 'tasks-write' },
    query: Type.Object({
      days: Type.Optional(
        Type.Integer({ minimum: 0, maximum: DAYS_MAX, description: 'Only tasks that ended at least this many days ago; default: all.' }),
      ),
    }),
    reply: Deleted,
    run: async (call, { query }) => ({
      deleted: await deleteEndedTasks(call.services.database, { days: query.days ?? 0, by: call.caller }),
    }),
  }),
  endpoint({
    name: 'cancelAllTasks',
    method: 'DELETE',
    path: '/api/v1/tasks/nuke',
    summary: 'Cancel every task and delete all ended ones',
    tag,
    allow: { who: 'system-admin' },
    reply: Deleted,
    run: async ({ services, caller }) => {
      const deleted = await removeAllTasks(services)
      services.log.warn({ deleted, by: caller.userId }, 'Cancelled all tasks')
      return { deleted }
    },
  }),
  endpoint({
    name: 'unlockTask',
    method: 'POST',
    path: '/api/v1/tasks/:taskId/unlock',
    summary: 'Queue a running task again if its node is gone',
    tag,
    allow: { who: 'tasks-write' },
    params: Type.Object({ taskId: Uuid }),
    reply: Type.Object({ message: Type.String() }),
    run: async (call, { params }) => ({ message: await unlockTask(call.services, call.caller, params.taskId) }),
  }),
]
