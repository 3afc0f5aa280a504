import type { Knex } from 'knex'
import type { Static } from 'typebox'
import Type from 'typebox'
import { type Caller, isAdministrator } from '#core/account/caller.ts'
import { visibleMessage } from '#core/account/path-view.ts'
import { wordsFor } from '#core/account/private-words.ts'
import { isRestricted } from '#core/account/user-store.ts'
import { visibleLibrary, visibleTo } from '#core/account/visibility.ts'
import { countRows } from '#core/database/select.ts'
import { refuse } from '#core/foundation/errors.ts'
import { type Dated, withIsoTimes } from '#core/foundation/instant.ts'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { TASK_STATUSES, type TaskStatus } from '#core/foundation/task-status.ts'
import { LIVE_WORKERS } from '#core/tasks/task-worker-store.ts'

/** A task as the API shows it. */
export const TaskRecord = Noun('Task')({
  id: Uuid,
  taskType: Type.String(),
  status: OneOf(TASK_STATUSES),
  priority: Type.Integer(),
  attempts: Type.Integer({ minimum: 0, description: 'Number of tries so far.' }),
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
  lockedBy: Nullable(Type.String({ description: 'The node that runs the task.' })),
  lockedUntil: Nullable(Timestamp),
  progress: Type.Optional(
    Type.Object(
      { current: Type.Integer(), total: Type.Integer(), message: Type.Optional(Type.String()) },
      { description: 'Only while the task is running.' },
    ),
  ),
  createdAt: Timestamp,
  scheduledFor: Timestamp,
  startedAt: Nullable(Timestamp),
  completedAt: Nullable(Timestamp),
})
export type TaskRecord = Static<typeof TaskRecord>

const Count = Type.Integer({ minimum: 0 })
const COUNTS = { pending: Count, processing: Count, completed: Count, failed: Count, cancelled: Count, stale: Count, total: Count }

/** Number of tasks by status and type. `stale` are running ones whose node is dead. */
export const TaskStats = Noun('TaskStats')({ ...COUNTS, byType: Type.Record(Type.String(), Type.Object(COUNTS)) })
export type TaskStats = Static<typeof TaskStats>

type TaskRow = Dated<TaskRecord, 'createdAt' | 'scheduledFor' | 'startedAt' | 'completedAt'> & { ownerId: string | null }

/** The progress of the task `t`; null when it has none. `jsonb` would change the order of the members. */
export const PROGRESS = `CASE WHEN t.progress_current IS NOT NULL AND t.progress_total IS NOT NULL THEN json_strip_nulls(
    json_build_object('current', t.progress_current, 'total', t.progress_total, 'message', t.progress_message)) END`

/** The series is the one that "seriesTitle" names. */
const SELECT = `
  SELECT t.id, t.type AS "taskType", t.status, t.priority, t.attempts, t.max_attempts AS "maxAttempts", t.user_id AS "ownerId",
    t.library_id AS "libraryId", l.name AS "libraryName", coalesce(t.series_id, b.series_id) AS "seriesId", s.title AS "seriesTitle",
    t.book_id AS "bookId", b.title AS "bookTitle", t.params, t.result, t.last_error AS "lastError", w.node_id AS "lockedBy",
    NULL AS "lockedUntil", ${PROGRESS} AS progress, t.created_at AS "createdAt", t.scheduled_for AS "scheduledFor",
    t.started_at AS "startedAt", t.completed_at AS "completedAt"
  FROM :tasks t
  LEFT JOIN libraries l ON l.id = t.library_id
  LEFT JOIN books b ON b.id = t.book_id
  LEFT JOIN series s ON s.id = coalesce(t.series_id, b.series_id)
  LEFT JOIN task_workers w ON w.worker = t.worker
  ORDER BY t.created_at DESC, t.id`

/** Which tasks are listed. */
interface TaskFilter {
  status?: TaskStatus | undefined
  taskType?: string | undefined
  /** Also those of the books and series of the library. */
  libraryId?: string | undefined
  /** Added at this time or later. */
  from?: Date | undefined
  /** Added before this time. */
  until?: Date | undefined
}

/** The library of a task, which some name only by their series or book. */
const LIBRARY = `coalesce(tasks.library_id, (SELECT s.library_id FROM series s WHERE s.id = tasks.series_id),
  (SELECT b.library_id FROM books b WHERE b.id = tasks.book_id))`

const matching =
  ({ status, taskType, libraryId, from, until }: TaskFilter): ((tasks: Knex.QueryBuilder) => void) =>
  (tasks) => {
    if (status !== undefined) tasks.where('tasks.status', status)
    if (taskType !== undefined) tasks.where('tasks.type', taskType)
    if (libraryId !== undefined) tasks.whereRaw(`${LIBRARY} = ?`, [libraryId])
    if (from !== undefined) tasks.where('tasks.created_at', '>=', from)
    if (until !== undefined) tasks.where('tasks.created_at', '<', until)
  }

/** Newest first. @param by the caller, who does not see tasks of hidden books, series and libraries; null for the server itself */
export async function listTasks(
  database: Knex,
  filter: TaskFilter & { limit: number; offset?: number },
  by: Caller | null = null,
): Promise<TaskRecord[]> {
  return await readTasks(database, by, (tasks) => {
    tasks
      .modify(matching(filter))
      .limit(filter.limit)
      .offset(filter.offset ?? 0)
  })
}

/** How many tasks {@link listTasks} would list without a limit. */
export async function countListedTasks(database: Knex, filter: TaskFilter, by: Caller): Promise<number> {
  return await countRows(
    database('tasks')
      .modify(matching(filter))
      .modify(await onlyVisibleTo(database, by)),
  )
}

/** @param by as in `listTasks`. @throws not_found */
export async function getTask(database: Knex, taskId: string, by: Caller | null = null): Promise<TaskRecord> {
  const [task] = await readTasks(database, by, (tasks) => tasks.where('tasks.id', taskId).limit(1))
  return task ?? refuse('not_found', `There is no task ${taskId}. Finished tasks are deleted after some hours.`)
}

/** Adds "the caller may see this task" to a query of the table `tasks`. */
export async function onlyVisibleTo(database: Knex, by: Caller): Promise<(tasks: Knex.QueryBuilder) => void> {
  const restricted = await isRestricted(database, by)
  return (tasks) => {
    tasks.modify(withoutPrivate(by))
    if (restricted) tasks.modify(withoutHidden(database, by))
  }
}

async function readTasks(database: Knex, by: Caller | null, choose: (tasks: Knex.QueryBuilder) => void): Promise<TaskRecord[]> {
  const restricted = by !== null && (await isRestricted(database, by)) ? by : null
  // Selected before any join: there may be a hundred thousand.
  const tasks = database('tasks').select('*').modify(choose).orderByRaw('tasks.created_at DESC, tasks.id')
  if (by) tasks.modify(withoutPrivate(by))
  if (restricted) tasks.modify(withoutHidden(database, restricted))
  const { rows } = await database.raw(SELECT, { tasks })
  return (rows as TaskRow[]).map((row) => {
    const task = by === null ? taskOf(row) : readableBy(by, taskOf(row), row.ownerId)
    if (!restricted || task.bookId !== null || task.seriesId !== null) return task
    // Errors of a library task may name files of any series, its result counts all series, and tasks of many series list their ids.
    const { progress: _, ...known } = task
    return { ...known, params: null, lastError: null, result: null }
  })
}

/** Error and progress messages may contain paths of files, and what a plugin says about its user. */
function readableBy(by: Caller, task: TaskRecord, ownerId: string | null): TaskRecord {
  const readable = (message: string) => visibleMessage(by, wordsFor(message, ownerId, by.userId))
  const { lastError, progress } = task
  return {
    ...task,
    lastError: lastError === null ? null : readable(lastError),
    ...(progress?.message !== undefined && { progress: { ...progress, message: readable(progress.message) } }),
  }
}

/** Adds "the task belongs to no other user": recommendations and exports are private. Administrators see that the task exists. */
function withoutPrivate(caller: Caller): (tasks: Knex.QueryBuilder) => void {
  const { userId } = caller
  return (tasks) => {
    if (!isAdministrator(caller)) tasks.whereRaw('coalesce(tasks.user_id, CAST(? AS uuid)) = CAST(? AS uuid)', [userId, userId])
  }
}

/** Adds "the book, the series and the library of this task are visible to the caller"; tasks of deleted ones are hidden. */
function withoutHidden(database: Knex, by: Caller): (tasks: Knex.QueryBuilder) => void {
  const found = (table: string, id: string) => database(table).select(database.raw('1')).whereRaw(`${table}.id = tasks.${id}`)
  const book = found('books', 'book_id').modify(visibleTo(by, 'books.series_id'))
  const series = found('series', 'series_id').modify(visibleTo(by, 'series.id'))
  const library = found('libraries', 'library_id').modify(visibleLibrary(by, 'libraries.id'))
  return (tasks) => {
    tasks
      .where((either) => either.whereNull('tasks.book_id').orWhereExists(book))
      .where((either) => either.whereNull('tasks.series_id').orWhereExists(series))
      .where((either) => either.whereNull('tasks.library_id').orWhereExists(library))
  }
}

/** @param by as in `listTasks` */
export async function countTasks(database: Knex, by: Caller | null = null): Promise<TaskStats> {
  const tasks = database('tasks').select('type', 'status', 'worker')
  const restricted = by !== null && (await isRestricted(database, by))
  if (by) tasks.modify(withoutPrivate(by))
  if (restricted) tasks.modify(withoutHidden(database, by))
  const { rows } = await database.raw(
    `WITH t AS (:tasks) SELECT type, status, count(*)::int AS count FROM t GROUP BY type, status
     UNION ALL SELECT type, 'stale', count(*)::int FROM t WHERE status = 'processing' AND worker NOT IN (${LIVE_WORKERS}) GROUP BY type
     ORDER BY type`,
    { tasks },
  )
  const none = () => ({ pending: 0, processing: 0, completed: 0, failed: 0, cancelled: 0, stale: 0, total: 0 })
  const stats: TaskStats = { ...none(), byType: {} }
  for (const { type, status, count } of rows as { type: string; status: TaskStatus | 'stale'; count: number }[]) {
    stats.byType[type] ??= none()
    for (const counts of [stats, stats.byType[type]]) {
      if (status !== 'stale') counts.total += count
      counts[status] += count
    }
  }
  return stats
}

function taskOf({ ownerId: _, ...row }: TaskRow): TaskRecord {
  const task = withIsoTimes(row)
  // Null in the row, missing in the record.
  if (!task.progress) delete task.progress
  return task
}
