import type { Knex } from 'knex'

/** Which node watches the folders of a library, and how. A table of its own: a watch changes nothing that lists of libraries show. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE library_watches (
      library_id uuid PRIMARY KEY REFERENCES libraries ON DELETE CASCADE,
      -- As in "task_workers".
      node_lock bigint NOT NULL,
      -- Watched folders; null until the watch has begun, and if there is none.
      folders integer,
      -- Folders on drives that report no changes.
      silent integer NOT NULL DEFAULT 0,
      -- Why the library cannot be watched.
      problem text,
      since timestamptz NOT NULL DEFAULT now()
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE library_watches')
}
