import type { Knex } from 'knex'
import { sendSignal } from '#core/cluster/presence-store.ts'
import { type NewTask, TASK_PRIORITY, type TaskReference, type TasksOf, type TaskType } from '#core/tasks/task.ts'
import { type SettledStatus, TRIES_MAX } from '#core/tasks/task-ending.ts'
import { WORKER_SCHEMA } from '#core/tasks/worker-connections-store.ts'

/** Attempts of a job. Tasks count tries themselves, because a try that ended with a killed node does not count. */
const JOB_ATTEMPTS_MAX = 30_000
/** After this time a claim counts as lost with its connection; a node that received the answer begins the job sooner. */
const LOST_CLAIM_SECONDS = 30
/** Rows per DELETE: there may be a hundred thousand finished analyses. */
const STEP = 5_000
/** A notification has at most 8,000 bytes; each id takes 39. */
const SIGNAL_IDS_MAX = 150

/** Signals between nodes about tasks. */
export type Signal = { wake: TaskType } | { cancel: string[] }

/** A task that has just begun. `run` identifies this run; later runs have higher numbers. */
export interface BegunTask extends TaskReference {
  id: string
  run: number
  attempts: number
  maxAttempts: number
  waitedMs: number
  params: Record<string, unknown> | null
}

/**
 * Lower numbers come first. Only jobs of one type are compared, but workers of all types scan past the jobs of others: so analyses, of which there
 * may be a hundred thousand, come after all of them.
 */
const JOB_PRIORITY = `CASE WHEN type = 'analyze_book' THEN greatest(1, least(32767, 16384 - priority)) ELSE greatest(-32768, least(0, -priority)) END`

/** A task that begins this soon need not begin earlier; the clocks of two statements differ by less. */
const SOON = `interval '1 second'`

/** An array of jobs for `add_jobs` from rows with the columns of `tasks`. */
const jobsOf = (rows: string) => `ARRAY(SELECT (type, json_build_object('taskId', id), NULL, scheduled_for, ${JOB_ATTEMPTS_MAX}, id::text,
  ${JOB_PRIORITY}, NULL)::${WORKER_SCHEMA}.job_spec FROM ${rows})`

/** Ids of tasks that were added, and of waiting ones that now begin earlier. */
interface AddedTasks {
  added: string[]
  advanced: string[]
}

/**
 * One statement. Adds no task whose key is already waiting; if the new one would begin earlier, the waiting one begins then, unless it waits for its
 * next try. Each key is searched by itself, without the type (OFFSET 0): the table grows by many thousand rows before its statistics follow, and what is
 * planned for an empty table reads all waiting tasks of the type for every batch.
 * @param tasks of one type
 */
export async function addTasks(database: Knex, type: TaskType, tasks: readonly NewTask[]): Promise<AddedTasks> {
  const { rows } = await database.raw(
    `WITH given AS (
       SELECT * FROM json_to_recordset(CAST(:tasks AS json)) AS g (id uuid, dedupe_key text, priority int, library_id uuid, series_id uuid, book_id uuid,
         user_id uuid, parent_id uuid, params json, scheduled_for timestamptz)
     ), waiting AS MATERIALIZED (
       SELECT g.dedupe_key, g.priority, coalesce(g.scheduled_for, now()) AS at, w.id, w.attempts, w.scheduled_for FROM given g CROSS JOIN LATERAL (
         SELECT id, type, attempts, scheduled_for FROM tasks WHERE dedupe_key = g.dedupe_key AND status = 'pending' OFFSET 0) w WHERE w.type = :type
     ), added AS (
       INSERT INTO tasks (id, type, dedupe_key, priority, max_attempts, library_id, series_id, book_id, user_id, parent_id, params, scheduled_for)
       SELECT coalesce(id, gen_random_uuid()), :type, dedupe_key, priority, ${TRIES_MAX}, library_id, series_id, book_id, user_id, parent_id, params,
         coalesce(scheduled_for, now()) FROM given
       WHERE NOT EXISTS (SELECT 1 FROM waiting w WHERE w.dedupe_key = given.dedupe_key)
       ORDER BY dedupe_key ON CONFLICT DO NOTHING RETURNING id, type, priority, scheduled_for
     ), later AS MATERIALIZED (
       SELECT id, at, priority FROM waiting WHERE attempts = 0 AND scheduled_for > at + ${SOON}
     ), locked AS MATERIALIZED (
       SELECT id FROM tasks WHERE id = ANY(ARRAY(SELECT id FROM later)) ORDER BY id FOR UPDATE
     ), advanced AS (
       UPDATE tasks t SET scheduled_for = later.at, priority = greatest(t.priority, later.priority) FROM locked JOIN later USING (id)
       WHERE t.id = locked.id AND t.status = 'pending' AND t.attempts = 0 AND t.scheduled_for > later.at + ${SOON}
       RETURNING t.id, t.type, t.priority, t.scheduled_for
     ), queued AS (SELECT count(*) AS count FROM ${WORKER_SCHEMA}.add_jobs(${jobsOf('(SELECT * FROM added UNION ALL SELECT * FROM advanced) AS both_kinds')}))
     SELECT id, true AS "isNew", (SELECT count FROM queued) FROM added UNION ALL SELECT id, false, (SELECT count FROM queued) FROM advanced`,
    { type, tasks: JSON.stringify(tasks.map(rowOf)) },
  )
  const ids = (isNew: boolean) => (rows as { id: string; isNew: boolean }[]).filter((row) => row.isNew === isNew).map(({ id }) => id)
  return { added: ids(true), advanced: ids(false) }
}

const rowOf = (task: NewTask) => ({
  id: task.id,
  dedupe_key: task.dedupeKey,
  priority: task.priority ?? TASK_PRIORITY[task.type],
  library_id: task.libraryId,
  series_id: task.seriesId,
  book_id: task.bookId,
  user_id: task.userId,
  parent_id: task.parentId,
  params: task.params,
  scheduled_for: task.scheduledFor,
})

/** The waiting task with the key, if there is one. */
export async function findWaiting(database: Knex, type: TaskType, key: string): Promise<string | null> {
  const row = await database('tasks').where({ type, dedupe_key: key, status: 'pending' }).first('id')
  return row?.id ?? null
}

/** Which of these types have a waiting task that may begin. */
export async function listDueTypes(database: Knex, types: readonly TaskType[]): Promise<TaskType[]> {
  const { rows } = await database.raw(
    `SELECT type FROM unnest(CAST(? AS text[])) AS type
     WHERE EXISTS (SELECT 1 FROM tasks t WHERE t.type = type.type AND t.status = 'pending' AND t.scheduled_for <= now())`,
    [[...types]],
  )
  return rows.map((row: { type: TaskType }) => row.type)
}

/** Begins the requested tasks that are waiting; the result has null for the others. */
export async function beginTasks(database: Knex, requests: readonly { id: string; worker: string }[]): Promise<(BegunTask | null)[]> {
  const { rows } = await database.raw(
    `WITH requested AS (SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:workers AS text[])) AS a (id, worker)),
     picked AS (SELECT id FROM tasks WHERE id = ANY(CAST(:ids AS uuid[])) AND status = 'pending' ORDER BY id FOR UPDATE)
     UPDATE tasks t SET status = 'processing', runs = runs + 1, attempts = attempts + 1, worker = a.worker, started_at = now(), last_error = NULL
     FROM picked JOIN requested a USING (id) WHERE t.id = picked.id
     RETURNING t.id, t.runs AS run, t.attempts, t.max_attempts AS "maxAttempts", t.params, t.library_id AS "libraryId", t.series_id AS "seriesId",
       t.book_id AS "bookId", t.user_id AS "userId", t.parent_id AS "parentId",
       greatest(0, extract(epoch FROM now() - greatest(t.created_at, t.scheduled_for)) * 1000)::float8 AS "waitedMs"`,
    { ids: requests.map(({ id }) => id), workers: requests.map(({ worker }) => worker) },
  )
  const begun = new Map<string, BegunTask>(rows.map((row: BegunTask) => [row.id, row]))
  return requests.map(({ id }) => {
    const task = begun.get(id) ?? null
    begun.delete(id)
    return task
  })
}

/** The outcome of a run, for storing. */
export interface SettledRun {
  id: string
  run: number
  status: SettledStatus
  result: unknown
  lastError: string | null
  /** The run does not count as a try. */
  isHandedBack: boolean
  /** There are no tries left. */
  isFinal: boolean
  /** Pause before the next try. */
  delaySeconds: number
}

/** How a run was stored: `lost` if another node runs the task now, `again` if it was canceled and must run once more. */
export type Settled = 'written' | 'again' | 'lost'

/** A canceled run counts as canceled, however it ended. */
export async function settleRuns(database: Knex, ends: readonly SettledRun[]): Promise<Settled[]> {
  const { rows } = await database.raw(
    `WITH ended AS (
       SELECT * FROM json_to_recordset(CAST(? AS json)) AS e (id uuid, run int, status text, result json, "lastError" text, "isHandedBack" boolean,
         "isFinal" boolean, "delaySeconds" float8)
     ), picked AS (
       SELECT t.id, t.cancel_requested, t.retry_requested FROM tasks t JOIN ended e ON e.id = t.id AND e.run = t.runs
       WHERE t.status = 'processing' ORDER BY t.id FOR UPDATE OF t
     ), wanted AS (
       SELECT e.*, p.retry_requested, p.cancel_requested,
         CASE WHEN p.retry_requested THEN 'pending' WHEN p.cancel_requested THEN 'cancelled' ELSE e.status END AS next
       FROM picked p JOIN ended e USING (id)
     ), written AS (
       UPDATE tasks t SET status = w.next, cancel_requested = false, retry_requested = false, worker = NULL,
         result = CASE WHEN w.next = 'completed' THEN w.result END,
         last_error = CASE WHEN NOT w.cancel_requested THEN w."lastError" END,
         attempts = t.attempts - CASE WHEN w."isHandedBack" AND NOT w.cancel_requested THEN 1 ELSE 0 END,
         max_attempts = CASE WHEN w."isFinal" AND NOT w.cancel_requested THEN t.attempts ELSE t.max_attempts END,
         scheduled_for = CASE WHEN w.next = 'pending' AND NOT w.retry_requested AND NOT w."isHandedBack"
           THEN now() + make_interval(secs => w."delaySeconds") ELSE t.scheduled_for END,
         completed_at = CASE WHEN w.next <> 'pending' THEN now() END, progress_current = NULL, progress_total = NULL, progress_message = NULL
       FROM wanted w WHERE t.id = w.id RETURNING t.id, w.retry_requested AS again
     ) SELECT id, again FROM written`,
    [JSON.stringify(ends)],
  )
  const written = new Map<string, boolean>(rows.map((row: { id: string; again: boolean }) => [row.id, row.again]))
  return ends.map(({ id }) => (written.has(id) ? (written.get(id) ? 'again' : 'written') : 'lost'))
}

/** Makes sure that each waiting one of these tasks has a job. */
export async function addJobs(database: Knex, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await database.raw(
    `SELECT count(*) FROM ${WORKER_SCHEMA}.add_jobs(${jobsOf(`tasks WHERE id = ANY(CAST(? AS uuid[])) AND status = 'pending'`)})`,
    [[...ids]],
  )
}

/**
 * Adds a job for every waiting task that has none, or whose job was claimed but never begun: the answer to a claim may be lost with its connection,
 * and graphile-worker itself takes back a job only after four hours. Returns the number of tasks.
 */
export async function addMissingJobs(database: Knex): Promise<number> {
  const { rows } = await database.raw(
    `SELECT count(*)::int AS count FROM ${WORKER_SCHEMA}.add_jobs(${jobsOf(`tasks t WHERE t.status = 'pending' AND NOT EXISTS (
       SELECT 1 FROM ${WORKER_SCHEMA}.jobs j WHERE j.key = t.id::text AND (j.locked_at IS NULL OR j.locked_at > now() - interval '${LOST_CLAIM_SECONDS} seconds'))`)})`,
  )
  return rows[0].count
}

/**
 * Updates the planner's statistics about jobs. With those of a moment when there were few jobs, or all were taken, each claim reads and sorts all waiting jobs,
 * 25 ms for a hundred thousand; PostgreSQL itself updates them at most once a minute.
 */
export async function analyzeJobs(database: Knex): Promise<void> {
  await database.raw(`ANALYZE ${WORKER_SCHEMA}._private_jobs (priority, run_at, task_id, job_queue_id, is_available)`)
}

/** Makes the jobs of returned tasks due at once; after their next failure, the pause is as short as after a first one. */
export async function resetJobs(database: Knex, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await database.raw(
    `SELECT count(r.id) FROM tasks t JOIN ${WORKER_SCHEMA}.jobs j ON j.key = t.id::text,
       LATERAL ${WORKER_SCHEMA}.reschedule_jobs(ARRAY[j.id], run_at := greatest(now(), t.scheduled_for),
         attempts := greatest(0, ${TRIES_MAX} - t.max_attempts + t.attempts)) AS r
     WHERE t.id = ANY(CAST(? AS uuid[])) AND t.status = 'pending'`,
    [[...ids]],
  )
}

/** A task that a cancel request has changed. */
interface CanceledTask {
  id: string
  /** If so, the task ends when its run has ended. */
  isRunning: boolean
}

const CANCELABLE = `(status = 'pending' OR (status = 'processing' AND (retry_requested OR NOT cancel_requested)))`

/** Cancels waiting tasks, and requests that running ones end. */
export async function cancelTasks(database: Knex, which: TasksOf | { id: string }): Promise<CanceledTask[]> {
  const [condition, id] = conditionOf(which)
  const { rows } = await database.raw(
    `WITH picked AS (SELECT id, status FROM tasks WHERE ${condition} AND ${CANCELABLE} ORDER BY id FOR UPDATE),
     changed AS (
       UPDATE tasks t SET status = CASE WHEN p.status = 'pending' THEN 'cancelled' ELSE t.status END, retry_requested = false,
         cancel_requested = p.status = 'processing', completed_at = CASE WHEN p.status = 'pending' THEN now() END
       FROM picked p WHERE t.id = p.id RETURNING t.id, p.status = 'processing' AS "isRunning"
     ), unqueued AS (
       SELECT count(*) AS count FROM ${WORKER_SCHEMA}.complete_jobs(ARRAY(
         SELECT j.id FROM ${WORKER_SCHEMA}.jobs j JOIN changed c ON j.key = c.id::text WHERE NOT c."isRunning"))
     ) SELECT id, "isRunning", (SELECT count FROM unqueued) FROM changed`,
    { id, type: 'type' in which ? which.type : '' },
  )
  return rows.map(({ id, isRunning }: CanceledTask) => ({ id, isRunning }))
}

function conditionOf(which: TasksOf | { id: string }): [condition: string, id: string] {
  if (!('type' in which)) return ['id = CAST(:id AS uuid) AND :type = :type', which.id]
  if ('parentId' in which) return ['type = :type AND parent_id = CAST(:id AS uuid)', which.parentId]
  if ('libraryId' in which) return ['type = :type AND library_id = CAST(:id AS uuid)', which.libraryId]
  return ['type = :type AND :id = :id', '']
}

/**
 * Queues a failed or canceled task again with all its tries, unless another task with its key is waiting. If the canceled run has not ended yet,
 * the task waits for that. Returns its type; null if it cannot be queued.
 */
export async function requeueTask(database: Knex, id: string): Promise<TaskType | null> {
  const { rows } = await database.raw(
    `WITH picked AS (
       SELECT id, status FROM tasks t WHERE id = :id
         AND (status IN ('failed', 'cancelled') OR (status = 'processing' AND cancel_requested AND NOT retry_requested))
         AND NOT EXISTS (SELECT 1 FROM tasks w WHERE w.type = t.type AND w.dedupe_key = t.dedupe_key AND w.status = 'pending')
       FOR UPDATE
     ), changed AS (
       UPDATE tasks t SET status = CASE WHEN p.status = 'processing' THEN 'processing' ELSE 'pending' END, retry_requested = p.status = 'processing',
         -- The index tasks_waiting must not treat it as a task that was never begun.
         runs = t.runs + CASE WHEN p.status = 'processing' THEN 0 ELSE 1 END,
         max_attempts = t.attempts + ${TRIES_MAX}, scheduled_for = now(), completed_at = NULL, last_error = NULL, result = NULL
       FROM picked p WHERE t.id = p.id RETURNING t.id, t.type, t.priority, t.scheduled_for, t.status
     ), queued AS (SELECT count(*) AS count FROM ${WORKER_SCHEMA}.add_jobs(${jobsOf(`changed WHERE status = 'pending'`)}))
     SELECT type, (SELECT count FROM queued) FROM changed`,
    { id },
  )
  return rows[0]?.type ?? null
}

/** Null if the task does not exist. */
export async function findTaskType(database: Knex, taskId: string): Promise<TaskType | null> {
  return (await database('tasks').where('id', taskId).first('type'))?.type ?? null
}

/** Whether the task was canceled. */
export async function isCanceled(database: Knex, taskId: string): Promise<boolean> {
  const row = await database('tasks').where('id', taskId).first('status', 'cancel_requested')
  return row !== undefined && (row.status === 'cancelled' || row.cancel_requested)
}

/** States of the parts of a task. Deleted parts are not counted. */
export async function countParts(database: Knex, parentId: string): Promise<{ waiting: number; failed: number; cancelled: number }> {
  const { rows } = await database.raw(
    `SELECT count(*) FILTER (WHERE status IN ('pending', 'processing'))::int AS waiting, count(*) FILTER (WHERE status = 'failed')::int AS failed,
       count(*) FILTER (WHERE status = 'cancelled')::int AS cancelled FROM tasks WHERE parent_id = ?`,
    [parentId],
  )
  return rows[0]
}

export interface Progress {
  id: string
  current: number
  total: number
  message: string
}

export async function recordProgress(database: Knex, all: readonly Progress[]): Promise<void> {
  await database.raw(
    `WITH reported AS (SELECT * FROM unnest(CAST(? AS uuid[]), CAST(? AS int[]), CAST(? AS int[]), CAST(? AS text[])) AS p (id, current, total, message)),
     picked AS (SELECT id FROM tasks WHERE id IN (SELECT id FROM reported) AND status = 'processing' ORDER BY id FOR UPDATE)
     UPDATE tasks t SET progress_current = p.current, progress_total = p.total, progress_message = nullif(p.message, '')
     FROM reported p JOIN picked USING (id) WHERE t.id = p.id`,
    [all.map((p) => p.id), all.map((p) => p.current), all.map((p) => p.total), all.map((p) => p.message)],
  )
}

/** Deletes tasks that ended at least this long ago. */
export async function deleteOldTasks(database: Knex, kept: { type: TaskType; seconds: number; otherSeconds: number }): Promise<void> {
  for (;;) {
    const { rowCount } = await database.raw(
      `DELETE FROM tasks WHERE id IN (SELECT id FROM tasks WHERE status IN ('completed', 'failed', 'cancelled')
         AND completed_at < now() - make_interval(secs => CASE WHEN type = :type THEN CAST(:seconds AS float8) ELSE :otherSeconds END) LIMIT ${STEP})`,
      kept,
    )
    if (rowCount < STEP) return
  }
}

export async function sendTaskSignal(database: Knex, signal: Signal): Promise<void> {
  if ('wake' in signal) return await sendSignal(database, signal)
  for (let at = 0; at < signal.cancel.length; at += SIGNAL_IDS_MAX)
    await sendSignal(database, { cancel: signal.cancel.slice(at, at + SIGNAL_IDS_MAX) })
}
