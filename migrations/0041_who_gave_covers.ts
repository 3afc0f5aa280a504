import type { Knex } from 'knex'

/** Who gave a cover: what a person uploaded or chose, no plugin takes away or puts another in its place. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE covers ADD COLUMN given_by text NOT NULL DEFAULT 'user' CHECK (given_by IN ('user', 'plugin'));
    UPDATE covers SET given_by = 'plugin' WHERE source LIKE 'plugin:%';`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE covers DROP COLUMN IF EXISTS given_by')
}
