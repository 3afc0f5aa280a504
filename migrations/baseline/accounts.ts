/** Users, how they sign in, and what they share. */
export const ACCOUNTS = `
  CREATE TABLE users (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    username text NOT NULL,
    email text NOT NULL,
    password_hash text NOT NULL,
    role text NOT NULL CHECK (role IN ('reader', 'maintainer', 'admin')),
    permissions text[] NOT NULL DEFAULT '{}',
    is_active boolean NOT NULL DEFAULT true,
    last_login_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE UNIQUE INDEX users_username ON users (lower(username));
  CREATE UNIQUE INDEX users_email ON users (lower(email));

  -- What clients store for a user: page layout, theme, anything. As json, so that it is returned exactly as it was sent.
  CREATE TABLE user_preferences (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    key text NOT NULL,
    value json NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key)
  );

  -- One row per sign-in. Its access tokens name it and end with it. The refresh tokens of a session form one family.
  CREATE TABLE sessions (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    revoked_at timestamptz,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX sessions_user ON sessions (user_id);
  CREATE INDEX sessions_expiry ON sessions (expires_at);

  CREATE TABLE refresh_tokens (
    token_hash bytea PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    used_at timestamptz,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);

  CREATE TABLE api_keys (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name text NOT NULL,
    key_prefix text NOT NULL UNIQUE,
    key_hash bytea NOT NULL,
    permissions text[] NOT NULL,
    is_active boolean NOT NULL DEFAULT true,
    expires_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX api_keys_user ON api_keys (user_id, created_at);

  -- Sessions of client apps, opened with a password or an API key. One that was opened with a key ends with the key and has no more permissions.
  -- The token is derived from the row, so that every node returns the same token for the same password or key.
  CREATE TABLE app_sessions (
    session_id uuid PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_keys ON DELETE CASCADE,
    remembered boolean NOT NULL
  );
  CREATE INDEX app_sessions_key ON app_sessions (api_key_id) WHERE api_key_id IS NOT NULL;

  -- Devices and addresses from which users have signed in: attempts from elsewhere do not lock them out.
  CREATE TABLE known_devices (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    -- Keyed hash of the secret in a cookie, or of an address; the table reveals neither.
    mark bytea NOT NULL,
    last_used_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, mark)
  );
`

/** Who may see a series: tags of series, grants of users. Deny wins; a user with an allow grant sees only allowed series. After users and series. */
export const SHARING = `
  CREATE TABLE sharing_tags (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL,
    description text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE UNIQUE INDEX sharing_tags_name ON sharing_tags (lower(name));
  CREATE TABLE series_sharing_tags (
    series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
    sharing_tag_id uuid NOT NULL REFERENCES sharing_tags ON DELETE CASCADE,
    PRIMARY KEY (series_id, sharing_tag_id)
  );
  CREATE INDEX series_sharing_tags_tag ON series_sharing_tags (sharing_tag_id);
  CREATE TABLE user_sharing_grants (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    sharing_tag_id uuid NOT NULL REFERENCES sharing_tags ON DELETE CASCADE,
    access_mode text NOT NULL CHECK (access_mode IN ('allow', 'deny')),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, sharing_tag_id)
  );
`
