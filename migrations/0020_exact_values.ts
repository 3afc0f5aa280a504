import type { Knex } from 'knex'

/**
 * Numbers and metadata of one's own as they were sent. `numeric(12, 4)` rounded a chapter 10.12345; `jsonb` sorts the members of an object. Exports say
 * whether they tell where files lie on the server: those of before do.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE books ALTER COLUMN number TYPE double precision, ALTER COLUMN chapter TYPE double precision;
    ALTER TABLE book_metadata ALTER COLUMN custom_metadata TYPE json USING custom_metadata::json;
    ALTER TABLE series_metadata ALTER COLUMN custom_metadata TYPE json USING custom_metadata::json;
    ALTER TABLE series_exports ADD COLUMN whole_paths boolean NOT NULL DEFAULT false;
    UPDATE series_exports SET whole_paths = true;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE series_exports DROP COLUMN whole_paths;
    ALTER TABLE series_metadata ALTER COLUMN custom_metadata TYPE jsonb USING custom_metadata::jsonb;
    ALTER TABLE book_metadata ALTER COLUMN custom_metadata TYPE jsonb USING custom_metadata::jsonb;
    ALTER TABLE books ALTER COLUMN number TYPE numeric(12, 4), ALTER COLUMN chapter TYPE numeric(12, 4);
  `)
}
