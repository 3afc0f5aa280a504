import type { Knex } from 'knex'

/**
 * Sessions of reader apps, which are begun by a password or an API key and shown by a token of their own. One that an API key began ends with it and
 * may do no more than it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE app_sessions (
      token_hash bytea PRIMARY KEY,
      session_id uuid NOT NULL UNIQUE REFERENCES sessions ON DELETE CASCADE,
      api_key_id uuid REFERENCES api_keys ON DELETE CASCADE
    );
    CREATE INDEX app_sessions_key ON app_sessions (api_key_id) WHERE api_key_id IS NOT NULL;`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS app_sessions')
}
