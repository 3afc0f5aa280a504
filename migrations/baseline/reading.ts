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
    -- When the server wrote the row last: an e-reader that was offline reports a time of its own. Different for each row, so that a list of changes
    -- can be cut anywhere.
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- With what lists compare: they do not read the table.
    UNIQUE (user_id, book_id) INCLUDE (completed)
  );
  CREATE INDEX read_progress_book ON read_progress (book_id);
  CREATE INDEX read_progress_recorded ON read_progress (user_id, recorded_at);
  CREATE INDEX read_progress_latest ON read_progress (user_id, updated_at, book_id);

  -- Progress that no longer exists, so that apps can forget it too. Without a foreign key to books: a purged book was removed as well.
  CREATE TABLE read_progress_removals (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    book_id uuid NOT NULL,
    removed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, book_id)
  );
  CREATE INDEX read_progress_removals_latest ON read_progress_removals (user_id, removed_at);

  CREATE FUNCTION carrel_progress_recorded() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN NEW.recorded_at := clock_timestamp(); RETURN NEW; END $$;
  CREATE TRIGGER read_progress_recorded BEFORE UPDATE ON read_progress FOR EACH ROW EXECUTE FUNCTION carrel_progress_recorded();
  CREATE FUNCTION carrel_progress_begun() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM read_progress_removals r USING added a WHERE r.user_id = a.user_id AND r.book_id = a.book_id;
      RETURN NULL;
    END $$;
  CREATE TRIGGER read_progress_begun AFTER INSERT ON read_progress REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_progress_begun();
  -- Those of a deleted user are of no use to anybody. Removals are kept a day longer than apps may ask for them, see core/reading/progress-query.ts.
  CREATE FUNCTION carrel_progress_removed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO read_progress_removals (user_id, book_id, removed_at)
        SELECT r.user_id, r.book_id, clock_timestamp() FROM removed r JOIN users u ON u.id = r.user_id
        ON CONFLICT (user_id, book_id) DO UPDATE SET removed_at = excluded.removed_at;
      DELETE FROM read_progress_removals p USING (SELECT DISTINCT user_id FROM removed) r
        WHERE p.user_id = r.user_id AND p.removed_at < now() - interval '366 days';
      RETURN NULL;
    END $$;
  CREATE TRIGGER read_progress_removed AFTER DELETE ON read_progress REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_progress_removed();

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
  CREATE INDEX series_user_ratings_order ON series_user_ratings (user_id, rating, series_id);
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
