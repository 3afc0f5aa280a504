const TRIGGERED: readonly [event: string, table: 'NEW' | 'OLD'][] = [
  ['INSERT', 'NEW'],
  ['UPDATE', 'NEW'],
  ['DELETE', 'OLD'],
]

/** Each event has a transition table of its own. */
const triggersOf = (table: string, about: string, call: string) =>
  TRIGGERED.map(
    ([event, rows]) => `CREATE TRIGGER ${table}_${about}_${event.toLowerCase()} AFTER ${event} ON ${table} REFERENCING ${rows} TABLE AS rows
    FOR EACH STATEMENT EXECUTE FUNCTION ${call};`,
  ).join('\n  ')

const PRESENT = (table: string, delta: number) => `SELECT library_id, ${delta} AS delta FROM ${table} WHERE book_count > 0`
const countPresent = (from: string) => `
      INSERT INTO kept_number_changes (kind, key, delta)
        SELECT 'series_present', library_id, sum(delta) FROM (${from}) AS counted GROUP BY library_id HAVING sum(delta) <> 0;
      RETURN NULL;`

/**
 * What lists show of a series besides its own row: numbers of its books, and how many of them a user has read. Writers never wait for each other and never
 * count: they only insert which series is due, in the transaction that changes its books. A reader computes what is due itself, so that the numbers are
 * exact in every snapshot; core/catalog/series-numbers-store.ts computes it once for all and removes the marks, now and then. After the tables of books,
 * reading and kept numbers.
 */
export const SERIES_NUMBERS = `
  CREATE TABLE series_numbers (
    series_id uuid PRIMARY KEY REFERENCES series ON DELETE CASCADE,
    library_id uuid NOT NULL,
    -- Of existing books, as are the volumes and chapters; and of those with a missing file.
    book_count integer NOT NULL,
    deleted_count integer NOT NULL,
    max_volume integer,
    max_chapter double precision,
    volumes_owned integer NOT NULL,
    -- Averages of the ratings of users and of services; null without any.
    community_rating numeric,
    external_rating double precision
  );
  CREATE INDEX series_numbers_books ON series_numbers (book_count, series_id);
  CREATE INDEX series_numbers_community ON series_numbers (community_rating, series_id) WHERE community_rating IS NOT NULL;
  CREATE INDEX series_numbers_external ON series_numbers (external_rating, series_id) WHERE external_rating IS NOT NULL;
  -- The numbers of these series, and what users have read of them, may have changed since they were computed.
  CREATE TABLE series_numbers_due (series_id uuid NOT NULL);
  CREATE INDEX series_numbers_due_series ON series_numbers_due (series_id);

  CREATE TABLE series_reading (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
    -- Existing books that the user has finished, or begun.
    books_read integer NOT NULL,
    books_begun integer NOT NULL,
    -- The latest progress in any book; null if there is none any more.
    read_at timestamptz,
    PRIMARY KEY (user_id, series_id)
  );
  CREATE INDEX series_reading_latest ON series_reading (user_id, read_at, series_id) WHERE read_at IS NOT NULL;
  CREATE INDEX series_reading_series ON series_reading (series_id);
  CREATE TABLE series_reading_due (user_id uuid NOT NULL, series_id uuid NOT NULL);
  CREATE INDEX series_reading_due_series ON series_reading_due (user_id, series_id);

  CREATE FUNCTION carrel_series_due() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO series_numbers_due SELECT DISTINCT series_id FROM rows; RETURN NULL; END $$;
  ${triggersOf('series_user_ratings', 'due', 'carrel_series_due()')}
  ${triggersOf('series_external_ratings', 'due', 'carrel_series_due()')}

  -- Progress that is removed with its book is of no series any more; the removal of the book marks the series.
  CREATE FUNCTION carrel_reading_due() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO series_reading_due SELECT DISTINCT r.user_id, b.series_id FROM rows r JOIN books b ON b.id = r.book_id;
      RETURN NULL;
    END $$;
  ${triggersOf('read_progress', 'due', 'carrel_reading_due()')}

  CREATE FUNCTION carrel_series_counted_added() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN${countPresent(PRESENT('added', 1))} END $$;
  CREATE TRIGGER series_counted_added AFTER INSERT ON series_numbers REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_series_counted_added();
  CREATE FUNCTION carrel_series_counted_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN${countPresent(`${PRESENT('after', 1)} UNION ALL ${PRESENT('before', -1)}`)} END $$;
  CREATE TRIGGER series_counted_changed AFTER UPDATE ON series_numbers REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_series_counted_changed();
  CREATE FUNCTION carrel_series_counted_removed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN${countPresent(PRESENT('removed', -1))} END $$;
  CREATE TRIGGER series_counted_removed AFTER DELETE ON series_numbers REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_series_counted_removed();
`
