import type { Knex } from 'knex'

/** How the last run of a list failed, in a word, and when. Null for failures of before: nobody knows any more. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE recommendations ADD COLUMN last_error_code text, ADD COLUMN last_error_at timestamptz')
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE recommendations DROP COLUMN last_error_code, DROP COLUMN last_error_at')
}
