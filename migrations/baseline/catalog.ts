/**
 * What decides whether a list shows a book, and to whom: with it, an index of an order is enough to find any page of the list, and to count it, without
 * reading the table.
 */
const SHOWN = 'INCLUDE (library_id, series_id, deleted_at)'

/** Series and books with their files. Lists have one index per sort order. */
export const CATALOG = `
  CREATE TABLE series (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
    -- Relative to the library's root: a folder, or the file itself for a one-shot. Paths are bytes, not words: "C" compares exactly and fast.
    path text COLLATE "C" NOT NULL,
    title text NOT NULL,
    title_sort text,
    -- The title for filters.
    title_fold text NOT NULL GENERATED ALWAYS AS (carrel_fold(title)) STORED,
    -- The title by which lists are ordered and grouped. A column, because PostgreSQL reads the table when an index has an expression instead.
    sort_key text COLLATE carrel_natural NOT NULL GENERATED ALWAYS AS (ltrim(carrel_fold(coalesce(title_sort, title)))) STORED,
    oneshot boolean NOT NULL DEFAULT false,
    reading_direction text CHECK (reading_direction IN ('ltr', 'rtl', 'ttb', 'webtoon')),
    -- The title by the folder alone, after the library's title rules: a reset restores it.
    folder_title text,
    -- The folder contains many unrelated titles, so its books do not give the series its metadata.
    unrelated boolean NOT NULL DEFAULT false,
    -- Books have new metadata since the series was last aggregated. The series is aggregated after all of its books are analyzed.
    aggregate_due boolean NOT NULL DEFAULT false,
    -- The metadata in the file beside its books (series.json), and the version of that file.
    sidecar jsonb,
    sidecar_version text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (library_id, path)
  );
  CREATE INDEX series_title ON series (sort_key, id) INCLUDE (library_id);
  CREATE INDEX series_created ON series (created_at, id) INCLUDE (library_id);
  CREATE INDEX series_updated ON series (updated_at, id) INCLUDE (library_id);
  CREATE INDEX series_aggregate_due ON series (library_id) WHERE aggregate_due;
  CREATE INDEX series_title_text ON series USING gin (title_fold gin_trgm_ops);

  CREATE TABLE books (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
    series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
    -- Absolute. Path, size and mtime identify a file.
    path text COLLATE "C" NOT NULL,
    file_name text NOT NULL,
    file_format text NOT NULL CHECK (file_format IN ('cbz', 'cbr', 'epub', 'pdf')),
    file_size bigint NOT NULL,
    file_mtime_ns bigint NOT NULL,
    -- SHA-256, which finds the file after a move; and the partial MD5 by which e-readers identify a file.
    file_hash text,
    reader_hash text,
    -- pending: waits for its analysis; analyzed: can be read; failed: a fatal problem is in book_errors.
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'analyzed', 'failed')),
    -- The last analysis could not read the file for a temporary reason, or files that describe it have changed since: every scan retries it.
    retry_due boolean NOT NULL DEFAULT false,
    -- Identifies the versions of the files beside it that describe it; null for none.
    sidecars text,
    page_source text NOT NULL DEFAULT 'none',
    page_count integer NOT NULL DEFAULT 0,
    title text NOT NULL,
    title_sort text,
    -- As in "series".
    title_fold text NOT NULL GENERATED ALWAYS AS (carrel_fold(title)) STORED,
    sort_key text COLLATE carrel_natural NOT NULL GENERATED ALWAYS AS (ltrim(carrel_fold(coalesce(title_sort, title)))) STORED,
    -- double precision stores these exactly as they were sent.
    number double precision,
    volume integer,
    chapter double precision,
    -- The number in the reading order: books without one come last.
    reading_number double precision NOT NULL GENERATED ALWAYS AS (coalesce(number, 'Infinity')) STORED,
    -- The release date of the metadata, for lists and filters: an unknown month or day is the first; a day that does not exist becomes one of the next
    -- month. Null without a year.
    released date,
    cover_hash text,
    -- The first complete scan that did not find the file, of those in a row; its row may be deleted by now.
    missed_by uuid,
    -- Found since the last accepted scan. The guard against mass deletion does not count such books: a few on an empty mount point would offset a lost
    -- disk.
    provisional boolean NOT NULL DEFAULT false,
    deleted_at timestamptz,
    analyzed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- With what a filter by path compares.
    UNIQUE (library_id, path) INCLUDE (id, series_id, file_name, deleted_at)
  );
  -- The reading order of a series (core/fields/reading-order.ts). With most of what filters compare: they read this index instead of the table, which
  -- is three times as large.
  CREATE INDEX books_reading ON books (series_id, reading_number, sort_key, title COLLATE carrel_natural, file_name COLLATE carrel_natural, id)
    INCLUDE (library_id, deleted_at, state, file_format, page_count, number, volume, chapter, released);
  CREATE INDEX books_library ON books (library_id, id);
  CREATE INDEX books_title ON books (sort_key, id) ${SHOWN};
  CREATE INDEX books_library_title ON books (library_id, sort_key, id) INCLUDE (series_id, deleted_at);
  CREATE INDEX books_created ON books (created_at, id) ${SHOWN};
  CREATE INDEX books_updated ON books (updated_at, id) ${SHOWN};
  CREATE INDEX books_released ON books (released, id) ${SHOWN};
  CREATE INDEX books_number ON books (number, id) ${SHOWN};
  CREATE INDEX books_size ON books (file_size, id) ${SHOWN};
  CREATE INDEX books_file_name ON books (file_name COLLATE carrel_natural, id) ${SHOWN};
  CREATE INDEX books_pages ON books (page_count, id) ${SHOWN};
  CREATE INDEX books_title_text ON books USING gin (title_fold gin_trgm_ops);
  -- Finds equal files of all libraries at once.
  CREATE INDEX books_hash ON books (file_hash, library_id) WHERE file_hash IS NOT NULL;
  CREATE INDEX books_reader_hash ON books (reader_hash) WHERE reader_hash IS NOT NULL;
  CREATE INDEX books_pending ON books (library_id, id) WHERE state = 'pending' AND deleted_at IS NULL;
  CREATE INDEX books_series_pending ON books (series_id) WHERE state = 'pending' AND deleted_at IS NULL;
  CREATE INDEX books_retry_due ON books (library_id) WHERE retry_due;
  CREATE INDEX books_provisional ON books (library_id) WHERE provisional;
  CREATE INDEX books_gone ON books (library_id) WHERE deleted_at IS NOT NULL;
  -- Narrow: whether some books exist is seen without reading the table. Not a partial index: without statistics, as after a first scan, the planner takes one
  -- for nearly empty, and reads all of it for each series.
  CREATE INDEX books_present_ids ON books (id) INCLUDE (series_id, deleted_at);

  CREATE FUNCTION carrel_book_is_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.missed_by := NULL; RETURN NEW; END $$;
  CREATE TRIGGER books_back BEFORE UPDATE OF deleted_at ON books FOR EACH ROW
    WHEN (NEW.deleted_at IS NULL AND NEW.missed_by IS NOT NULL) EXECUTE FUNCTION carrel_book_is_back();

  CREATE FUNCTION carrel_page_type(pages jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN min(page ->> 'mediaType') = max(page ->> 'mediaType') THEN min(page ->> 'mediaType') END FROM jsonb_array_elements(pages) AS page
  $$;
  -- All pages of a book in one row: they are written, read and replaced together.
  CREATE TABLE book_pages (
    book_id uuid PRIMARY KEY REFERENCES books ON DELETE CASCADE,
    pages jsonb NOT NULL,
    -- The media type of all pages; null if they differ. Feeds state it for lists of books, whose pages are too long to read.
    media_type text GENERATED ALWAYS AS (carrel_page_type(pages)) STORED
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

  -- Files that were being analyzed when the server stalled or an analysis thread died. An analysis that succeeds deletes the row, and so does
  -- a scan that finds the file changed.
  CREATE TABLE book_suspects (
    book_id uuid PRIMARY KEY REFERENCES books ON DELETE CASCADE,
    -- How often the file was suspected; 3 only when nothing else was being analyzed.
    times int NOT NULL,
    reason text NOT NULL,
    -- The task that analyzed it alone.
    alone_task uuid,
    noted_at timestamptz NOT NULL DEFAULT now()
  );

  -- Hashes that more than one book had at the last search. Each request searches the books themselves again.
  -- A group whose books are all dismissed is hidden until another book joins it.
  CREATE TABLE duplicate_groups (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    file_hash text NOT NULL UNIQUE,
    book_count integer NOT NULL,
    dismissed_books uuid[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
`
