import type { Knex } from 'knex'

/** Which browser began a sign-in, and for which reader a call of a plugin failed. */
export async function up(knex: Knex): Promise<void> {
  // Those that are under way end within ten minutes by themselves; no browser could prove that it began them.
  await knex.raw(`
    DELETE FROM plugin_sign_ins;
    ALTER TABLE plugin_sign_ins ADD COLUMN browser_hash text NOT NULL;
    ALTER TABLE plugin_failures ADD COLUMN user_id uuid REFERENCES users ON DELETE SET NULL;
    CREATE INDEX plugin_failures_user ON plugin_failures (user_id) WHERE user_id IS NOT NULL;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE IF EXISTS plugin_sign_ins DROP COLUMN IF EXISTS browser_hash;
    ALTER TABLE IF EXISTS plugin_failures DROP COLUMN IF EXISTS user_id;
  `)
}
