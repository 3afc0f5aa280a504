import type { Knex } from 'knex'

/** Size, color and page of the pictures that lists show. A task reads them from the covers that exist already. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Of the cover from the file. The color is that of most of the picture, as "#rrggbb". "cover_page" is the page that it shows, from 1; null for another
    -- picture, and for covers that are older than this column.
    ALTER TABLE books ADD COLUMN cover_width integer, ADD COLUMN cover_height integer, ADD COLUMN cover_color text, ADD COLUMN cover_page integer;
    ALTER TABLE covers ADD COLUMN color text;
    -- What the task has to do. Empty when it is done.
    CREATE INDEX books_cover_undescribed ON books (id) WHERE cover_hash IS NOT NULL AND cover_color IS NULL;
    CREATE INDEX covers_undescribed ON covers (id) WHERE color IS NULL;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX books_cover_undescribed, covers_undescribed;
    ALTER TABLE books DROP COLUMN cover_width, DROP COLUMN cover_height, DROP COLUMN cover_color, DROP COLUMN cover_page;
    ALTER TABLE covers DROP COLUMN color;
  `)
}
