/**
 * Plugins, their versions and their data. The whole package is in its row: installing, upgrading and rolling back are one transaction each, so a
 * server that is killed in between has the old version or the new one, and every server on this database has the same.
 */
export const PLUGINS = `
  CREATE TABLE plugins (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    -- The id of the manifest; it never changes.
    key text NOT NULL UNIQUE,
    -- waiting: for the consent of an administrator; quarantined: violated its sandbox too often; revoked: must not run any more.
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'enabled', 'disabled', 'quarantined', 'revoked')),
    state_reason text,
    -- The version that runs; null before the first consent.
    version_id uuid,
    -- The permissions of the consent; null before it.
    granted jsonb,
    config jsonb NOT NULL DEFAULT '{}',
    -- Hosts of the configuration that may be in the private network, as http://nas.lan:8080: granted separately, never with the other permissions.
    private_origins text[] NOT NULL DEFAULT '{}',
    -- How its metadata is used: the libraries, the query, the fields.
    matching jsonb NOT NULL DEFAULT '{}',
    -- Of its current storage.
    data_version int NOT NULL DEFAULT 1,
    -- Remaining calls for which a new version is on probation: if it fails, the previous version runs again.
    probation_calls int NOT NULL DEFAULT 0,
    previous_version_id uuid,
    -- Failures in a row, and until when it is not called; a restart keeps both.
    breaker jsonb,
    last_success_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );

  CREATE TABLE plugin_versions (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
    version text NOT NULL,
    -- Of the whole package; "code_sha256" of its code.
    sha256 text NOT NULL,
    manifest jsonb NOT NULL,
    code text NOT NULL,
    code_sha256 text NOT NULL,
    readme text,
    -- Maps positions in the code to the sources; null if the package has none.
    source_map text,
    -- Ed25519 keys, base64.
    signed_by text[] NOT NULL DEFAULT '{}',
    -- The keys that it names for the next version; null if its signature names none.
    next_signers text[],
    -- The address of the repository that it came from; null for a file.
    repository text,
    -- The order of installation: clocks can be set back.
    position bigint GENERATED ALWAYS AS IDENTITY,
    -- When it stopped running because an earlier version runs again.
    rolled_back_at timestamptz,
    installed_by uuid REFERENCES users ON DELETE SET NULL,
    installed_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (plugin_id, version)
  );
  ALTER TABLE plugins ADD FOREIGN KEY (version_id) REFERENCES plugin_versions ON DELETE SET NULL,
    ADD FOREIGN KEY (previous_version_id) REFERENCES plugin_versions ON DELETE SET NULL;
  CREATE INDEX plugins_version ON plugins (version_id);
  CREATE INDEX plugins_previous_version ON plugins (previous_version_id);

  -- Who may provide the next version of a plugin. It stays when the plugin is uninstalled, so that nobody else can take its id.
  CREATE TABLE plugin_identities (
    -- The id of the manifest.
    key text PRIMARY KEY,
    -- Ed25519 keys, base64, that may sign the next version; none while no version was signed.
    signers text[] NOT NULL,
    -- Whether a signed list names them: then one is enough, otherwise all must sign.
    named boolean NOT NULL,
    -- The version that named them.
    version text NOT NULL,
    -- The address of the repository that it belongs to; null for files.
    repository text,
    -- Whether a person has consented to a version. Before that there is nothing to keep, and what was only tried blocks nobody.
    accepted boolean NOT NULL DEFAULT false
  );

  -- What an administrator has agreed to: the record of the package that was shown (plugins/consent/record.ts). A plugin that runs without a row was
  -- agreed to before there were records.
  CREATE TABLE plugin_consents (
    plugin_id uuid PRIMARY KEY REFERENCES plugins ON DELETE CASCADE,
    -- Of the package that was shown.
    sha256 text NOT NULL,
    record jsonb NOT NULL,
    record_hash text NOT NULL,
    -- Null for a command on the server's machine.
    user_id uuid REFERENCES users ON DELETE SET NULL,
    consented_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX plugin_consents_user ON plugin_consents (user_id);

  -- Sources of versions: static folders with a signed index, whose key is pinned when they are added.
  CREATE TABLE plugin_repositories (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    url text NOT NULL UNIQUE,
    name text NOT NULL,
    -- Ed25519, base64.
    public_key text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    -- Of the newest index that was read: older ones are refused.
    sequence bigint NOT NULL DEFAULT 0,
    expires_at timestamptz,
    index jsonb,
    fetched_at timestamptz,
    error text,
    created_at timestamptz NOT NULL DEFAULT now()
  );

  -- The key and the newest index of each deleted repository: it may be added again, and another key or an older index is refused then.
  CREATE TABLE plugin_repository_sequences (
    url text PRIMARY KEY,
    public_key text NOT NULL,
    sequence bigint NOT NULL,
    index jsonb
  );

  -- Packages and plugins that must not run any more; they stay when their repository is deleted.
  CREATE TABLE plugin_revocations (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    repository_id uuid REFERENCES plugin_repositories ON DELETE SET NULL,
    -- Its address, which stays. It revokes only plugins that belong to it, or to no repository.
    repository text NOT NULL,
    sha256 text,
    plugin_key text,
    -- Semantic versions; null for all.
    version_range text,
    reason text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK ((sha256 IS NULL) <> (plugin_key IS NULL))
  );
  CREATE UNIQUE INDEX plugin_revocations_what ON plugin_revocations (coalesce(sha256, ''), coalesce(plugin_key, ''), coalesce(version_range, ''), repository);
  CREATE INDEX plugin_revocations_repository ON plugin_revocations (repository_id);

  -- Encrypted with AES-256-GCM. Plugin, user and field are authenticated with each, so that rows cannot be exchanged.
  CREATE TABLE plugin_credentials (
    plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
    user_id uuid REFERENCES users ON DELETE CASCADE,
    field text NOT NULL,
    key_id text NOT NULL,
    sealed bytea NOT NULL,
    expires_at timestamptz,
    -- Of a refresh token: until this time one server renews it, and no other server tries.
    renewing_until timestamptz,
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (plugin_id, user_id, field)
  );
  CREATE INDEX plugin_credentials_user ON plugin_credentials (user_id);

  -- Plugins that users have enabled, and their configuration.
  CREATE TABLE user_plugins (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    enabled boolean NOT NULL DEFAULT true,
    config jsonb NOT NULL DEFAULT '{}',
    -- What the user has agreed to: the part of the plugin's record that concerns users (plugins/host/user-consent.ts), and its hash.
    agreed_sha256 text NOT NULL,
    agreed_record jsonb NOT NULL,
    agreed_at timestamptz NOT NULL DEFAULT now(),
    -- Of the user's storage: that of a plugin which may not run for the user is migrated only when it may again.
    data_version int NOT NULL,
    -- When the service refused the credentials: the connection is broken, not the plugin.
    auth_failed_at timestamptz,
    last_success_at timestamptz,
    external_username text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (plugin_id, user_id)
  );
  CREATE INDEX user_plugins_user ON user_plugins (user_id);

  -- What was shown to users who have not enabled a plugin: they agree to this by enabling it.
  CREATE TABLE plugin_records_shown (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
    -- Of the part of the record that concerns users, as in user_plugins.agreed_sha256.
    sha256 text NOT NULL,
    PRIMARY KEY (user_id, plugin_id)
  );
  CREATE INDEX plugin_records_shown_plugin ON plugin_records_shown (plugin_id);

  -- Sign-ins that are under way; any server on this database can finish them, once.
  CREATE TABLE plugin_sign_ins (
    state_hash text PRIMARY KEY,
    plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    sealed bytea NOT NULL,
    key_id text NOT NULL,
    -- Only the browser that began the sign-in can finish it.
    browser_hash text NOT NULL,
    expires_at timestamptz NOT NULL
  );
  CREATE INDEX plugin_sign_ins_user ON plugin_sign_ins (user_id, expires_at);
  CREATE INDEX plugin_sign_ins_plugin ON plugin_sign_ins (plugin_id);

  -- Without a user: of the plugin itself.
  CREATE TABLE plugin_storage (
    plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
    user_id uuid REFERENCES users ON DELETE CASCADE,
    -- Version of the plugin's data when it was written: an update migrates a copy, so that the previous version finds its own data.
    data_version int NOT NULL DEFAULT 1,
    key text NOT NULL,
    value text NOT NULL,
    expires_at timestamptz,
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (plugin_id, user_id, data_version, key)
  );
  CREATE INDEX plugin_storage_user ON plugin_storage (user_id);

  CREATE TABLE plugin_failures (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
    version text NOT NULL,
    method text NOT NULL,
    code text NOT NULL,
    message text NOT NULL,
    -- Where in the sources of the plugin; null if the version has no source map.
    source text,
    -- The user for whom the plugin was called; null for none. What it says is for that user alone, so it goes with the user.
    user_id uuid REFERENCES users ON DELETE CASCADE,
    call_id uuid NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX plugin_failures_plugin ON plugin_failures (plugin_id, occurred_at DESC);
  CREATE INDEX plugin_failures_user ON plugin_failures (user_id) WHERE user_id IS NOT NULL;

  -- Who withdraws a right, over HTTP, by a command, on another server or in SQL, ends the calls that run with it on every server: they listen, and
  -- check whether their isolates may stay (plugins/host/withdrawal-store.ts).
  CREATE FUNCTION carrel_plugin_withdrawn() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    gone jsonb := to_jsonb(OLD);
  BEGIN
    PERFORM pg_notify('carrel_plugin', json_build_object(
      'pluginId', CASE TG_TABLE_NAME WHEN 'plugins' THEN gone ->> 'id' ELSE gone ->> 'plugin_id' END,
      'userId', CASE TG_TABLE_NAME WHEN 'users' THEN gone ->> 'id' ELSE gone ->> 'user_id' END)::text);
    RETURN NULL;
  END $$;
  CREATE TRIGGER plugins_withdrawn AFTER UPDATE OF state, version_id, granted, config, private_origins ON plugins FOR EACH ROW
    EXECUTE FUNCTION carrel_plugin_withdrawn();
  CREATE TRIGGER plugins_gone AFTER DELETE ON plugins FOR EACH ROW EXECUTE FUNCTION carrel_plugin_withdrawn();
  CREATE TRIGGER user_plugins_withdrawn AFTER UPDATE OF enabled, config, agreed_sha256 ON user_plugins FOR EACH ROW EXECUTE FUNCTION carrel_plugin_withdrawn();
  CREATE TRIGGER user_plugins_gone AFTER DELETE ON user_plugins FOR EACH ROW EXECUTE FUNCTION carrel_plugin_withdrawn();
  CREATE TRIGGER users_withdrawn AFTER UPDATE OF is_active ON users FOR EACH ROW WHEN (OLD.is_active AND NOT NEW.is_active)
    EXECUTE FUNCTION carrel_plugin_withdrawn();
  CREATE TRIGGER users_gone AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION carrel_plugin_withdrawn();
`
