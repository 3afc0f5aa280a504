import type { Knex } from 'knex'

/** Sessions of browsers, and what a list of sessions shows. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE sessions ADD COLUMN last_used_at timestamptz, ADD COLUMN user_agent text;
    UPDATE sessions SET last_used_at = created_at;
    ALTER TABLE sessions ALTER COLUMN last_used_at SET NOT NULL, ALTER COLUMN last_used_at SET DEFAULT now();

    -- The cookie of a browser has a random token of its own. The session ends some time after its last use.
    CREATE TABLE browser_sessions (
      session_id uuid PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
      token_hash bytea NOT NULL UNIQUE
    );
  `)
}

/** A session whose cookie nobody can recognize any more is not kept. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM sessions WHERE id IN (SELECT session_id FROM browser_sessions);
    DROP TABLE browser_sessions;
    ALTER TABLE sessions DROP COLUMN last_used_at, DROP COLUMN user_agent;
  `)
}
