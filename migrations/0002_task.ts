import type { Knex } from 'knex'

/** What the task queue and the scan remember beside pg-boss and the books. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Who runs which task at this moment, and how far it is. A row lives as long as the run; "node_lock" is the advisory lock
    -- that the node holds by a connection of its own, so that a lock nobody holds means a dead node, or one whose connection was
    -- lost: it never takes back what it runs itself, and puts its rows back when it is connected again. Unlogged: after a crash
    -- of PostgreSQL no node holds its lock any more, and a run without a row is taken back just the same.
    CREATE UNLOGGED TABLE task_runs (
      task_id uuid PRIMARY KEY,
      task_type text NOT NULL,
      node_id text NOT NULL,
      node_lock bigint NOT NULL,
      progress_current integer,
      progress_total integer,
      progress_message text,
      claimed_at timestamptz NOT NULL DEFAULT now()
    );

    -- Folders whose books stand in the database exactly as they were on the disk: "digest" covers the name, size and mtime of
    -- each. A rescan then compares one row per folder instead of one per file. Whoever changes such a book by another way
    -- than the scan removes the row of its folder. "path" is relative to the library's root, '' for the root itself.
    CREATE TABLE scanned_folders (
      library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
      path text COLLATE "C" NOT NULL,
      digest text NOT NULL,
      files integer NOT NULL,
      PRIMARY KEY (library_id, path)
    );

    -- Paths are bytes, not words: they are looked up exactly and compared fast.
    ALTER TABLE books ALTER COLUMN path TYPE text COLLATE "C";
    ALTER TABLE series ALTER COLUMN path TYPE text COLLATE "C";
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE IF EXISTS task_runs, scanned_folders;
    ALTER TABLE books ALTER COLUMN path TYPE text;
    ALTER TABLE series ALTER COLUMN path TYPE text;
  `)
}
