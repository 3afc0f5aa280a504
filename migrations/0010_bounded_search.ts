import type { Knex } from 'knex'

/** As in Unicode's Stream-Safe Text Format (UAX #15): to normalize a run of marks takes a time that grows with the square of its length. */
const MARKS_IN_A_ROW_MAX = 30

/**
 * Every mark of Unicode, and the two halfwidth signs that become marks, as the ranges of a class in a regular expression of PostgreSQL, which knows no
 * classes of Unicode itself.
 */
function markRanges(): string {
  const escaped = (code: number) => `\\U${code.toString(16).padStart(8, '0')}`
  const isMark = (code: number) =>
    code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) && /[\p{M}\uff9e\uff9f]/u.test(String.fromCodePoint(code))
  let ranges = ''
  for (let code = 0x300; code <= 0x10ffff; code++) {
    if (!isMark(code)) continue
    const first = code
    while (isMark(code + 1)) code++
    ranges += `${escaped(first)}-${escaped(code)}`
  }
  return ranges
}

/**
 * Searching stays quick whatever stands in the rows: marks are bounded before a text is normalized, the titles of a series are put into a document once
 * and not once for each book, and once for all titles that one statement changes.
 */
export async function up(knex: Knex): Promise<void> {
  const mark = `[${markRanges()}]`
  await knex.raw(String.raw`
    CREATE FUNCTION carrel_bound_marks(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT regexp_replace(given, '(${mark}{${MARKS_IN_A_ROW_MAX}})${mark}+', '\1', 'g')
    $$;

    CREATE OR REPLACE FUNCTION carrel_fold(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
      BEGIN
        IF given IS NULL THEN RETURN ''; END IF;
        IF given ~ '^[ -~]*$' THEN RETURN lower(given); END IF;
        RETURN replace(replace(replace(translate(normalize(regexp_replace(
          lower(normalize(carrel_bound_marks(given), NFKD) COLLATE "und-x-icu"), '[\u0300-\u036f]', '', 'g'), NFC),
          'øłđıħŧ', 'oldiht'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');
      END
    $$;

    CREATE OR REPLACE FUNCTION carrel_refresh_books(ids uuid[]) RETURNS void LANGUAGE sql AS $$
      WITH titled AS MATERIALIZED (
        SELECT s.id, carrel_document(concat_ws(' ', s.title,
          (SELECT string_agg(t.title, ' ') FROM series_alternate_titles t WHERE t.series_id = s.id)), 'B') AS document
        FROM series s WHERE s.id IN (SELECT series_id FROM books WHERE id = ANY(ids))
      )
      INSERT INTO book_search (book_id, library_id, series_id, deleted_at, document)
      SELECT b.id, b.library_id, b.series_id, b.deleted_at, carrel_document(concat_ws(' ', b.title, b.title_sort, m.original_title, m.subtitle), 'A')
        || titled.document
        || carrel_document(concat_ws(' ', carrel_people(m.authors), m.isbns, m.publisher), 'C')
        || carrel_document(m.summary, 'D')
      FROM books b JOIN titled ON titled.id = b.series_id LEFT JOIN book_metadata m ON m.book_id = b.id WHERE b.id = ANY(ids) ORDER BY b.id
      ON CONFLICT (book_id) DO UPDATE
        SET library_id = excluded.library_id, series_id = excluded.series_id, deleted_at = excluded.deleted_at, document = excluded.document
        WHERE (book_search.library_id, book_search.series_id, book_search.deleted_at, book_search.document)
          IS DISTINCT FROM (excluded.library_id, excluded.series_id, excluded.deleted_at, excluded.document)
    $$;

    DROP TRIGGER series_alternate_titles_search ON series_alternate_titles;
    DROP FUNCTION carrel_alternate_title_changed;
    CREATE FUNCTION carrel_alternate_titles_changed() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE ids uuid[];
      BEGIN
        -- Of a series that is being deleted nothing is left to index.
        ids := array(SELECT id FROM series WHERE id IN (SELECT series_id FROM changed));
        IF cardinality(ids) > 0 THEN
          PERFORM carrel_refresh_series(ids);
          PERFORM carrel_refresh_books(array(SELECT id FROM books WHERE series_id = ANY(ids)));
        END IF;
        RETURN NULL;
      END $$;
    CREATE TRIGGER series_alternate_titles_search_added AFTER INSERT ON series_alternate_titles REFERENCING NEW TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_alternate_titles_changed();
    CREATE TRIGGER series_alternate_titles_search_changed AFTER UPDATE ON series_alternate_titles REFERENCING NEW TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_alternate_titles_changed();
    CREATE TRIGGER series_alternate_titles_search_removed AFTER DELETE ON series_alternate_titles REFERENCING OLD TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_alternate_titles_changed();
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(String.raw`
    DROP TRIGGER IF EXISTS series_alternate_titles_search_removed ON series_alternate_titles;
    DROP TRIGGER IF EXISTS series_alternate_titles_search_changed ON series_alternate_titles;
    DROP TRIGGER IF EXISTS series_alternate_titles_search_added ON series_alternate_titles;
    DROP FUNCTION IF EXISTS carrel_alternate_titles_changed;
    CREATE FUNCTION carrel_alternate_title_changed() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE changed uuid := coalesce(NEW.series_id, OLD.series_id);
      BEGIN
        -- Of a series that is being deleted nothing is left to index.
        IF EXISTS (SELECT 1 FROM series WHERE id = changed) THEN
          PERFORM carrel_refresh_series(ARRAY[changed]);
          PERFORM carrel_refresh_books(array(SELECT id FROM books WHERE series_id = changed));
        END IF;
        RETURN NULL;
      END $$;
    CREATE TRIGGER series_alternate_titles_search AFTER INSERT OR UPDATE OR DELETE ON series_alternate_titles
      FOR EACH ROW EXECUTE FUNCTION carrel_alternate_title_changed();

    CREATE OR REPLACE FUNCTION carrel_refresh_books(ids uuid[]) RETURNS void LANGUAGE sql AS $$
      INSERT INTO book_search (book_id, library_id, series_id, deleted_at, document)
      SELECT b.id, b.library_id, b.series_id, b.deleted_at, carrel_document(concat_ws(' ', b.title, b.title_sort, m.original_title, m.subtitle), 'A')
        || carrel_document(concat_ws(' ', s.title, (SELECT string_agg(t.title, ' ') FROM series_alternate_titles t WHERE t.series_id = s.id)), 'B')
        || carrel_document(concat_ws(' ', carrel_people(m.authors), m.isbns, m.publisher), 'C')
        || carrel_document(m.summary, 'D')
      FROM books b JOIN series s ON s.id = b.series_id LEFT JOIN book_metadata m ON m.book_id = b.id WHERE b.id = ANY(ids) ORDER BY b.id
      ON CONFLICT (book_id) DO UPDATE
        SET library_id = excluded.library_id, series_id = excluded.series_id, deleted_at = excluded.deleted_at, document = excluded.document
        WHERE (book_search.library_id, book_search.series_id, book_search.deleted_at, book_search.document)
          IS DISTINCT FROM (excluded.library_id, excluded.series_id, excluded.deleted_at, excluded.document)
    $$;

    CREATE OR REPLACE FUNCTION carrel_fold(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
      BEGIN
        IF given IS NULL THEN RETURN ''; END IF;
        IF given ~ '^[ -~]*$' THEN RETURN lower(given); END IF;
        RETURN replace(replace(replace(translate(normalize(regexp_replace(
          lower(normalize(given, NFKD) COLLATE "und-x-icu"), '[\u0300-\u036f]', '', 'g'), NFC),
          'øłđıħŧ', 'oldiht'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');
      END
    $$;
    DROP FUNCTION IF EXISTS carrel_bound_marks;
  `)
}
