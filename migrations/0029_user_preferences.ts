import type { Knex } from 'knex'

/** What clients keep for a user: how pages are laid out, which theme, anything. As json, so that it comes back as it was sent. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE user_preferences (
      user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
      key text NOT NULL,
      value json NOT NULL,
      updated_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (user_id, key)
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS user_preferences')
}
