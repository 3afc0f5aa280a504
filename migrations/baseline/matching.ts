/** What matching with providers has changed, the jobs that match on a schedule, and the keys of identifiers. After plugins and metadata. */
export const MATCHING = `
  -- Changes by metadata of a plugin, so that they can be undone.
  CREATE TABLE metadata_applications (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    series_id uuid REFERENCES series ON DELETE CASCADE,
    book_id uuid REFERENCES books ON DELETE CASCADE,
    plugin_id uuid REFERENCES plugins ON DELETE SET NULL,
    plugin_key text NOT NULL,
    external_id text NOT NULL,
    -- Null if a task applied it.
    applied_by uuid REFERENCES users ON DELETE SET NULL,
    -- Fields and entries of sets with their values and sources before and after.
    changes jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    undone_at timestamptz,
    CHECK ((series_id IS NULL) <> (book_id IS NULL))
  );
  CREATE INDEX metadata_applications_series ON metadata_applications (series_id, created_at DESC);
  CREATE INDEX metadata_applications_book ON metadata_applications (book_id, created_at DESC);
  CREATE INDEX metadata_applications_plugin ON metadata_applications (plugin_id);
  CREATE INDEX metadata_applications_by ON metadata_applications (applied_by);

  CREATE TABLE library_jobs (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    library_id uuid NOT NULL REFERENCES libraries ON DELETE CASCADE,
    type text NOT NULL CHECK (type IN ('metadata_refresh')),
    name text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    -- Five fields; null: the job runs only when a user starts it.
    cron text,
    timezone text NOT NULL DEFAULT 'UTC',
    config jsonb NOT NULL,
    next_run_at timestamptz,
    last_run_at timestamptz,
    last_run_status text,
    last_run_message text,
    task_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX library_jobs_library ON library_jobs (library_id);
  CREATE INDEX library_jobs_due ON library_jobs (next_run_at) WHERE enabled;

  -- Identifiers and ratings of plugins have the key 'plugin:' and the name that the plugin uses for its service. Entries that were stored under
  -- the name alone get this key when the plugin begins to run.

  -- The names of every plugin with the consent of an administrator: its id, and the names of services in its manifest. "carrel" is reserved for
  -- ids of series of this library, and "comicinfo" for what ComicInfo files contain.
  CREATE FUNCTION carrel_id_names() RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(DISTINCT named.name), '{}') FROM plugins p JOIN plugin_versions v ON v.id = p.version_id
    CROSS JOIN LATERAL (
      SELECT p.key AS name UNION
      SELECT c.value ->> 'idSource' FROM jsonb_each(v.manifest -> 'capabilities') c WHERE jsonb_typeof(c.value -> 'idSource') = 'string') named
    WHERE named.name NOT IN ('carrel', 'comicinfo')
  $$;
  CREATE FUNCTION carrel_prefix_entry(entry jsonb, source text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN jsonb_typeof(entry) = 'object' THEN jsonb_set(entry, '{value,source}', to_jsonb(source)) ELSE entry END
  $$;
  -- Renames entries in the changes of one application, where the key of an entry is its source.
  CREATE FUNCTION carrel_prefix_sets(sets jsonb, names text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(jsonb_object_agg(s.key, CASE WHEN s.key IN ('externalIds', 'externalRatings') THEN (
        SELECT jsonb_agg(CASE WHEN e.value ->> 'key' = ANY(names) THEN jsonb_build_object('key', e.key,
          'before', carrel_prefix_entry(e.value -> 'before', e.key), 'after', carrel_prefix_entry(e.value -> 'after', e.key)) ELSE e.value END)
        FROM (SELECT value, 'plugin:' || (value ->> 'key') AS key FROM jsonb_array_elements(s.value)) e)
      ELSE s.value END), '{}') FROM jsonb_each(sets) s
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
    -- Undoing compares the present values with the applied ones. Each row is read once, because some are large.
    UPDATE metadata_applications a SET changes = jsonb_set(a.changes, '{sets}', given.prefixed)
    FROM (
      SELECT id, carrel_prefix_sets(sets, names) AS prefixed
      FROM (SELECT id, changes -> 'sets' AS sets FROM metadata_applications WHERE undone_at IS NULL OFFSET 0) applied
      WHERE jsonb_typeof(sets) = 'object' AND jsonb_exists_any(
        jsonb_path_query_array(sets, '$.externalIds[*].key') || jsonb_path_query_array(sets, '$.externalRatings[*].key'), names)) given
    WHERE given.id = a.id;
  END $$;
`
