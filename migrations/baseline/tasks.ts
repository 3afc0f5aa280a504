import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import type { Knex } from 'knex'

/** Tasks as users see them. graphile-worker hands out the jobs; its tables are in a schema of its own. */
export const TASKS = `
  -- While a task waits or runs, it has a job of graphile-worker, whose key is the id of the task.
  CREATE TABLE tasks (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    type text NOT NULL,
    dedupe_key text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'cancelled')),
    -- A user has canceled the run, and, with "retry_requested", requested another one after it.
    cancel_requested boolean NOT NULL DEFAULT false,
    retry_requested boolean NOT NULL DEFAULT false,
    priority integer NOT NULL,
    -- Tries that were begun; runs that ended because their node died or stopped do not count.
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL,
    -- Counts every begin, so that a node that has lost a task cannot write its outcome.
    runs integer NOT NULL DEFAULT 0,
    worker text,
    library_id uuid,
    series_id uuid,
    book_id uuid,
    user_id uuid,
    parent_id uuid,
    -- Not jsonb, which rejects some characters that texts of files contain.
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
  -- If two requests add the same work, only one task is added. A task that was begun before and waits again may have the key of a newer one.
  CREATE UNIQUE INDEX tasks_waiting ON tasks (type, dedupe_key) WHERE status = 'pending' AND runs = 0;
  CREATE INDEX tasks_open ON tasks (dedupe_key, type) WHERE status IN ('pending', 'processing');
  CREATE INDEX tasks_due ON tasks (type, scheduled_for) WHERE status = 'pending';
  CREATE INDEX tasks_running ON tasks (worker) WHERE status = 'processing';
  CREATE INDEX tasks_parts ON tasks (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX tasks_created ON tasks (created_at DESC, id);
  CREATE INDEX tasks_ended ON tasks (completed_at) WHERE status IN ('completed', 'failed', 'cancelled');

  -- Workers of graphile-worker and the advisory lock of their node: while no process holds the lock, the workers are dead.
  CREATE TABLE task_workers (
    worker text PRIMARY KEY,
    node_id text NOT NULL,
    node_lock bigint NOT NULL
  );

  -- Metrics of the tasks of one type within one hour. "durations" counts runs by class of duration, see core/tasks/duration.ts.
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

/** When it is loaded, it looks for settings in the working folder and executes them; see core/tasks/graphile-worker.ts. */
function loadWorker(): typeof import('graphile-worker') {
  const folder = process.cwd()
  process.chdir(import.meta.dirname)
  try {
    return createRequire(import.meta.url)('graphile-worker')
  } finally {
    process.chdir(folder)
  }
}

/** Runs the migrations of graphile-worker in the transaction of this one: all of them or none. */
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
    // graphile-worker queries this table first; if it did not exist, the error would abort the transaction.
    await connection.query(`
      CREATE SCHEMA graphile_worker;
      CREATE TABLE graphile_worker.migrations (id int PRIMARY KEY, ts timestamptz NOT NULL DEFAULT now(), breaking boolean NOT NULL DEFAULT false)`)
    await loadWorker().runMigrations({ pgPool: pool as never, schema: 'graphile_worker' })
    // add_jobs searches the jobs that run for the keys of the new ones. Without this it reads all jobs, for every batch of a scan.
    await connection.query('CREATE INDEX jobs_running ON graphile_worker._private_jobs (key) WHERE is_available IS NOT TRUE')
  } finally {
    await knex.client.releaseConnection(connection)
  }
}
