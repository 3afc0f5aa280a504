/**
 * Every table that a list of books or series, one of its conditions or its search reads, except what belongs to one user alone, and averages of that
 * (core/catalog/list-state-query.ts), which few lists ask for and any user changes at any time.
 */
export const CATALOG_TABLES = [
  ...['libraries', 'series', 'books', 'book_errors', 'series_metadata', 'book_metadata', 'covers', 'series_search', 'book_search'],
  ...['genres', 'tags', 'series_genres', 'series_tags', 'book_genres', 'book_tags', 'people', 'series_people', 'book_people'],
  ...['series_alternate_titles', 'series_external_ids', 'book_external_ids', 'series_external_links', 'book_external_links'],
  ...['series_external_ratings', 'sharing_tags', 'series_sharing_tags'],
  ...['collections', 'collection_series', 'read_lists', 'read_list_books'],
] as const

/** Every table with rows of one user that lists and conditions read for that user. */
export const USER_TABLES = ['read_progress', 'want_to_read', 'series_user_ratings'] as const

// migrations/0002_access.ts takes that of the grants away.
const catalogTriggers = [...CATALOG_TABLES, 'user_sharing_grants'].map(
  (table) => `CREATE TRIGGER ${table}_versioned AFTER INSERT OR UPDATE OR DELETE ON ${table}
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_catalog_changed();`,
)

/** Each event has transition tables of its own. */
const userTriggers = USER_TABLES.flatMap((table) => [
  `CREATE TRIGGER ${table}_user_added AFTER INSERT ON ${table} REFERENCING NEW TABLE AS rows
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_user_changed();`,
  `CREATE TRIGGER ${table}_user_changed AFTER UPDATE ON ${table} REFERENCING NEW TABLE AS rows
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_user_changed();`,
  `CREATE TRIGGER ${table}_user_removed AFTER DELETE ON ${table} REFERENCING OLD TABLE AS rows
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_user_changed();`,
])

/** The kinds of numbers of books. A deleted one counts as deleted whatever its state. */
const KIND = `CASE WHEN deleted_at IS NULL THEN 'books_' || state ELSE 'books_deleted' END`
/** @param due selects the series whose numbers change */
const count = (from: string, due: string) => `
      INSERT INTO kept_number_changes (kind, key, delta)
        SELECT kind, library_id, sum(delta) FROM (${from}) AS counted GROUP BY kind, library_id HAVING sum(delta) <> 0;
      INSERT INTO series_numbers_due ${due};
      RETURN NULL;`
const rowsOf = (table: string, delta: number) => `SELECT ${KIND} AS kind, library_id, ${delta} AS delta FROM ${table}`
const seriesOf = (table: string) => `SELECT DISTINCT series_id FROM ${table}`
const CHANGED_SERIES = `SELECT DISTINCT unnest(ARRAY[b.series_id, a.series_id]) FROM before b JOIN after a USING (id)
        WHERE (b.series_id, b.deleted_at IS NULL, b.volume, b.chapter) IS DISTINCT FROM (a.series_id, a.deleted_at IS NULL, a.volume, a.chapter)`

/**
 * Numbers that lists would otherwise count. Writers only insert differences, so that they never wait for each other, and a rollback takes its
 * differences with it. A number is the sum of its row and its differences: exact in every snapshot. core/paging/kept-number-store.ts adds the differences to the
 * rows now and then.
 * Three of the kinds are versions: how often the catalog, averages of all users, or what belongs to one was changed by a committed transaction. The sum only grows, so two
 * snapshots with the same version have the same data. After all other tables: a test database is emptied in the order in which it was made.
 */
export const NUMBERS = `
  -- Kinds: books_pending, books_analyzed, books_failed, books_deleted by library; series_present (those with books) by library; catalog and averages, with
  -- the key of zeros; user by user.
  CREATE TABLE kept_numbers (
    kind text COLLATE "C" NOT NULL,
    key uuid NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (kind, key)
  );
  CREATE TABLE kept_number_changes (
    kind text COLLATE "C" NOT NULL,
    key uuid NOT NULL,
    delta bigint NOT NULL
  );
  CREATE INDEX kept_number_changes_key ON kept_number_changes (kind, key) INCLUDE (delta);

  -- Once in each transaction, whose number is kept in a setting that ends with it, or with the part of it that is taken back.
  CREATE FUNCTION carrel_catalog_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF current_setting('carrel.changed_in', true) IS DISTINCT FROM pg_current_xact_id()::text THEN
        PERFORM set_config('carrel.changed_in', pg_current_xact_id()::text, true);
        INSERT INTO kept_number_changes VALUES ('catalog', '00000000-0000-0000-0000-000000000000', 1);
      END IF;
      RETURN NULL;
    END $$;
  ${catalogTriggers.join('\n  ')}
  CREATE FUNCTION carrel_averages_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO kept_number_changes VALUES ('averages', '00000000-0000-0000-0000-000000000000', 1); RETURN NULL; END $$;
  CREATE TRIGGER series_user_ratings_versioned AFTER INSERT OR UPDATE OR DELETE ON series_user_ratings
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_averages_changed();

  -- The name of the library, which stands in every feed. Other settings are in no list.
  CREATE TRIGGER library_name_versioned AFTER UPDATE ON chosen_settings FOR EACH ROW
    WHEN (NEW.key = 'application.name' AND NEW.value IS DISTINCT FROM OLD.value) EXECUTE FUNCTION carrel_catalog_changed();

  CREATE FUNCTION carrel_user_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO kept_number_changes SELECT DISTINCT 'user', user_id, 1 FROM rows;
      RETURN NULL;
    END $$;
  ${userTriggers.join('\n  ')}

  CREATE FUNCTION carrel_books_counted_added() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN${count(rowsOf('added', 1), seriesOf('added'))} END $$;
  CREATE TRIGGER books_counted_added AFTER INSERT ON books REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_books_counted_added();
  CREATE FUNCTION carrel_books_counted_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN${count(`${rowsOf('after', 1)} UNION ALL ${rowsOf('before', -1)}`, CHANGED_SERIES)} END $$;
  CREATE TRIGGER books_counted_changed AFTER UPDATE ON books REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_books_counted_changed();
  CREATE FUNCTION carrel_books_counted_removed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN${count(rowsOf('removed', -1), seriesOf('removed'))} END $$;
  CREATE TRIGGER books_counted_removed AFTER DELETE ON books REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_books_counted_removed();
`
