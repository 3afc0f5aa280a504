import type { Knex } from 'knex'
import { up as withKeys, down as withoutKeys } from '#migrations/0019_keys_of_identifiers.ts'

/**
 * Who gave a cover: what a person uploaded or chose, no plugin takes away or puts another in its place. What books gave a series has the names of its
 * sets. What an application changed is told by single entries; those of before do not tell it and cannot be undone.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE covers ADD COLUMN given_by text NOT NULL DEFAULT 'user' CHECK (given_by IN ('user', 'plugin'));
    UPDATE covers SET given_by = 'plugin' WHERE source LIKE 'plugin:%';
    UPDATE series_metadata SET seeded = (seeded - 'links') || jsonb_build_object('externalLinks', seeded -> 'links') WHERE jsonb_exists(seeded, 'links');
    DELETE FROM metadata_applications;

    DROP FUNCTION carrel_prefix_facts(jsonb, text[]);
    CREATE FUNCTION carrel_prefix_entry(entry jsonb, source text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE WHEN jsonb_typeof(entry) = 'object' THEN jsonb_set(entry, '{value,source}', to_jsonb(source)) ELSE entry END
    $$;
    -- Of what one application changed: the key of an entry is its source.
    CREATE FUNCTION carrel_prefix_sets(sets jsonb, names text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
      SELECT coalesce(jsonb_object_agg(s.key, CASE WHEN s.key IN ('externalIds', 'externalRatings') THEN (
          SELECT jsonb_agg(CASE WHEN e.value ->> 'key' = ANY(names) THEN jsonb_build_object('key', e.key,
            'before', carrel_prefix_entry(e.value -> 'before', e.key), 'after', carrel_prefix_entry(e.value -> 'after', e.key)) ELSE e.value END)
          FROM (SELECT value, 'plugin:' || (value ->> 'key') AS key FROM jsonb_array_elements(s.value)) e)
        ELSE s.value END), '{}') FROM jsonb_each(sets) s
    $$;
    CREATE OR REPLACE FUNCTION carrel_prefix_keys(names text[]) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      kept text[];
    BEGIN
      IF cardinality(names) = 0 THEN
        RETURN;
      END IF;
      FOREACH kept SLICE 1 IN ARRAY ARRAY[['series_external_ids', 'series_id'], ['book_external_ids', 'book_id'], ['series_external_ratings', 'series_id']] LOOP
        EXECUTE format(
          'DELETE FROM %1$I WHERE id IN (
             SELECT CASE WHEN (a.given_by = ''user'', a.updated_at) > (b.given_by = ''user'', b.updated_at) THEN b.id ELSE a.id END
             FROM %1$I a JOIN %1$I b ON b.%2$I = a.%2$I AND b.source = ''plugin:'' || a.source WHERE a.source = ANY($1))',
          kept[1], kept[2]) USING names;
        EXECUTE format('UPDATE %I SET source = ''plugin:'' || source WHERE source = ANY($1)', kept[1]) USING names;
      END LOOP;
      -- Undoing compares what stands there now with what was applied. Each is read once, for some are large.
      UPDATE metadata_applications a SET changes = jsonb_set(a.changes, '{sets}', given.prefixed)
      FROM (
        SELECT id, carrel_prefix_sets(sets, names) AS prefixed
        FROM (SELECT id, changes -> 'sets' AS sets FROM metadata_applications WHERE undone_at IS NULL OFFSET 0) applied
        WHERE jsonb_typeof(sets) = 'object' AND jsonb_exists_any(
          jsonb_path_query_array(sets, '$.externalIds[*].key') || jsonb_path_query_array(sets, '$.externalRatings[*].key'), names)) given
      WHERE given.id = a.id;
    END $$;`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM metadata_applications;
    UPDATE series_metadata SET seeded = (seeded - 'externalLinks') || jsonb_build_object('links', seeded -> 'externalLinks')
      WHERE jsonb_exists(seeded, 'externalLinks');
    ALTER TABLE covers DROP COLUMN IF EXISTS given_by;
    DROP FUNCTION IF EXISTS carrel_prefix_sets(jsonb, text[]), carrel_prefix_entry(jsonb, text);`)
  // The keys as they were taken over before.
  await withoutKeys(knex)
  await withKeys(knex)
}
