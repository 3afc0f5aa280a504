import type { Knex } from 'knex'
import type { Static } from 'typebox'
import Type from 'typebox'
import { type Caller, isAdministrator } from '#core/account/caller.ts'
import { shownMessage } from '#core/account/path-view.ts'
import { hasSharingGrants } from '#core/account/user-store.ts'
import { visibleTo } from '#core/account/visibility.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { QUEUE_SCHEMA } from '#core/tasks/task-store.ts'

export const TASK_STATUSES = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const
export type TaskStatus = (typeof TASK_STATUSES)[number]

/** A task as people see it. */
export const TaskRecord = Noun('Task')({
  id: Uuid,
  taskType: Type.String(),
  status: OneOf(TASK_STATUSES),
  priority: Type.Integer(),
  attempts: Type.Integer({ minimum: 0, description: 'Tries begun so far.' }),
  maxAttempts: Type.Integer({ minimum: 1 }),
  libraryId: Nullable(Uuid),
  libraryName: Nullable(Type.String()),
  seriesId: Nullable(Uuid),
  seriesTitle: Nullable(Type.String()),
  bookId: Nullable(Uuid),
  bookTitle: Nullable(Type.String()),
  params: Type.Unknown(),
  result: Type.Unknown(),
  lastError: Nullable(Type.String()),
  lockedBy: Nullable(Type.String({ description: 'The node that runs it.' })),
  lockedUntil: Nullable(Timestamp),
  progress: Type.Optional(
    Type.Object(
      { current: Type.Integer(), total: Type.Integer(), message: Type.Optional(Type.String()) },
      { description: 'Only while it runs.' },
    ),
  ),
  createdAt: Timestamp,
  scheduledFor: Timestamp,
  startedAt: Nullable(Timestamp),
  completedAt: Nullable(Timestamp),
})
export type TaskRecord = Static<typeof TaskRecord>

const Count = Type.Integer({ minimum: 0 })
const COUNTS = { pending: Count, processing: Count, completed: Count, failed: Count, stale: Count, total: Count }

/** How many tasks there are, by status and type. `stale` are running ones whose node is gone. */
export const TaskStats = Noun('TaskStats')({ ...COUNTS, byType: Type.Record(Type.String(), Type.Object(COUNTS)) })
export type TaskStats = Static<typeof TaskStats>

const STATUS_OF_STATE = {
  created: 'pending',
  retry: 'pending',
  active: 'processing',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<string, TaskStatus>

/** A cancelled task is under way until its run has ended, for until then it may still write. */
const STATE = `CASE WHEN job.state = 'cancelled' AND EXISTS (SELECT 1 FROM task_runs WHERE task_id = job.id) THEN 'active' ELSE job.state::text END`

interface TaskRow {
  id: string
  name: string
  state: keyof typeof STATUS_OF_STATE
  priority: number
  retry_count: number
  retry_limit: number
  data: { libraryId?: string; seriesId?: string; bookId?: string; params?: unknown } | null
  output: { message?: string } | null
  start_after: Date
  created_on: Date
  started_on: Date | null
  completed_on: Date | null
  library_name: string | null
  series_title: string | null
  book_title: string | null
  node_id: string | null
  progress_current: number | null
  progress_total: number | null
  progress_message: string | null
}

const SELECT = `
  SELECT j.id, j.name, j.shown_state AS state, j.priority, j.retry_count, j.retry_limit, j.data, j.output, j.start_after, j.created_on, j.started_on, j.completed_on,
    l.name AS library_name, s.title AS series_title, b.title AS book_title,
    r.node_id, r.progress_current, r.progress_total, r.progress_message
  FROM :jobs j
  LEFT JOIN libraries l ON l.id = (j.data ->> 'libraryId')::uuid
  LEFT JOIN books b ON b.id = (j.data ->> 'bookId')::uuid
  LEFT JOIN series s ON s.id = coalesce((j.data ->> 'seriesId')::uuid, b.series_id)
  LEFT JOIN task_runs r ON r.task_id = j.id AND j.shown_state = 'active'
  ORDER BY j.created_on DESC, j.id`

/** Newest first. @param by who asks: tasks of hidden books and series are left out; null = the house itself */
export async function listTasks(
  database: Knex,
  filter: { status?: TaskStatus | undefined; taskType?: string | undefined; limit: number },
  by: Caller | null = null,
): Promise<TaskRecord[]> {
  const states = Object.entries(STATUS_OF_STATE)
    .filter(([, status]) => filter.status === undefined || status === filter.status)
    .map(([state]) => state)
  return await readTasks(database, by, (jobs) => {
    jobs.whereRaw(`${STATE} = ANY(CAST(? AS text[]))`, [states]).limit(filter.limit)
    if (filter.taskType !== undefined) jobs.where('name', filter.taskType)
  })
}

/** @param by as in `listTasks`. @throws not_found */
export async function getTask(database: Knex, taskId: string, by: Caller | null = null): Promise<TaskRecord> {
  const [task] = await readTasks(database, by, (jobs) => jobs.where('job.id', taskId).limit(1))
  return task ?? refuse('not_found', `There is no task ${taskId}; finished tasks are forgotten after some hours.`)
}

/** Adds "the caller may know of this task" to a query of the queue's table `job`. */
export async function onlyKnownTo(database: Knex, by: Caller): Promise<(jobs: Knex.QueryBuilder) => void> {
  const restricted = await hasSharingGrants(database, by.userId)
  return (jobs) => {
    jobs.modify(showsNothingPrivate(by))
    if (restricted) jobs.modify(showsNothingHidden(database, by))
  }
}

async function readTasks(database: Knex, by: Caller | null, choose: (jobs: Knex.QueryBuilder) => void): Promise<TaskRecord[]> {
  const restricted = by !== null && (await hasSharingGrants(database, by.userId)) ? by : null
  // Chosen before anything is joined: there may be a hundred thousand.
  const jobs = database(`${QUEUE_SCHEMA}.job`)
    .select('*', database.raw(`${STATE} AS shown_state`))
    .whereRaw(`name NOT LIKE '\\_\\_pgboss%'`)
    .modify(choose)
    .orderByRaw('created_on DESC, id')
  if (by) jobs.modify(showsNothingPrivate(by))
  if (restricted) jobs.modify(showsNothingHidden(database, restricted))
  const { rows } = await database.raw(SELECT, { jobs })
  return (rows as TaskRow[]).map((row) => {
    const task = by === null ? taskOf(row) : withoutPaths(by, taskOf(row))
    if (!restricted || task.bookId !== null || task.seriesId !== null) return task
    // What went wrong with a whole library may name a file of any series, what came of it counts them all, and many series are named by id.
    const { progress: _, ...known } = task
    return { ...known, params: null, lastError: null, result: null }
  })
}

/** What went wrong and how far it is may name files by their paths. */
function withoutPaths(by: Caller, task: TaskRecord): TaskRecord {
  const { lastError, progress } = task
  return {
    ...task,
    lastError: lastError === null ? null : shownMessage(by, lastError),
    ...(progress?.message !== undefined && { progress: { ...progress, message: shownMessage(by, progress.message) } }),
  }
}

/** Adds "the task is not of another reader": what is recommended to somebody or exported by somebody is theirs. Administrators see that it runs. */
function showsNothingPrivate(caller: Caller): (jobs: Knex.QueryBuilder) => void {
  const { userId } = caller
  return (jobs) => {
    if (!isAdministrator(caller)) jobs.whereRaw(`coalesce(job.data ->> 'userId', ?) = ?`, [userId, userId])
  }
}

/** Adds "the book and the series of this task are visible to the caller"; of one that has gone nobody knows any more. */
function showsNothingHidden(database: Knex, by: Caller): (jobs: Knex.QueryBuilder) => void {
  const found = (table: string, id: string) =>
    database(table).select(database.raw('1')).whereRaw(`${table}.id = (job.data ->> '${id}')::uuid`)
  const book = found('books', 'bookId').modify(visibleTo(by, 'books.series_id'))
  const series = found('series', 'seriesId').modify(visibleTo(by, 'series.id'))
  return (jobs) => {
    jobs
      .where((either) => either.whereRaw(`job.data ->> 'bookId' IS NULL`).orWhereExists(book))
      .where((either) => either.whereRaw(`job.data ->> 'seriesId' IS NULL`).orWhereExists(series))
  }
}

/** @param by as in `listTasks` */
export async function countTasks(database: Knex, by: Caller | null = null): Promise<TaskStats> {
  const jobs = database(`${QUEUE_SCHEMA}.job`)
    .select('id', 'name', database.raw(`${STATE} AS state`))
    .whereRaw(`name NOT LIKE '\\_\\_pgboss%'`)
  const restricted = by !== null && (await hasSharingGrants(database, by.userId))
  if (by) jobs.modify(showsNothingPrivate(by))
  if (restricted) jobs.modify(showsNothingHidden(database, by))
  const { rows } = await database.raw(
    `WITH j AS (:jobs) SELECT name, state, count(*)::int AS count FROM j GROUP BY name, state
     UNION ALL
     SELECT r.task_type, 'stale', count(*)::int FROM task_runs r WHERE ${by ? 'r.task_id IN (SELECT id FROM j) AND ' : ''}r.node_lock NOT IN (
       SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) GROUP BY r.task_type`,
    { jobs },
  )
  const none = () => ({ pending: 0, processing: 0, completed: 0, failed: 0, stale: 0, total: 0 })
  const stats: TaskStats = { ...none(), byType: {} }
  for (const { name, state, count } of rows as { name: string; state: keyof typeof STATUS_OF_STATE | 'stale'; count: number }[]) {
    stats.byType[name] ??= none()
    for (const counts of [stats, stats.byType[name]]) {
      if (state !== 'stale') counts.total += count
      const status = state === 'stale' ? 'stale' : STATUS_OF_STATE[state]
      // The interface has no counter for cancelled ones; they are part of the total.
      if (status !== 'cancelled') counts[status] += count
    }
  }
  return stats
}

function taskOf(row: TaskRow): TaskRecord {
  const data = row.data ?? {}
  return {
    id: row.id,
    taskType: row.name,
    status: STATUS_OF_STATE[row.state],
    priority: row.priority,
    // A count of tries that began: the last claim counts from the moment it has a start time.
    attempts: row.retry_count + (row.started_on === null ? 0 : 1),
    maxAttempts: row.retry_limit + 1,
    libraryId: data.libraryId ?? null,
    libraryName: row.library_name,
    seriesId: data.seriesId ?? null,
    seriesTitle: row.series_title,
    bookId: data.bookId ?? null,
    bookTitle: row.book_title,
    params: data.params ?? null,
    result: row.state === 'completed' ? row.output : null,
    lastError: row.state === 'failed' || row.state === 'retry' ? (row.output?.message ?? null) : null,
    lockedBy: row.node_id,
    lockedUntil: null,
    ...(row.progress_current === null || row.progress_total === null
      ? {}
      : {
          progress: {
            current: row.progress_current,
            total: row.progress_total,
            ...(row.progress_message === null ? {} : { message: row.progress_message }),
          },
        }),
    createdAt: row.created_on.toISOString(),
    scheduledFor: row.start_after.toISOString(),
    startedAt: row.started_on?.toISOString() ?? null,
    completedAt: row.completed_on?.toISOString() ?? null,
  }
}
