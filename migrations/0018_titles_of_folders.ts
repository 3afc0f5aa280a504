import type { Knex } from 'knex'

/**
 * The title that a series has by its folder alone, to go back to, and whether its folder holds many unrelated titles. Series that took something from
 * their books are asked again at the next scan, since it takes more than one book to name them.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(String.raw`
    -- As the rules of the library have made it; null where nobody has looked since.
    ALTER TABLE series ADD COLUMN folder_title text, ADD COLUMN unrelated boolean NOT NULL DEFAULT false;
    UPDATE series s SET folder_title = CASE
      WHEN coalesce(m.sources ->> 'title', 'file_name') = 'file_name' THEN s.title
      WHEN s.oneshot THEN regexp_replace(s.path, '\.[^.]+$', '')
      ELSE regexp_replace(s.path, '^.*/', '') END,
      seed_due = s.seed_due OR m.series_id IS NOT NULL
    FROM series o LEFT JOIN series_metadata m ON m.series_id = o.id WHERE o.id = s.id;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE series DROP COLUMN IF EXISTS folder_title, DROP COLUMN IF EXISTS unrelated')
}
