import type { Knex } from 'knex'

const SUMS = 'sum(sign * (book_count > 0)::int), sum(sign * book_count), sum(sign * deleted_count)'
/** Adds up series by what rules ask of them. @param from has the numbers of series with the `sign` of the difference that they make */
const totals = (from: string) => `
      INSERT INTO series_totals SELECT library_id, age_rating, tag_ids, ${SUMS} FROM (${from}) AS counted
        GROUP BY library_id, age_rating, tag_ids HAVING (${SUMS}) <> (0, 0, 0)`
const rowsOf = (table: string, sign: 1 | -1) =>
  `SELECT library_id, age_rating, tag_ids, book_count, deleted_count, ${sign} AS sign FROM ${table}`

/** Each event has transition tables of its own. */
const countTotals = (name: string, { event, tables, from }: { event: string; tables: string; from: string }) => `
    CREATE FUNCTION carrel_series_totals_${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${totals(from)}; RETURN NULL; END $$;
    CREATE TRIGGER series_totals_counted_${name} AFTER ${event} ON series_numbers REFERENCING ${tables}
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_series_totals_${name}();`

/** Each event has a transition table of its own. */
const onChange = (table: string, about: string, call: string) => `
    CREATE TRIGGER ${table}_${about}_added AFTER INSERT ON ${table} REFERENCING NEW TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION ${call}();
    CREATE TRIGGER ${table}_${about}_changed AFTER UPDATE ON ${table} REFERENCING NEW TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION ${call}();
    CREATE TRIGGER ${table}_${about}_removed AFTER DELETE ON ${table} REFERENCING OLD TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION ${call}();`

/** Lists of libraries and age rules, of users and of API keys. Whoever has no row sees what they saw before. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE access_rules (
      user_id uuid UNIQUE REFERENCES users ON DELETE CASCADE,
      api_key_id uuid UNIQUE REFERENCES api_keys ON DELETE CASCADE,
      viewer_id uuid PRIMARY KEY GENERATED ALWAYS AS (coalesce(user_id, api_key_id)) STORED,
      all_libraries boolean NOT NULL,
      -- up_to: only series for this age; not_from: no series from this age on. Null: no age rule.
      age_mode text CHECK (age_mode IN ('up_to', 'not_from')),
      age_years smallint CHECK ((age_years IS NULL) = (age_mode IS NULL)),
      shows_unrated boolean CHECK ((shows_unrated IS NULL) = (age_mode IS NULL)),
      -- The age from which on series are hidden.
      hidden_from smallint GENERATED ALWAYS AS (CASE age_mode WHEN 'up_to' THEN age_years + 1 ELSE age_years END) STORED,
      updated_at timestamptz NOT NULL DEFAULT now(),
      CHECK (num_nonnulls(user_id, api_key_id) = 1)
    );
    -- The list of a rule without "all_libraries". It may be empty: its last library was deleted.
    CREATE TABLE access_libraries (
      viewer_id uuid NOT NULL REFERENCES access_rules ON DELETE CASCADE,
      library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
      PRIMARY KEY (viewer_id, library_id)
    );
    CREATE INDEX access_libraries_library ON access_libraries (library_id);

    -- What a rule changes concerns its user alone.
    DROP TRIGGER user_sharing_grants_versioned ON user_sharing_grants;
    CREATE FUNCTION carrel_access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO kept_number_changes SELECT DISTINCT 'user', coalesce(r.user_id, k.user_id), 1 FROM rows r LEFT JOIN api_keys k ON k.id = r.api_key_id
          WHERE coalesce(r.user_id, k.user_id) IS NOT NULL;
        RETURN NULL;
      END $$;
    ${onChange('user_sharing_grants', 'user', 'carrel_user_changed')}
    ${onChange('access_rules', 'user', 'carrel_access_changed')}

    -- An age rule asks for the rating of each series of a list.
    CREATE INDEX series_metadata_age ON series_metadata (series_id) INCLUDE (age_rating) WHERE age_rating IS NOT NULL;

    -- An export that a key has made contains no more than the key may see, and is deleted with it.
    ALTER TABLE series_exports ADD COLUMN narrowed_by uuid REFERENCES api_keys ON DELETE CASCADE;
    CREATE INDEX series_exports_narrowed ON series_exports (narrowed_by) WHERE narrowed_by IS NOT NULL;

    -- What is seen by users from whom ages or tags are hidden is counted by library, age and tags. Rows with the same three are added up now and then
    -- (core/paging/kept-number-store.ts); writers only insert differences, as in kept_number_changes.
    CREATE TABLE series_totals (
      library_id uuid NOT NULL,
      age_rating smallint,
      tag_ids uuid[] NOT NULL,
      series_count bigint NOT NULL,
      book_count bigint NOT NULL,
      deleted_count bigint NOT NULL
    );
    ALTER TABLE series_numbers ADD COLUMN age_rating smallint, ADD COLUMN tag_ids uuid[] NOT NULL DEFAULT '{}';
    UPDATE series_numbers n SET age_rating = m.age_rating FROM series_metadata m WHERE m.series_id = n.series_id AND m.age_rating IS NOT NULL;
    UPDATE series_numbers n SET tag_ids = t.ids FROM (SELECT series_id, array_agg(sharing_tag_id ORDER BY sharing_tag_id) AS ids
      FROM series_sharing_tags GROUP BY series_id) AS t WHERE t.series_id = n.series_id;
    ${totals(rowsOf('series_numbers', 1))};
    ${countTotals('added', { event: 'INSERT', tables: 'NEW TABLE AS added', from: rowsOf('added', 1) })}
    ${countTotals('changed', {
      event: 'UPDATE',
      tables: 'OLD TABLE AS before NEW TABLE AS after',
      from: `${rowsOf('after', 1)} UNION ALL ${rowsOf('before', -1)}`,
    })}
    ${countTotals('removed', { event: 'DELETE', tables: 'OLD TABLE AS removed', from: rowsOf('removed', -1) })}

    -- These numbers are due when the library, the age or the tags change, as they are when books do.
    ${onChange('series_sharing_tags', 'due', 'carrel_series_due')}
    CREATE FUNCTION carrel_series_moved() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO series_numbers_due VALUES (NEW.id);
        RETURN NULL;
      END $$;
    CREATE TRIGGER series_moved AFTER UPDATE OF library_id ON series FOR EACH ROW
      WHEN (NEW.library_id <> OLD.library_id) EXECUTE FUNCTION carrel_series_moved();
    CREATE FUNCTION carrel_age_due() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO series_numbers_due VALUES (coalesce(NEW.series_id, OLD.series_id));
        RETURN NULL;
      END $$;
    CREATE TRIGGER series_metadata_age_added AFTER INSERT ON series_metadata FOR EACH ROW
      WHEN (NEW.age_rating IS NOT NULL) EXECUTE FUNCTION carrel_age_due();
    CREATE TRIGGER series_metadata_age_changed AFTER UPDATE OF age_rating ON series_metadata FOR EACH ROW
      WHEN (NEW.age_rating IS DISTINCT FROM OLD.age_rating) EXECUTE FUNCTION carrel_age_due();
    CREATE TRIGGER series_metadata_age_removed AFTER DELETE ON series_metadata FOR EACH ROW
      WHEN (OLD.age_rating IS NOT NULL) EXECUTE FUNCTION carrel_age_due();

    -- The rating of a series was that of most of its files, and becomes the highest. An update changes all lists, so not of an empty catalog.
    DO $$ BEGIN
      IF EXISTS (SELECT 1 FROM book_metadata) THEN
        UPDATE series SET aggregate_due = true WHERE id IN (SELECT b.series_id FROM books b JOIN book_metadata m ON m.book_id = b.id
          WHERE m.embedded #> '{series,fields,ageRating}' IS NOT NULL);
      END IF;
    END $$;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE access_libraries, access_rules;
    DROP TRIGGER user_sharing_grants_user_added ON user_sharing_grants;
    DROP TRIGGER user_sharing_grants_user_changed ON user_sharing_grants;
    DROP TRIGGER user_sharing_grants_user_removed ON user_sharing_grants;
    DROP TRIGGER series_moved ON series;
    DROP TRIGGER series_metadata_age_added ON series_metadata;
    DROP TRIGGER series_metadata_age_changed ON series_metadata;
    DROP TRIGGER series_metadata_age_removed ON series_metadata;
    DROP TRIGGER series_sharing_tags_due_added ON series_sharing_tags;
    DROP TRIGGER series_sharing_tags_due_changed ON series_sharing_tags;
    DROP TRIGGER series_sharing_tags_due_removed ON series_sharing_tags;
    DROP TRIGGER series_totals_counted_added ON series_numbers;
    DROP TRIGGER series_totals_counted_changed ON series_numbers;
    DROP TRIGGER series_totals_counted_removed ON series_numbers;
    DROP FUNCTION carrel_access_changed, carrel_series_moved, carrel_age_due;
    DROP FUNCTION carrel_series_totals_added, carrel_series_totals_changed, carrel_series_totals_removed;
    DROP INDEX series_metadata_age;
    ALTER TABLE series_exports DROP COLUMN narrowed_by;
    ALTER TABLE series_numbers DROP COLUMN age_rating, DROP COLUMN tag_ids;
    DROP TABLE series_totals;
    CREATE TRIGGER user_sharing_grants_versioned AFTER INSERT OR UPDATE OR DELETE ON user_sharing_grants
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_catalog_changed();
  `)
}
