import type { Knex } from 'knex'

/**
 * The token of an app's session is derived from its row, so that every node gives the same one to everybody who shows the same password or key. Those
 * of before are ended: apps show what they have once more.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM sessions WHERE id IN (SELECT session_id FROM app_sessions);
    ALTER TABLE app_sessions DROP COLUMN token_hash, ADD COLUMN remembered boolean NOT NULL,
      DROP CONSTRAINT app_sessions_session_id_key, ADD PRIMARY KEY (session_id);`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM sessions WHERE id IN (SELECT session_id FROM app_sessions);
    ALTER TABLE app_sessions DROP CONSTRAINT app_sessions_pkey, DROP COLUMN remembered, ADD COLUMN token_hash bytea PRIMARY KEY,
      ADD CONSTRAINT app_sessions_session_id_key UNIQUE (session_id);`)
}
