/** Read progress, lists of series to read, and ratings of users. */
export const READING = `
  CREATE TABLE read_progress (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
    current_page integer NOT NULL CHECK (current_page >= 1),
    -- 0 to 1.
    percentage double precision CHECK (percentage BETWEEN 0 AND 1),
    completed boolean NOT NULL DEFAULT false,
    -- The Readium locator that a client sent last, unchanged, with its device; and its time. A change of the page does not change them.
    locator jsonb,
    progression_at timestamptz,
    -- The position that an e-reader sent, in its own format.
    sync_place jsonb,
    started_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    completed_at timestamptz,
    UNIQUE (user_id, book_id)
  );
  CREATE INDEX read_progress_book ON read_progress (book_id);
  CREATE INDEX read_progress_latest ON read_progress (user_id, updated_at DESC, id);

  CREATE TABLE want_to_read (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, series_id)
  );
  CREATE INDEX want_to_read_series ON want_to_read (series_id);

  -- "rating" from 1 to 100.
  CREATE TABLE series_user_ratings (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
    rating smallint NOT NULL CHECK (rating BETWEEN 1 AND 100),
    notes text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, series_id)
  );
  CREATE INDEX series_user_ratings_series ON series_user_ratings (series_id);
`

/** Collections of series and read lists of books. */
export const SHELVES = `
  CREATE TABLE collections (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL,
    summary text,
    -- True: by "position"; false: by title.
    ordered boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE UNIQUE INDEX collections_name ON collections (lower(name));
  CREATE TABLE collection_series (
    collection_id uuid NOT NULL REFERENCES collections ON DELETE CASCADE,
    series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
    position integer NOT NULL,
    PRIMARY KEY (collection_id, series_id)
  );
  CREATE INDEX collection_series_series ON collection_series (series_id);

  CREATE TABLE read_lists (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL,
    summary text,
    -- True: by "position"; false: by release date.
    ordered boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE UNIQUE INDEX read_lists_name ON read_lists (lower(name));
  CREATE TABLE read_list_books (
    read_list_id uuid NOT NULL REFERENCES read_lists ON DELETE CASCADE,
    book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
    position integer NOT NULL,
    PRIMARY KEY (read_list_id, book_id)
  );
  CREATE INDEX read_list_books_book ON read_list_books (book_id);
`
