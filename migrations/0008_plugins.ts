import type { Knex } from 'knex'

/**
 * Plugins, their versions and what they keep. A package lies whole in its row: installing, upgrading and rolling back are one transaction each, so
 * a server that is killed in between has the old version or the new one, and every server on this database has the same.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE plugins (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      -- The manifest's id; it never changes.
      key text NOT NULL UNIQUE,
      -- waiting: for an administrator to agree; quarantined: broke its sandbox too often.
      state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'enabled', 'disabled', 'quarantined')),
      state_reason text,
      -- The version that runs; null until somebody has agreed to one.
      version_id uuid,
      -- What was agreed to; null before.
      granted jsonb,
      config jsonb NOT NULL DEFAULT '{}',
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE plugin_versions (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
      version text NOT NULL,
      -- Of the whole package.
      sha256 text NOT NULL,
      manifest jsonb NOT NULL,
      code text NOT NULL,
      code_sha256 text NOT NULL,
      readme text,
      -- Ed25519 keys, base64.
      signed_by text[] NOT NULL DEFAULT '{}',
      installed_by uuid REFERENCES users ON DELETE SET NULL,
      installed_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE (plugin_id, version)
    );
    ALTER TABLE plugins ADD FOREIGN KEY (version_id) REFERENCES plugin_versions ON DELETE SET NULL;
    CREATE INDEX plugins_version ON plugins (version_id);
    -- For the plugin itself where there is no user.
    CREATE TABLE plugin_storage (
      plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
      user_id uuid REFERENCES users ON DELETE CASCADE,
      key text NOT NULL,
      value text NOT NULL,
      expires_at timestamptz,
      updated_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE NULLS NOT DISTINCT (plugin_id, user_id, key)
    );
    CREATE INDEX plugin_storage_user ON plugin_storage (user_id);
    CREATE TABLE plugin_failures (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
      version text NOT NULL,
      method text NOT NULL,
      code text NOT NULL,
      message text NOT NULL,
      call_id uuid NOT NULL,
      occurred_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX plugin_failures_plugin ON plugin_failures (plugin_id, occurred_at DESC);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE IF EXISTS plugins DROP COLUMN IF EXISTS version_id;
    DROP TABLE IF EXISTS plugin_failures, plugin_storage, plugin_versions, plugins;
  `)
}
