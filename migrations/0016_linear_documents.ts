import type { Knex } from 'knex'

const CJK = String.raw`[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]`
const TOKENS_AT_ONCE = `
          FROM (
            SELECT CASE WHEN word ~ '^${CJK}' THEN substr(word, start, 2) ELSE word END AS token, place
            FROM unnest(carrel_words(given)) WITH ORDINALITY AS w (word, place)
            CROSS JOIN LATERAL generate_series(1, CASE WHEN word ~ '^${CJK}' THEN length(word) ELSE 1 END) AS start
          ) AS tokens WHERE length(token) <= 500`
/** Every character once, with the one behind it: to find the n-th of a text, PostgreSQL walks over all before it. */
const TOKENS_IN_ONE_PASS = `
          FROM (
            SELECT word AS token, place FROM unnest(carrel_words(given)) WITH ORDINALITY AS w (word, place) WHERE word !~ '^${CJK}'
            UNION ALL
            SELECT sign || coalesce(lead(sign) OVER (PARTITION BY place ORDER BY at), ''), place
            FROM unnest(carrel_words(given)) WITH ORDINALITY AS w (word, place)
            CROSS JOIN LATERAL string_to_table(word, NULL) WITH ORDINALITY AS s (sign, at) WHERE word ~ '^${CJK}'
          ) AS tokens WHERE length(token) <= 500`

const documentOf = (tokens: string) => `
    CREATE OR REPLACE FUNCTION carrel_document(given text, weight "char") RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
      DECLARE folded text := carrel_fold(given);
      BEGIN
        IF folded !~ '${CJK}' THEN
          RETURN setweight(to_tsvector('simple', regexp_replace(folded COLLATE "und-x-icu", '[^[:alnum:]]+', ' ', 'g')), weight);
        END IF;
        RETURN (SELECT coalesce(string_agg('''' || token || ''':' || least(place, 16383) || weight::text, ' '), '')::tsvector${tokens});
      END
    $$;`

/**
 * The document of a text without spaces, as Chinese, Japanese and Korean are written, takes a time that grows with its length alone: a summary of 39,000
 * such characters took most of a minute. The documents are the same as before.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(documentOf(TOKENS_IN_ONE_PASS))
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(documentOf(TOKENS_AT_ONCE))
}
