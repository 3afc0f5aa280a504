/** Lists that plugins recommend to users. */
export const RECOMMENDATIONS = `
  -- The last list of each plugin for each user: after a restart it is returned at once.
  CREATE TABLE recommendations (
    plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    items jsonb NOT NULL DEFAULT '[]',
    -- Null before the first list.
    generated_at timestamptz,
    -- Series that the user had begun, rated or marked to read by then: if one of them was hidden later, the list might reveal it.
    based_on uuid[] NOT NULL DEFAULT '{}',
    -- When a request claimed to add the task of the next list; null after the task was added.
    requested_at timestamptz,
    -- After failures the next attempt waits, longer each time.
    failures int NOT NULL DEFAULT 0,
    next_try_at timestamptz,
    last_error text,
    last_error_code text,
    last_error_at timestamptz,
    PRIMARY KEY (plugin_id, user_id)
  );
  CREATE INDEX recommendations_user ON recommendations (user_id);

  -- Items that a user does not want to see again, whatever a plugin recommends.
  CREATE TABLE dismissed_recommendations (
    plugin_id uuid NOT NULL REFERENCES plugins ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    external_id text NOT NULL,
    reason text,
    -- When the plugin received it; null before.
    sent_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (plugin_id, user_id, external_id)
  );
  CREATE INDEX dismissed_recommendations_user ON dismissed_recommendations (user_id);
`
