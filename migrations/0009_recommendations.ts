import type { Knex } from 'knex'

/** What plugins recommend, how metadata was matched, and the work that is done on a timetable. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The last list of each plugin for each reader: a restart answers at once.
    CREATE TABLE recommendations (
      plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
      user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
      items jsonb NOT NULL DEFAULT '[]',
      -- Null until a list has been made.
      generated_at timestamptz,
      -- Series that the reader had begun, rated or wished for by then: should one of them be hidden since, the list may tell of it.
      based_on uuid[] NOT NULL DEFAULT '{}',
      -- When somebody set out to add a task for the next list; null once it is there.
      asked_at timestamptz,
      -- After failures the next try waits, longer each time.
      failures int NOT NULL DEFAULT 0,
      next_try_at timestamptz,
      last_error text,
      PRIMARY KEY (plugin_id, user_id)
    );
    CREATE INDEX recommendations_user ON recommendations (user_id);
    -- What a reader does not want to see again, whatever a plugin says.
    CREATE TABLE dismissed_recommendations (
      plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
      user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
      external_id text NOT NULL,
      reason text,
      -- Null until the plugin has been told.
      told_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (plugin_id, user_id, external_id)
    );
    CREATE INDEX dismissed_recommendations_user ON dismissed_recommendations (user_id);

    -- What applying a plugin's metadata changed, so that it can be undone.
    CREATE TABLE metadata_applications (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      series_id uuid REFERENCES series ON DELETE CASCADE,
      book_id uuid REFERENCES books ON DELETE CASCADE,
      plugin_id uuid REFERENCES plugins ON DELETE SET NULL,
      plugin_key text NOT NULL,
      external_id text NOT NULL,
      -- Null where a task did it.
      applied_by uuid REFERENCES users ON DELETE SET NULL,
      -- Fields with what they held before and with what they were given, and the sources of both.
      changes jsonb NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      undone_at timestamptz,
      CHECK ((series_id IS NULL) <> (book_id IS NULL))
    );
    CREATE INDEX metadata_applications_series ON metadata_applications (series_id, created_at DESC);
    CREATE INDEX metadata_applications_book ON metadata_applications (book_id, created_at DESC);
    CREATE INDEX metadata_applications_plugin ON metadata_applications (plugin_id);
    CREATE INDEX metadata_applications_by ON metadata_applications (applied_by);

    CREATE TABLE library_jobs (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
      type text NOT NULL CHECK (type IN ('metadata_refresh')),
      name text NOT NULL,
      enabled boolean NOT NULL DEFAULT true,
      -- Five fields; null: only when somebody asks.
      cron text,
      timezone text NOT NULL DEFAULT 'UTC',
      config jsonb NOT NULL,
      next_run_at timestamptz,
      last_run_at timestamptz,
      last_run_status text,
      last_run_message text,
      task_id uuid,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX library_jobs_library ON library_jobs (library_id);
    CREATE INDEX library_jobs_due ON library_jobs (next_run_at) WHERE enabled;

    CREATE TABLE series_exports (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
      format text NOT NULL CHECK (format IN ('json', 'csv', 'md')),
      export_type text NOT NULL CHECK (export_type IN ('series', 'books', 'both')),
      library_ids uuid[] NOT NULL,
      fields text[] NOT NULL,
      book_fields text[] NOT NULL,
      status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'completed', 'failed', 'cancelled')),
      task_id uuid,
      row_count int,
      file_bytes bigint,
      error text,
      created_at timestamptz NOT NULL DEFAULT now(),
      started_at timestamptz,
      completed_at timestamptz,
      expires_at timestamptz NOT NULL
    );
    CREATE INDEX series_exports_user ON series_exports (user_id, created_at DESC);
    CREATE INDEX series_exports_expiry ON series_exports (expires_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS series_exports, library_jobs, metadata_applications, dismissed_recommendations, recommendations')
}
