import type { Knex } from 'knex'

/** Settings that administrators choose while the server runs, and who changed them. What has no row has its default value. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE chosen_settings (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      key text NOT NULL UNIQUE,
      value text NOT NULL,
      version integer NOT NULL DEFAULT 1,
      updated_at timestamptz NOT NULL DEFAULT now(),
      updated_by uuid REFERENCES users ON DELETE SET NULL
    );
    CREATE TABLE setting_history (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      setting_id uuid NOT NULL REFERENCES chosen_settings ON DELETE CASCADE,
      old_value text NOT NULL,
      new_value text NOT NULL,
      change_reason text,
      ip_address text,
      -- Without a reference: history outlives the users in it.
      changed_by uuid NOT NULL,
      changed_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX setting_history_setting ON setting_history (setting_id, changed_at DESC);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS setting_history, chosen_settings')
}
