import type { Knex } from 'knex'

/** Genres, tags, further titles, and what other services say: whatever has a row of its own beside a series or book. */
const TABLES = [
  ...['series_genres', 'series_tags', 'book_genres', 'book_tags', 'series_alternate_titles', 'series_external_ids', 'book_external_ids'],
  ...['series_external_links', 'book_external_links', 'series_external_ratings'],
]

/** A name as its key: without spaces at its ends, with single ones inside, in small letters. */
const keyOf = (name: string) => String.raw`lower(btrim(regexp_replace(${name}, '\s+', ' ', 'g')) COLLATE "und-x-icu")`

/**
 * Every such row says who gave it, so that a machine takes away only what machines gave. Of the rows that are there, those that the files of books
 * say are theirs; all others count as a person's, since nobody knows any more.
 */
export async function up(knex: Knex): Promise<void> {
  for (const table of TABLES)
    await knex.raw(
      `ALTER TABLE ${table} ADD COLUMN given_by text NOT NULL DEFAULT 'user' CHECK (given_by IN ('user', 'plugin', 'embedded'))`,
    )
  for (const name of ['genre', 'tag']) {
    await knex.raw(
      `UPDATE book_${name}s j SET given_by = 'embedded' FROM book_metadata m, ${name}s n
       WHERE m.book_id = j.book_id AND n.id = j.${name}_id AND jsonb_typeof(m.embedded -> '${name}s') = 'array'
         AND n.name_key IN (SELECT ${keyOf('said')} FROM jsonb_array_elements_text(m.embedded -> '${name}s') AS said)`,
    )
    await knex.raw(
      `UPDATE series_${name}s j SET given_by = 'embedded' FROM series_metadata m, ${name}s n
       WHERE m.series_id = j.series_id AND n.id = j.${name}_id AND m.seeded -> '${name}s' @> to_jsonb(n.name_key)`,
    )
  }
  await knex.raw(`
    UPDATE book_external_links l SET given_by = 'embedded' FROM book_metadata m
      WHERE m.book_id = l.book_id AND m.embedded -> 'links' @> jsonb_build_array(jsonb_build_object('source', l.source, 'url', l.url));
    UPDATE book_external_ids i SET given_by = 'embedded' FROM book_metadata m
      WHERE m.book_id = i.book_id AND m.embedded -> 'externalIds' ->> i.source = i.external_id;
    UPDATE series_external_links l SET given_by = 'embedded' FROM books b JOIN book_metadata m ON m.book_id = b.id
      WHERE b.series_id = l.series_id AND (
        m.embedded #> '{series,links}' @> jsonb_build_array(jsonb_build_object('source', l.source, 'url', l.url))
        OR m.embedded #> '{seriesSidecar,links}' @> jsonb_build_array(jsonb_build_object('source', l.source, 'url', l.url)));

    -- Each row that changes has the words rebuilt that its series and all its books are found by, though none of them is different.
    ALTER TABLE series_alternate_titles DISABLE TRIGGER series_alternate_titles_search_changed;
    UPDATE series_alternate_titles a SET given_by = 'embedded' FROM series_metadata m, jsonb_array_elements_text(m.seeded -> 'alternateTitles') AS said
      WHERE m.series_id = a.series_id AND CAST(said AS jsonb) = jsonb_build_array(a.label, a.title);
    ALTER TABLE series_alternate_titles ENABLE TRIGGER series_alternate_titles_search_changed;

    -- Keys of tags that a person has taken from a book, the last first to last: machines do not give them again. Genres and series have locks for that.
    ALTER TABLE book_metadata ADD COLUMN removed_tags text[] NOT NULL DEFAULT '{}';
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE book_metadata DROP COLUMN IF EXISTS removed_tags')
  for (const table of TABLES) await knex.raw(`ALTER TABLE ${table} DROP COLUMN IF EXISTS given_by`)
}
