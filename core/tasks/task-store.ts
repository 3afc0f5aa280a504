import type { Knex } from 'knex'
import { type Channel, openChannel } from '#core/database/channel-store.ts'
import type { TasksOf, TaskType } from '#core/tasks/task.ts'

/** Where pg-boss keeps its tables. */
export const QUEUE_SCHEMA = 'pgboss'
/** What nodes tell each other; only a hint, since everybody also looks for himself every few seconds. */
const CHANNEL = 'carrel_task'
/** Any constant of our own: whoever holds this advisory lock adds our indexes. */
const INDEX_LOCK = 7_201_884_315
/** The write of a run's row follows its claim at once; an active task without one after this time has lost its node in between. */
const ORPHAN_SECONDS = 10

/** A claim of a task: `retryCount` names the attempt, so that a node that lost its claim cannot settle the next one. */
export interface Claim {
  id: string
  retryCount: number
}

export type Signal = { wake: TaskType } | { cancel: string[] }

/** Lets pg-boss run its statements on our pool. */
export function bossDatabase(database: Knex): { executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }> } {
  return {
    async executeSql(text, values) {
      const connection = await database.client.acquireConnection()
      try {
        return await connection.query(text, values)
      } finally {
        await database.client.releaseConnection(connection)
      }
    },
  }
}

/** Indexes that pg-boss has no need of but our questions have: waiting retries of a key, and what is active. */
export async function prepareIndexes(database: Knex): Promise<void> {
  await database.transaction(async (trx) => {
    await trx.raw('SELECT pg_advisory_xact_lock(?)', [INDEX_LOCK])
    await trx.raw(
      `CREATE INDEX IF NOT EXISTS carrel_job_busy ON ${QUEUE_SCHEMA}.job (name, state, singleton_key) WHERE state IN ('retry', 'active')`,
    )
    // A bulk of analyses asks each second how many of its parts are left, among a hundred thousand others.
    await trx.raw(
      `CREATE INDEX IF NOT EXISTS carrel_job_parts ON ${QUEUE_SCHEMA}.job ((data ->> 'parentId')) WHERE data ->> 'parentId' IS NOT NULL`,
    )
  })
}

/** How the parts of a task stand. Of parts that are forgotten nothing is counted. */
export async function countParts(database: Knex, parentId: string): Promise<{ waiting: number; failed: number; cancelled: number }> {
  const { rows } = await database.raw(
    `SELECT count(*) FILTER (WHERE state IN ('created', 'retry', 'active')) AS waiting, count(*) FILTER (WHERE state = 'failed') AS failed,
       count(*) FILTER (WHERE state = 'cancelled') AS cancelled
     FROM ${QUEUE_SCHEMA}.job WHERE data ->> 'parentId' = ?`,
    [parentId],
  )
  const [{ waiting, failed, cancelled }] = rows as [Record<'waiting' | 'failed' | 'cancelled', string>]
  return { waiting: Number(waiting), failed: Number(failed), cancelled: Number(cancelled) }
}

/** The key's waiting task, if there is one. pg-boss keeps keys apart only among jobs that were never tried, hence the second half. */
export async function findWaiting(database: Knex, type: TaskType, key: string): Promise<string | null> {
  const { rows } = await database.raw(
    `SELECT id FROM ${QUEUE_SCHEMA}.job WHERE name = :type AND coalesce(singleton_key, '') = :key AND state = 'created' AND policy = 'short'
     UNION ALL SELECT id FROM ${QUEUE_SCHEMA}.job WHERE name = :type AND singleton_key = :key AND state = 'retry' LIMIT 1`,
    { type, key },
  )
  return rows[0]?.id ?? null
}

/** Which of these keys wait for another try. */
export async function listRetrying(database: Knex, type: TaskType, keys: string[]): Promise<Set<string>> {
  const { rows } = await database.raw(
    `SELECT singleton_key FROM ${QUEUE_SCHEMA}.job WHERE name = ? AND state = 'retry' AND singleton_key = ANY(?::text[])`,
    [type, keys],
  )
  return new Set(rows.map((row: { singleton_key: string }) => row.singleton_key))
}

export async function findTaskType(database: Knex, taskId: string): Promise<TaskType | null> {
  const { rows } = await database.raw(`SELECT name FROM ${QUEUE_SCHEMA}.job WHERE id = ?`, [taskId])
  return rows[0]?.name ?? null
}

/** Whether somebody cancelled the task. */
export async function isCancelled(database: Knex, taskId: string): Promise<boolean> {
  const { rows } = await database.raw(`SELECT 1 FROM ${QUEUE_SCHEMA}.job WHERE id = ? AND state = 'cancelled'`, [taskId])
  return rows.length > 0
}

/** Forgets runs that have ended and remembers those that begin, in one statement. */
export async function replaceRuns(
  database: Knex,
  runs: { ended: string[]; begun: string[]; type: TaskType; nodeId: string; nodeLock: number },
): Promise<void> {
  await database.raw(
    `WITH gone AS (DELETE FROM task_runs WHERE task_id = ANY(CAST(:ended AS uuid[])))
     INSERT INTO task_runs (task_id, task_type, node_id, node_lock)
     SELECT id, :type, :nodeId, CAST(:nodeLock AS bigint) FROM unnest(CAST(:begun AS uuid[])) AS id
     ON CONFLICT (task_id) DO UPDATE SET node_id = excluded.node_id, node_lock = excluded.node_lock, claimed_at = now(),
       progress_current = NULL, progress_total = NULL, progress_message = NULL`,
    // A task may end and begin in one turn (cancelled, then retried); one statement cannot delete and insert the same row.
    { ...runs, ended: runs.ended.filter((id) => !runs.begun.includes(id)) },
  )
}

/** Remembers runs again that another node forgot while our lock was held by nobody, except those it has taken over. */
export async function restoreRuns(database: Knex, runs: { claims: Claim[]; nodeId: string; nodeLock: number }): Promise<void> {
  await database.raw(
    `INSERT INTO task_runs (task_id, task_type, node_id, node_lock)
     SELECT id, name, ?, ?::bigint FROM ${QUEUE_SCHEMA}.job WHERE id = ANY(?::uuid[]) AND state = 'active' AND ${PAIRS}
     ON CONFLICT (task_id) DO NOTHING`,
    [runs.nodeId, runs.nodeLock, runs.claims.map((claim) => claim.id), pairsOf(runs.claims)],
  )
}

export interface Progress {
  id: string
  current: number
  total: number
  /** Empty for none. */
  message: string
}

export async function recordProgress(database: Knex, all: Progress[]): Promise<void> {
  await database.raw(
    `UPDATE task_runs r SET progress_current = p.current, progress_total = p.total, progress_message = nullif(p.message, '')
     FROM unnest(?::uuid[], ?::int[], ?::int[], ?::text[]) AS p (id, current, total, message) WHERE r.task_id = p.id`,
    [all.map((p) => p.id), all.map((p) => p.current), all.map((p) => p.total), all.map((p) => p.message)],
  )
}

const PAIRS = `(id::text || ':' || retry_count) = ANY(?::text[])`
const pairsOf = (claims: Claim[]) => claims.map((claim) => `${claim.id}:${claim.retryCount}`)

/**
 * Puts running tasks back in line as if they had never been claimed. pg-boss' own restore() makes them `created`, which collides
 * with a newer task of the same key; among retries keys may repeat, and without a start time the next claim does not count as a further try.
 */
export async function handBack(database: Knex, type: TaskType, claims: Claim[]): Promise<void> {
  await database.raw(
    `UPDATE ${QUEUE_SCHEMA}.job SET state = 'retry', started_on = NULL, heartbeat_on = NULL, start_after = now()
     WHERE name = ? AND id = ANY(?::uuid[]) AND state = 'active' AND ${PAIRS}`,
    [type, claims.map((claim) => claim.id), pairsOf(claims)],
  )
}

/** Takes the remaining tries from a running task. */
export async function spendTries(database: Knex, type: TaskType, claim: Claim): Promise<void> {
  await database.raw(
    `UPDATE ${QUEUE_SCHEMA}.job SET retry_limit = retry_count WHERE name = ? AND id = ? AND state = 'active' AND ${PAIRS}`,
    [type, claim.id, pairsOf([claim])],
  )
}

/** Cancels every waiting and running one of these tasks; answers their ids. */
export async function cancelMatching(database: Knex, which: TasksOf): Promise<string[]> {
  const [condition, id] =
    'all' in which
      ? ['true', '']
      : 'parentId' in which
        ? [`data ->> 'parentId' = :id`, which.parentId]
        : [`data ->> 'libraryId' = :id`, which.libraryId]
  const { rows } = await database.raw(
    `UPDATE ${QUEUE_SCHEMA}.job SET state = 'cancelled', completed_on = now()
     WHERE name = :type AND state IN ('created', 'retry', 'active') AND ${condition} RETURNING id`,
    { type: which.type, id },
  )
  return rows.map((row: { id: string }) => row.id)
}

/**
 * Puts a failed or cancelled task back in line with all its tries, unless another task of its key waits already.
 * The count of tries goes on, so that a run that has not noticed its cancellation yet cannot settle the new one.
 */
export async function requeue(database: Knex, type: TaskType, task: { id: string; retries: number }): Promise<boolean> {
  const { rows } = await database.raw(
    `UPDATE ${QUEUE_SCHEMA}.job j SET state = 'retry', completed_on = NULL, output = NULL, start_after = now(),
       keep_until = now() + interval '14 days', retry_limit = retry_count + CAST(:retries AS integer) + CASE WHEN started_on IS NULL THEN 0 ELSE 1 END
     WHERE name = :type AND id = :id AND state IN ('failed', 'cancelled')
       AND NOT EXISTS (SELECT 1 FROM ${QUEUE_SCHEMA}.job o WHERE o.name = :type AND o.state = 'created' AND o.policy = 'short'
         AND coalesce(o.singleton_key, '') = coalesce(j.singleton_key, ''))
       AND NOT EXISTS (SELECT 1 FROM ${QUEUE_SCHEMA}.job o WHERE o.name = :type AND o.state = 'retry' AND o.singleton_key = j.singleton_key)
     RETURNING id`,
    { type, ...task },
  )
  return rows.length > 0
}

/**
 * Takes back what dead nodes were running, however often that happened: a kill, a power cut or a full machine says nothing about the task, and
 * a scan of days must come to its end. It needs no waiting and costs no try: the next claim counts one more, so that a node which was only
 * cut off cannot settle it, and the limit goes up with it. Files that stop the server are found by their name (see suspect-store.ts).
 * Answers how many were taken back.
 * @param own what this node has claimed or runs: it lives, even when it has lost the connection that holds its lock. Of its rows only
 *   those are taken back that have been there for a while without being among `ids` (their claim was never answered).
 */
export async function takeBackLost(database: Knex, types: TaskType[], own: { nodeLock: number; ids: string[] }): Promise<number> {
  // Rows whose task has ended in the meantime (a cancelled one, say) are simply forgotten.
  const { rows } = await database.raw(
    `WITH live AS (
       SELECT (classid::bigint << 32) | objid::bigint AS node_lock FROM pg_locks
       WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
     ), dead AS (
       DELETE FROM task_runs WHERE task_id <> ALL(CAST(:ids AS uuid[])) AND CASE WHEN node_lock = :nodeLock
         THEN claimed_at < now() - make_interval(secs => CAST(:orphan AS integer))
         ELSE node_lock NOT IN (SELECT node_lock FROM live) END
       RETURNING task_id
     )
     SELECT j.id, j.retry_count AS "retryCount"
     FROM ${QUEUE_SCHEMA}.job j WHERE j.name = ANY(CAST(:types AS text[])) AND j.state = 'active' AND j.id <> ALL(CAST(:ids AS uuid[])) AND (
       j.id IN (SELECT task_id FROM dead)
       OR (j.started_on < now() - make_interval(secs => CAST(:orphan AS integer)) AND NOT EXISTS (SELECT 1 FROM task_runs r WHERE r.task_id = j.id)))`,
    { types, ...own, orphan: ORPHAN_SECONDS },
  )
  const lost = rows as Claim[]
  if (lost.length > 0) {
    await database.raw(
      `UPDATE ${QUEUE_SCHEMA}.job SET state = 'retry', heartbeat_on = NULL, start_after = now(),
         retry_limit = retry_limit + CASE WHEN started_on IS NULL THEN 0 ELSE 1 END
       WHERE name = ANY(?) AND id = ANY(?::uuid[]) AND state = 'active' AND ${PAIRS}`,
      [types, lost.map((claim) => claim.id), pairsOf(lost)],
    )
  }
  return lost.length
}

export async function sendSignal(database: Knex, signal: Signal): Promise<void> {
  await database.raw('SELECT pg_notify(?, ?)', [CHANNEL, JSON.stringify(signal)])
}

/** A connection of our own that hears the other nodes, and by holding a lock shows them that this node lives. */
export type Presence = Channel

/**
 * @param options.nodeLock positive, below 2^53, unlike that of any other process
 * @param options.onSignal what other nodes (and this one) said
 * @param options.onReturn the connection is back after a loss, during which signals were missed
 */
export async function openPresence(
  database: Knex,
  options: { nodeLock: number; onSignal: (signal: Signal) => void; onReturn: () => void; onLoss: (error: unknown) => void },
): Promise<Presence> {
  const { nodeLock, onSignal, onReturn, onLoss } = options
  return await openChannel(database, {
    name: CHANNEL,
    prepare: (client) => client.query('SELECT pg_advisory_lock($1)', [nodeLock]),
    onPayload: (payload) => onSignal(JSON.parse(payload) as Signal),
    onReturn,
    onLoss,
  })
}
