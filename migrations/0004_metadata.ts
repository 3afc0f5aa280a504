import type { Knex } from 'knex'

/** Metadata of books and series with sources and locks, and what else is known of a series. A missing row is one without values. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Title, sort title, number, volume and chapter stand in "books", where lists sort by them; their sources and locks stand here.
    CREATE TABLE book_metadata (
      book_id uuid PRIMARY KEY REFERENCES books ON DELETE CASCADE,
      authors jsonb, awards jsonb, black_and_white boolean, book_type text, count integer, custom_metadata jsonb,
      day smallint, edition text, format_detail text, genre text, imprint text, isbns text, language_iso text, manga boolean,
      month smallint, original_title text, original_year smallint, publisher text, series_position double precision, series_total integer,
      subjects text[], subtitle text, summary text, year smallint,
      -- Field name to 'user', 'plugin', 'embedded' or 'file_name'.
      sources jsonb NOT NULL DEFAULT '{}',
      locks text[] NOT NULL DEFAULT '{}',
      -- What the file says that is no field of the book: genres, tags, links, and of its series, which is seeded from this.
      embedded jsonb,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now()
    );

    -- Title, sort title and reading direction stand in "series".
    CREATE TABLE series_metadata (
      series_id uuid PRIMARY KEY REFERENCES series ON DELETE CASCADE,
      age_rating smallint, authors jsonb, custom_metadata jsonb, imprint text, language text, publisher text, status text, summary text,
      total_chapter_count double precision, total_volume_count integer, year smallint,
      sources jsonb NOT NULL DEFAULT '{}',
      locks text[] NOT NULL DEFAULT '{}',
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now()
    );

    -- Names, titles and links that books have given the series once, whether or not it has them still: what a person took away stays away.
    ALTER TABLE series_metadata ADD COLUMN seeded jsonb NOT NULL DEFAULT '{}';

    -- Books have said something since the series was last seeded from them; while others wait for their analysis, it waits too.
    ALTER TABLE series ADD COLUMN seed_due boolean NOT NULL DEFAULT false;
    CREATE INDEX series_seed_due ON series (library_id) WHERE seed_due;
    CREATE INDEX books_series_pending ON books (series_id) WHERE state = 'pending' AND deleted_at IS NULL;

    -- "name_key" is the name with case and spaces folded: one genre, however it is written.
    CREATE TABLE genres (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      name text NOT NULL,
      name_key text NOT NULL UNIQUE,
      created_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE tags (LIKE genres INCLUDING ALL);
    CREATE TABLE series_genres (
      series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
      genre_id uuid NOT NULL REFERENCES genres ON DELETE CASCADE,
      PRIMARY KEY (series_id, genre_id)
    );
    CREATE INDEX series_genres_genre ON series_genres (genre_id, series_id);
    CREATE TABLE series_tags (
      series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
      tag_id uuid NOT NULL REFERENCES tags ON DELETE CASCADE,
      PRIMARY KEY (series_id, tag_id)
    );
    CREATE INDEX series_tags_tag ON series_tags (tag_id, series_id);
    CREATE TABLE book_genres (
      book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
      genre_id uuid NOT NULL REFERENCES genres ON DELETE CASCADE,
      PRIMARY KEY (book_id, genre_id)
    );
    CREATE INDEX book_genres_genre ON book_genres (genre_id, book_id);
    CREATE TABLE book_tags (
      book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
      tag_id uuid NOT NULL REFERENCES tags ON DELETE CASCADE,
      PRIMARY KEY (book_id, tag_id)
    );
    CREATE INDEX book_tags_tag ON book_tags (tag_id, book_id);

    CREATE TABLE series_alternate_titles (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
      label text NOT NULL,
      title text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX series_alternate_titles_series ON series_alternate_titles (series_id, created_at, id);

    CREATE TABLE series_external_ids (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
      source text NOT NULL,
      external_id text NOT NULL,
      external_url text,
      metadata_hash text,
      last_synced_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE (series_id, source)
    );
    CREATE INDEX series_external_ids_id ON series_external_ids (source, external_id);
    CREATE TABLE book_external_ids (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
      source text NOT NULL,
      external_id text NOT NULL,
      external_url text,
      metadata_hash text,
      last_synced_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE (book_id, source)
    );
    CREATE INDEX book_external_ids_id ON book_external_ids (source, external_id);
    CREATE TABLE series_external_links (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
      source text NOT NULL,
      url text NOT NULL,
      external_id text,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE (series_id, source)
    );
    CREATE TABLE book_external_links (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
      source text NOT NULL,
      url text NOT NULL,
      external_id text,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE (book_id, source)
    );
    -- "rating" from 0 to 100.
    CREATE TABLE series_external_ratings (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
      source text NOT NULL,
      rating double precision NOT NULL CHECK (rating BETWEEN 0 AND 100),
      vote_count integer,
      fetched_at timestamptz NOT NULL DEFAULT now(),
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE (series_id, source)
    );
    -- "rating" from 1 to 100.
    CREATE TABLE series_user_ratings (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
      series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
      rating smallint NOT NULL CHECK (rating BETWEEN 1 AND 100),
      notes text,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      UNIQUE (user_id, series_id)
    );
    CREATE INDEX series_user_ratings_series ON series_user_ratings (series_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`DROP TABLE IF EXISTS series_user_ratings, series_external_ratings, book_external_links, series_external_links,
    book_external_ids, series_external_ids, series_alternate_titles, book_tags, book_genres, series_tags, series_genres, tags, genres,
    series_metadata, book_metadata CASCADE`)
  await knex.raw('DROP INDEX IF EXISTS books_series_pending; ALTER TABLE series DROP COLUMN IF EXISTS seed_due')
}
