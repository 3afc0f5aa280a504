import type { Knex } from 'knex'

/** What keeping a house in order remembers: files that lie in it more than once, and how its tasks went. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The same two columns the other way round: files that are the same are looked for in all libraries at once.
    DROP INDEX books_hash;
    CREATE INDEX books_hash ON books (file_hash, library_id) WHERE file_hash IS NOT NULL;

    -- Hashes that more than one book had when they were looked for last. Which books these are is asked anew each time.
    -- A group of which every book was dismissed is not shown until it has another one.
    CREATE TABLE duplicate_groups (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      file_hash text NOT NULL UNIQUE,
      book_count integer NOT NULL,
      dismissed_books uuid[] NOT NULL DEFAULT '{}',
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now()
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
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE IF EXISTS task_metrics, duplicate_groups;
    DROP INDEX books_hash;
    CREATE INDEX books_hash ON books (library_id, file_hash) WHERE file_hash IS NOT NULL;
  `)
}
