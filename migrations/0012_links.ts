import type { Knex } from 'knex'

/** Links that scans follow, and what scans tell about links and names. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Folders, as paths without links, that links in the library may lead to.
    ALTER TABLE libraries ADD COLUMN link_targets text[] NOT NULL DEFAULT '{}';
    -- The links that the last scan followed, relative to the library, and where they lead. What two links lead to stays with the one that had it first.
    CREATE TABLE library_links (
      library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
      path text NOT NULL,
      target text NOT NULL,
      PRIMARY KEY (library_id, path)
    );
    -- How many, and some of their paths; null for none. "alike": they differ from another name of their folder only in case or Unicode form.
    ALTER TABLE scans ADD COLUMN skipped_links jsonb, ADD COLUMN alike_names jsonb;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE scans DROP COLUMN skipped_links, DROP COLUMN alike_names;
    DROP TABLE library_links;
    ALTER TABLE libraries DROP COLUMN link_targets;
  `)
}
