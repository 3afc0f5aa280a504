import type { Knex } from 'knex'

/**
 * One place of a reader in a book, whichever way it is told: when the last progression was sent, which pages do not move, and what an e-reader said of
 * it. E-readers know a file by its partial MD5.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE read_progress ADD COLUMN progression_at timestamptz, ADD COLUMN sync_place jsonb;
    UPDATE read_progress SET progression_at = updated_at WHERE locator IS NOT NULL;
    CREATE INDEX books_reader_hash ON books (reader_hash) WHERE reader_hash IS NOT NULL;`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX IF EXISTS books_reader_hash;
    ALTER TABLE read_progress DROP COLUMN IF EXISTS sync_place, DROP COLUMN IF EXISTS progression_at;`)
}
