import type { Knex } from 'knex'

/** Accounts, libraries, series, books, scans: the tables of the first release. */
export async function up(knex: Knex): Promise<void> {
  // 'en-u-kn-true': digits compare as numbers and case only breaks ties, which is the natural order people expect.
  await knex.raw(`CREATE COLLATION IF NOT EXISTS carrel_natural (provider = icu, locale = 'en-u-kn-true')`)

  await knex.raw(`
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

    -- One row per login; its access tokens name it and die with it. Refresh tokens form the family of a session.
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

    CREATE TABLE libraries (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      name text NOT NULL,
      path text NOT NULL UNIQUE,
      description text,
      is_active boolean NOT NULL DEFAULT true,
      series_strategy text NOT NULL DEFAULT 'series_volume',
      series_config jsonb,
      book_strategy text NOT NULL DEFAULT 'metadata_first',
      book_config jsonb,
      number_strategy text NOT NULL DEFAULT 'filename',
      number_config jsonb,
      default_reading_direction text NOT NULL DEFAULT 'ltr' CHECK (default_reading_direction IN ('ltr', 'rtl', 'ttb', 'webtoon')),
      allowed_formats text[],
      excluded_patterns text,
      scanning_config jsonb,
      title_preprocessing_rules jsonb,
      auto_match_conditions jsonb,
      last_scanned_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now()
    );

    -- "path" is relative to the library root: a folder, or the file itself for a one-shot.
    CREATE TABLE series (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
      path text NOT NULL,
      title text NOT NULL,
      title_sort text,
      oneshot boolean NOT NULL DEFAULT false,
      reading_direction text CHECK (reading_direction IN ('ltr', 'rtl', 'ttb', 'webtoon')),
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE (library_id, path)
    );
    CREATE INDEX series_order ON series ((coalesce(title_sort, title)) COLLATE carrel_natural, id);
    CREATE INDEX series_created ON series (created_at, id);

    -- "path" is absolute. A file is known by path, size and mtime; "file_hash" (SHA-256) finds it again after a move.
    CREATE TABLE books (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
      series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
      path text NOT NULL,
      file_name text NOT NULL,
      file_format text NOT NULL CHECK (file_format IN ('cbz', 'cbr', 'epub', 'pdf')),
      file_size bigint NOT NULL,
      file_mtime_ns bigint NOT NULL,
      file_hash text,
      reader_hash text,
      -- pending: waits for analysis; analyzed: readable; failed: a fatal problem stands in book_errors.
      state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'analyzed', 'failed')),
      page_source text NOT NULL DEFAULT 'none',
      page_count integer NOT NULL DEFAULT 0,
      title text NOT NULL,
      title_sort text,
      number numeric(12, 4),
      volume integer,
      chapter numeric(12, 4),
      cover_hash text,
      deleted_at timestamptz,
      analyzed_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE (library_id, path)
    );
    CREATE INDEX books_series ON books (series_id, number, (coalesce(title_sort, title)) COLLATE carrel_natural, id);
    CREATE INDEX books_library ON books (library_id, id);
    CREATE INDEX books_title ON books ((coalesce(title_sort, title)) COLLATE carrel_natural, id);
    CREATE INDEX books_created ON books (created_at, id);
    CREATE INDEX books_hash ON books (library_id, file_hash) WHERE file_hash IS NOT NULL;
    CREATE INDEX books_pending ON books (library_id, id) WHERE state = 'pending' AND deleted_at IS NULL;

    -- All pages of a book in one row: they are written, read and replaced together.
    CREATE TABLE book_pages (
      book_id uuid PRIMARY KEY REFERENCES books ON DELETE CASCADE,
      pages jsonb NOT NULL
    );

    CREATE TABLE book_errors (
      book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
      error_type text NOT NULL,
      message text NOT NULL,
      details jsonb,
      fatal boolean NOT NULL,
      occurred_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (book_id, error_type)
    );
    CREATE INDEX book_errors_type ON book_errors (error_type, book_id);

    -- The id of a scan is the id of its task.
    CREATE TABLE scans (
      id uuid PRIMARY KEY,
      library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
      mode text NOT NULL CHECK (mode IN ('normal', 'deep')),
      status text NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'cancelled')),
      files_total integer NOT NULL DEFAULT 0,
      files_processed integer NOT NULL DEFAULT 0,
      books_found integer NOT NULL DEFAULT 0,
      series_found integer NOT NULL DEFAULT 0,
      errors jsonb NOT NULL DEFAULT '[]',
      cancel_requested boolean NOT NULL DEFAULT false,
      started_at timestamptz NOT NULL DEFAULT now(),
      completed_at timestamptz
    );
    CREATE UNIQUE INDEX scans_one_active ON scans (library_id) WHERE status IN ('pending', 'processing');
    CREATE INDEX scans_latest ON scans (library_id, started_at DESC);

    -- Who may see a series: tags on series, grants for users (deny wins; any allow grant makes a whitelist).
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
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE IF EXISTS user_sharing_grants, series_sharing_tags, sharing_tags, scans, book_errors, book_pages, books, series,
      libraries, api_keys, refresh_tokens, sessions, users CASCADE;
    DROP COLLATION IF EXISTS carrel_natural;
  `)
}
