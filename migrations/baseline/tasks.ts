import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import type { Knex } from 'knex'

/** Tasks as people see them. graphile-worker hands out the jobs; its tables are in a schema of its own. */
export const TASKS = `
  -- Each has a job of graphile-worker, whose key is the task's id, as long as it waits or runs.
  CREATE TABLE tasks (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    type text NOT NULL,
    dedupe_key text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'cancelled')),
    -- Somebody wants the run to end, and, if "retry_requested", another one after it.
    cancel_requested boolean NOT NULL DEFAULT false,
    retry_requested boolean NOT NULL DEFAULT false,
    priority integer NOT NULL,
    -- Tries that were begun; what a node that died or stopped had begun is none.
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL,
    -- Counts every begin, so that a node that lost a task cannot write how it ended.
    runs integer NOT NULL DEFAULT 0,
    worker text,
    library_id uuid,
    series_id uuid,
    book_id uuid,
    user_id uuid,
    parent_id uuid,
    -- Not jsonb: texts of files hold characters that it refuses.
    params json,
    result json,
    last_error text,
    progress_current integer,
    progress_total integer,
    progress_message text,
    created_at timestamptz NOT NULL DEFAULT now(),
    scheduled_for timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    completed_at timestamptz
  );
  -- Of two adders of the same work one wins. A task that was begun before and waits again may meet a newer one of its key.
  CREATE UNIQUE INDEX tasks_waiting ON tasks (type, dedupe_key) WHERE status = 'pending' AND runs = 0;
  CREATE INDEX tasks_open ON tasks (type, dedupe_key) WHERE status IN ('pending', 'processing');
  CREATE INDEX tasks_due ON tasks (type, scheduled_for) WHERE status = 'pending';
  CREATE INDEX tasks_running ON tasks (worker) WHERE status = 'processing';
  CREATE INDEX tasks_parts ON tasks (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX tasks_created ON tasks (created_at DESC, id);
  CREATE INDEX tasks_ended ON tasks (completed_at) WHERE status IN ('completed', 'failed', 'cancelled');

  -- Workers of graphile-worker and the lock that their node holds while it lives: those of a lock that nobody holds are gone.
  CREATE TABLE task_workers (
    worker text PRIMARY KEY,
    node_id text NOT NULL,
    node_lock bigint NOT NULL
  );

  -- How the tasks of one type went within one hour. "durations" counts runs by how long they took, see core/tasks/duration.ts.
  CREATE TABLE task_metrics (
    task_type text NOT NULL,
    hour timestamptz NOT NULL,
    succeeded integer NOT NULL,
    failed integer NOT NULL,
    retried integer NOT NULL,
    items bigint NOT NULL,
    duration_ms bigint NOT NULL,
    duration_min_ms bigint NOT NULL,
    duration_max_ms bigint NOT NULL,
    wait_ms bigint NOT NULL,
    durations integer[] NOT NULL,
    last_error text,
    last_error_at timestamptz,
    PRIMARY KEY (hour, task_type)
  );
`

/** It looks for settings in the working folder when it is loaded, and runs what it finds; see core/tasks/graphile-worker.ts. */
function loadWorker(): typeof import('graphile-worker') {
  const folder = process.cwd()
  process.chdir(import.meta.dirname)
  try {
    return createRequire(import.meta.url)('graphile-worker')
  } finally {
    process.chdir(folder)
  }
}

/** Runs the migrations of graphile-worker inside of this one: they are all there or none is. */
export async function installWorker(knex: Knex): Promise<void> {
  const connection = await knex.client.acquireConnection()
  const query = async (statement: string | { text: string }, values?: unknown[]) =>
    /^(begin|commit|rollback)$/.test(typeof statement === 'string' ? statement : statement.text)
      ? { rows: [] }
      : await connection.query(statement, values)
  const client = { query, release() {} }
  const pool = Object.assign(
    new EventEmitter().on('error', () => {}).on('connect', () => {}),
    { options: {}, connect: async () => client },
  )
  try {
    // Looked for and not found, it would end the transaction.
    await connection.query(`
      CREATE SCHEMA graphile_worker;
      CREATE TABLE graphile_worker.migrations (id int PRIMARY KEY, ts timestamptz NOT NULL DEFAULT now(), breaking boolean NOT NULL DEFAULT false)`)
    await loadWorker().runMigrations({ pgPool: pool as never, schema: 'graphile_worker' })
  } finally {
    await knex.client.releaseConnection(connection)
  }
}
