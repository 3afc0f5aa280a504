import type { Knex } from 'knex'

/** Writes the differences of what an age rule must know: series with books, books and missing books by library and age. Unrated series are the rest. */
const countByAge = (name: string, from: string) => `
  CREATE OR REPLACE FUNCTION carrel_series_aged_${name}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO kept_number_changes (kind, key, delta)
        SELECT k.kind || to_char(age_rating, 'FM000'), library_id, sum(k.delta) FROM (${from}) AS counted
          CROSS JOIN LATERAL (VALUES ('series_of_age_', sign * (book_count > 0)::int), ('books_of_age_', sign * book_count),
            ('deleted_of_age_', sign * deleted_count)) AS k (kind, delta)
        WHERE age_rating IS NOT NULL GROUP BY 1, 2 HAVING sum(k.delta) <> 0;
      RETURN NULL;
    END $$;`
const rowsOf = (table: string, sign: 1 | -1) => `SELECT library_id, age_rating, book_count, deleted_count, ${sign} AS sign FROM ${table}`

/** Each event has a transition table of its own. */
const ofUser = (table: string, call: string) => `
    CREATE TRIGGER ${table}_user_added AFTER INSERT ON ${table} REFERENCING NEW TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION ${call}();
    CREATE TRIGGER ${table}_user_changed AFTER UPDATE ON ${table} REFERENCING NEW TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION ${call}();
    CREATE TRIGGER ${table}_user_removed AFTER DELETE ON ${table} REFERENCING OLD TABLE AS rows
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
    ${ofUser('user_sharing_grants', 'carrel_user_changed')}
    ${ofUser('access_rules', 'carrel_access_changed')}

    -- An age rule asks for the rating of each series of a list.
    CREATE INDEX series_metadata_age ON series_metadata (series_id) INCLUDE (age_rating) WHERE age_rating IS NOT NULL;

    -- An export that a key has made contains no more than the key may see, and is deleted with it.
    ALTER TABLE series_exports ADD COLUMN narrowed_by uuid REFERENCES api_keys ON DELETE CASCADE;
    CREATE INDEX series_exports_narrowed ON series_exports (narrowed_by) WHERE narrowed_by IS NOT NULL;

    ALTER TABLE series_numbers ADD COLUMN age_rating smallint;
    UPDATE series_numbers n SET age_rating = m.age_rating FROM series_metadata m WHERE m.series_id = n.series_id AND m.age_rating IS NOT NULL;
    INSERT INTO kept_numbers (kind, key, value)
      SELECT k.kind || to_char(n.age_rating, 'FM000'), n.library_id, sum(k.value) FROM series_numbers n
        CROSS JOIN LATERAL (VALUES ('series_of_age_', (n.book_count > 0)::int), ('books_of_age_', n.book_count), ('deleted_of_age_', n.deleted_count))
          AS k (kind, value)
      WHERE n.age_rating IS NOT NULL GROUP BY 1, 2 HAVING sum(k.value) <> 0;
    ${countByAge('added', rowsOf('added', 1))}
    ${countByAge('changed', `${rowsOf('after', 1)} UNION ALL ${rowsOf('before', -1)}`)}
    ${countByAge('removed', rowsOf('removed', -1))}
    CREATE TRIGGER series_aged_added AFTER INSERT ON series_numbers REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_series_aged_added();
    CREATE TRIGGER series_aged_changed AFTER UPDATE ON series_numbers REFERENCING OLD TABLE AS before NEW TABLE AS after
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_series_aged_changed();
    CREATE TRIGGER series_aged_removed AFTER DELETE ON series_numbers REFERENCING OLD TABLE AS removed
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_series_aged_removed();

    -- The numbers by age and library are due when these change, as they are when books do.
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
    DROP TRIGGER series_aged_added ON series_numbers;
    DROP TRIGGER series_aged_changed ON series_numbers;
    DROP TRIGGER series_aged_removed ON series_numbers;
    DROP FUNCTION carrel_access_changed, carrel_series_moved, carrel_age_due, carrel_series_aged_added, carrel_series_aged_changed, carrel_series_aged_removed;
    DROP INDEX series_metadata_age;
    ALTER TABLE series_exports DROP COLUMN narrowed_by;
    ALTER TABLE series_numbers DROP COLUMN age_rating;
    DELETE FROM kept_numbers WHERE kind LIKE '%\\_of\\_age\\_%';
    DELETE FROM kept_number_changes WHERE kind LIKE '%\\_of\\_age\\_%';
    CREATE TRIGGER user_sharing_grants_versioned AFTER INSERT OR UPDATE OR DELETE ON user_sharing_grants
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_catalog_changed();
  `)
}
