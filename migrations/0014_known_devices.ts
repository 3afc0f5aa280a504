import type { Knex } from 'knex'

/** From where and with what users have signed in before: strangers who guess at an account do not keep its owner out. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE known_devices (
      user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
      -- Keyed hash of the secret in a cookie, or of an address; whoever reads the table learns neither.
      mark bytea NOT NULL,
      last_used_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (user_id, mark)
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS known_devices')
}
