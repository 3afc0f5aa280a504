/** Libraries and their scans. */
export const LIBRARIES = `
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
    -- Device and inode of the library's folder when a person confirmed that its books may be gone; another folder is not confirmed.
    confirmed_root text,
    -- Every folder was read, and no deletion was withheld.
    complete boolean NOT NULL DEFAULT false,
    -- Deletions that were withheld, because too many files were missing.
    guard jsonb,
    -- The clock of the machine, which nobody can set: measures the time between two scans.
    boot_id text,
    boot_seconds double precision,
    started_at timestamptz NOT NULL DEFAULT now(),
    completed_at timestamptz
  );
  CREATE UNIQUE INDEX scans_one_active ON scans (library_id) WHERE status IN ('pending', 'processing');
  CREATE INDEX scans_latest ON scans (library_id, started_at DESC);

  -- Folders whose files all match their rows: "digest" covers the name, size and mtime of each. A scan then compares one row per folder
  -- instead of one per file. Code that changes such a book in another way than the scan deletes the row of its folder.
  CREATE TABLE scanned_folders (
    library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
    -- Relative to the library's root, '' for the root itself. Paths are bytes, not words: "C" compares exactly and fast.
    path text COLLATE "C" NOT NULL,
    digest text NOT NULL,
    files integer NOT NULL,
    PRIMARY KEY (library_id, path)
  );
`
