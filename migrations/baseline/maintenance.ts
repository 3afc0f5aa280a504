/** Settings that administrators change while the server runs. A setting without a row has its default value. */
export const SETTINGS = `
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
    -- Without a foreign key: the history stays when the user is deleted.
    changed_by uuid NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX setting_history_setting ON setting_history (setting_id, changed_at DESC);
`

/** Files of records that users export. */
export const EXPORTS = `
  CREATE TABLE series_exports (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    format text NOT NULL CHECK (format IN ('json', 'csv', 'md')),
    export_type text NOT NULL CHECK (export_type IN ('series', 'books', 'both')),
    library_ids uuid[] NOT NULL,
    fields text[] NOT NULL,
    book_fields text[] NOT NULL,
    -- Whether the file contains absolute paths on the server.
    whole_paths boolean NOT NULL DEFAULT false,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'cancelled')),
    task_id uuid,
    row_count int,
    file_bytes bigint,
    error text,
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    completed_at timestamptz,
    expires_at timestamptz NOT NULL
  );
  CREATE INDEX series_exports_user ON series_exports (user_id, created_at DESC);
  CREATE INDEX series_exports_expiry ON series_exports (expires_at);

  -- The series of the file, in several rows: while one of them is hidden from the user, or gone, nobody gets the file.
  CREATE TABLE export_series (
    export_id uuid NOT NULL REFERENCES series_exports ON DELETE CASCADE,
    series_ids uuid[] NOT NULL
  );
  CREATE INDEX export_series_export ON export_series (export_id);
`

/** The row that the health check writes to find out whether the database accepts changes. */
export const HEALTH = `
  CREATE TABLE health_probe (
    id smallint PRIMARY KEY CHECK (id = 1),
    written_at timestamptz NOT NULL
  );
`
