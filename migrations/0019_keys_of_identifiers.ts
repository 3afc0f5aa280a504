import type { Knex } from 'knex'

/**
 * Identifiers and ratings of plugins are kept under `plugin:` and the name that the plugin has for its service. What was kept under the name alone is
 * brought over, now and whenever a plugin begins to run. Where a record has both, a person's stays, of two the newer.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Of every plugin that an administrator has agreed to: its id, and the words that its manifest has for its services. "carrel" stands for ids of
    -- series of this library, and "comicinfo" for what ComicInfo says.
    CREATE FUNCTION carrel_id_names() RETURNS text[] LANGUAGE sql STABLE AS $$
      SELECT coalesce(array_agg(DISTINCT named.name), '{}') FROM plugins p JOIN plugin_versions v ON v.id = p.version_id
      CROSS JOIN LATERAL (
        SELECT p.key AS name UNION
        SELECT c.value ->> 'idSource' FROM jsonb_each(v.manifest -> 'capabilities') c WHERE jsonb_typeof(c.value -> 'idSource') = 'string') named
      WHERE named.name NOT IN ('carrel', 'comicinfo')
    $$;
    CREATE FUNCTION carrel_prefix_members(given jsonb, names text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE WHEN jsonb_typeof(given) = 'object' AND jsonb_exists_any(given, names)
        THEN (SELECT jsonb_object_agg(CASE WHEN m.key = ANY(names) THEN 'plugin:' || m.key ELSE m.key END, m.value) FROM jsonb_each(given) m)
        ELSE given END
    $$;
    -- Of what one application changed: the members "before", "after" and "givers" of both facts have these keys.
    CREATE FUNCTION carrel_prefix_facts(facts jsonb, names text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
      SELECT coalesce(jsonb_object_agg(f.key, CASE WHEN f.key IN ('externalIds', 'externalRatings') AND jsonb_typeof(f.value) = 'object'
        THEN (SELECT jsonb_object_agg(p.key, carrel_prefix_members(p.value, names)) FROM jsonb_each(f.value) p)
        ELSE f.value END), '{}') FROM jsonb_each(facts) f
    $$;
    CREATE FUNCTION carrel_prefix_keys(names text[]) RETURNS void LANGUAGE plpgsql AS $$
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
      UPDATE metadata_applications a SET changes = jsonb_set(a.changes, '{facts}', given.prefixed)
      FROM (
        SELECT id, facts, carrel_prefix_facts(facts, names) AS prefixed
        FROM (SELECT id, changes -> 'facts' AS facts FROM metadata_applications WHERE undone_at IS NULL OFFSET 0) applied
        WHERE jsonb_typeof(facts) = 'object' AND (
          jsonb_exists_any(facts #> '{externalIds,after}', names) OR jsonb_exists_any(facts #> '{externalRatings,after}', names)
          OR jsonb_exists_any(facts #> '{externalIds,before}', names) OR jsonb_exists_any(facts #> '{externalRatings,before}', names)
          OR jsonb_exists_any(facts #> '{externalIds,givers}', names) OR jsonb_exists_any(facts #> '{externalRatings,givers}', names))) given
      WHERE given.id = a.id;
    END $$;
    SELECT carrel_prefix_keys(carrel_id_names());
  `)
}

/** The keys stay as they are: which of them had no prefix nobody knows any more. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`DROP FUNCTION IF EXISTS carrel_prefix_keys(text[]); DROP FUNCTION IF EXISTS carrel_prefix_facts(jsonb, text[]);
    DROP FUNCTION IF EXISTS carrel_prefix_members(jsonb, text[]); DROP FUNCTION IF EXISTS carrel_id_names()`)
}
