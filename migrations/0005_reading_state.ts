import type { Knex } from 'knex'

/** What users have read and mean to read, the covers they chose, and the shelves they made. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE read_progress (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
      book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
      current_page integer NOT NULL CHECK (current_page >= 1),
      -- 0 to 1.
      percentage double precision CHECK (percentage BETWEEN 0 AND 1),
      completed boolean NOT NULL DEFAULT false,
      -- The Readium locator that a reader sent last, as it sent it, with its device.
      locator jsonb,
      started_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      completed_at timestamptz,
      UNIQUE (user_id, book_id)
    );
    CREATE INDEX read_progress_book ON read_progress (book_id);
    CREATE INDEX read_progress_latest ON read_progress (user_id, updated_at DESC, id);

    CREATE TABLE want_to_read (
      user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
      series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (user_id, series_id)
    );
    CREATE INDEX want_to_read_series ON want_to_read (series_id);

    -- Covers besides the extracted one of a book; the pictures lie in the data folder under their ids. Exactly one owner.
    CREATE TABLE covers (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      book_id uuid REFERENCES books ON DELETE CASCADE,
      series_id uuid REFERENCES series ON DELETE CASCADE,
      -- 'custom', 'book:<id>' or 'plugin:<name>'.
      source text NOT NULL,
      hash text NOT NULL,
      width integer NOT NULL,
      height integer NOT NULL,
      is_selected boolean NOT NULL DEFAULT false,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      CHECK (num_nonnulls(book_id, series_id) = 1)
    );
    CREATE INDEX covers_book ON covers (book_id, created_at);
    CREATE INDEX covers_series ON covers (series_id, created_at);
    CREATE UNIQUE INDEX covers_one_book ON covers (book_id) WHERE is_selected;
    CREATE UNIQUE INDEX covers_one_series ON covers (series_id) WHERE is_selected;

    -- Covers whose files are to be removed, written in the transaction that ends what they are of: a server that is killed before it has
    -- removed them finds them again. Without "cover_id" all files of the owner.
    CREATE TABLE cover_leftovers (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind text NOT NULL CHECK (kind IN ('book', 'series')),
      owner_id uuid NOT NULL,
      cover_id uuid UNIQUE,
      due_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE FUNCTION carrel_covers_left() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO cover_leftovers (kind, owner_id) SELECT TG_ARGV[0], id FROM gone; RETURN NULL; END $$;
    CREATE TRIGGER books_covers_left AFTER DELETE ON books REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_covers_left('book');
    CREATE TRIGGER series_covers_left AFTER DELETE ON series REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_covers_left('series');

    CREATE TABLE collections (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      name text NOT NULL,
      summary text,
      -- True: by "position"; false: by title.
      ordered boolean NOT NULL DEFAULT false,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE UNIQUE INDEX collections_name ON collections (lower(name));
    CREATE TABLE collection_series (
      collection_id uuid NOT NULL REFERENCES collections ON DELETE CASCADE,
      series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
      position integer NOT NULL,
      PRIMARY KEY (collection_id, series_id)
    );
    CREATE INDEX collection_series_series ON collection_series (series_id);

    CREATE TABLE read_lists (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      name text NOT NULL,
      summary text,
      -- True: by "position"; false: by release date.
      ordered boolean NOT NULL DEFAULT true,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE UNIQUE INDEX read_lists_name ON read_lists (lower(name));
    CREATE TABLE read_list_books (
      read_list_id uuid NOT NULL REFERENCES read_lists ON DELETE CASCADE,
      book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
      position integer NOT NULL,
      PRIMARY KEY (read_list_id, book_id)
    );
    CREATE INDEX read_list_books_book ON read_list_books (book_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(
    `DROP TABLE IF EXISTS read_list_books, read_lists, collection_series, collections, cover_leftovers, covers, want_to_read,
       read_progress CASCADE`,
  )
  await knex.raw('DROP FUNCTION IF EXISTS carrel_covers_left CASCADE')
}
