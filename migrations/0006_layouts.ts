import type { Knex } from 'knex'

/** Several series in one folder, and what the names of folders say about books and series. Existing libraries keep their layout. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE series
      -- Tells several series of one folder apart; '' when the path alone does.
      ADD COLUMN name_key text COLLATE "C" NOT NULL DEFAULT '',
      -- The title by the layout, before the title rules of the library; null when the last part of the path is it.
      ADD COLUMN layout_title text,
      -- Values by names of folders: publisher, imprint, author.
      ADD COLUMN layout_values jsonb,
      DROP CONSTRAINT series_library_id_path_key,
      ADD CONSTRAINT series_library_id_path_key UNIQUE (library_id, path, name_key);
    ALTER TABLE books
      -- Values by names of folders, or by the pattern of the library: volume, chapter, number, title.
      ADD COLUMN layout_values jsonb,
      -- Not one of the numbered books of its series.
      ADD COLUMN side boolean NOT NULL DEFAULT false,
      -- The name of a series in its metadata by which it was grouped; '' for none, null before. What its file says later moves it only with the layout.
      ADD COLUMN grouped_by text;
    -- The layout has changed, and books have not been moved to their series yet.
    ALTER TABLE libraries ADD COLUMN arrange_due boolean NOT NULL DEFAULT false;
    -- What was decided for a folder, until the layout changes: one new file never regroups a library.
    CREATE TABLE folder_layouts (
      library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
      -- As in "scanned_folders".
      path text COLLATE "C" NOT NULL,
      kind text NOT NULL CHECK (kind IN ('calibre', 'bundle', 'series', 'persons', 'author')),
      -- The folder above is a publisher.
      published boolean NOT NULL,
      PRIMARY KEY (library_id, path)
    );
  `)
}

/** Series that share a folder get a path that only they have. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE folder_layouts;
    UPDATE libraries SET series_strategy = 'series_volume', series_config = NULL WHERE series_strategy = 'auto';
    UPDATE series SET path = path || '/' || name_key WHERE name_key <> '';
    ALTER TABLE libraries DROP COLUMN arrange_due;
    ALTER TABLE books DROP COLUMN layout_values, DROP COLUMN side, DROP COLUMN grouped_by;
    ALTER TABLE series
      DROP CONSTRAINT series_library_id_path_key, DROP COLUMN name_key, DROP COLUMN layout_title, DROP COLUMN layout_values,
      ADD CONSTRAINT series_library_id_path_key UNIQUE (library_id, path);
  `)
}
