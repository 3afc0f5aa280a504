/** Who added an entry: machines delete only entries that machines added. File names add no entries. */
const GIVEN_BY = `given_by text NOT NULL DEFAULT 'user' CHECK (given_by IN ('user', 'plugin', 'embedded'))`

/** Genres and tags: one table each, because a word may be both. "name_key" is the name in lower case with single spaces, so that each exists once. */
const namesTable = (table: string) => `
  CREATE TABLE ${table} (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL,
    name_key text NOT NULL UNIQUE,
    -- For filters.
    name_fold text NOT NULL GENERATED ALWAYS AS (carrel_fold(name_key)) STORED,
    created_at timestamptz NOT NULL DEFAULT now()
  );`

const namesOf = (owner: 'book' | 'series', name: 'genre' | 'tag') => `
  CREATE TABLE ${owner}_${name}s (
    ${owner}_id uuid NOT NULL REFERENCES ${owner === 'book' ? 'books' : 'series'} ON DELETE CASCADE,
    ${name}_id uuid NOT NULL REFERENCES ${name}s ON DELETE CASCADE,
    ${GIVEN_BY},
    PRIMARY KEY (${owner}_id, ${name}_id)
  );
  CREATE INDEX ${owner}_${name}s_${name} ON ${owner}_${name}s (${name}_id, ${owner}_id);`

/** Identifiers at services and links: one per source. */
const externalOf = (owner: 'book' | 'series') => `
  CREATE TABLE ${owner}_external_ids (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    ${owner}_id uuid NOT NULL REFERENCES ${owner === 'book' ? 'books' : 'series'} ON DELETE CASCADE,
    source text NOT NULL,
    external_id text NOT NULL,
    external_url text,
    metadata_hash text,
    last_synced_at timestamptz,
    ${GIVEN_BY},
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (${owner}_id, source)
  );
  CREATE INDEX ${owner}_external_ids_id ON ${owner}_external_ids (source, external_id);
  CREATE TABLE ${owner}_external_links (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    ${owner}_id uuid NOT NULL REFERENCES ${owner === 'book' ? 'books' : 'series'} ON DELETE CASCADE,
    source text NOT NULL,
    url text NOT NULL,
    external_id text,
    ${GIVEN_BY},
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (${owner}_id, source)
  );`

/** Metadata of books and series with sources and locks, and the sets beside it. A record without a row has no values. */
export const METADATA = `
  -- Title, sort title, number, volume and chapter are columns of "books", because lists sort by them; their sources and locks are here.
  CREATE TABLE book_metadata (
    book_id uuid PRIMARY KEY REFERENCES books ON DELETE CASCADE,
    authors jsonb, awards jsonb, black_and_white boolean, book_type text, count integer, custom_metadata json,
    day smallint, edition text, format_detail text, genre text, imprint text, isbns text, language_iso text, manga boolean,
    month smallint, original_title text, original_year smallint, publisher text, series_position double precision, series_total integer,
    subjects text[], subtitle text, summary text, year smallint,
    -- Field name to 'user', 'plugin', 'embedded' or 'file_name'.
    -- For filters: to fold a text takes ten times as long as to compare it.
    publisher_fold text GENERATED ALWAYS AS (carrel_fold(publisher)) STORED,
    summary_fold text GENERATED ALWAYS AS (carrel_fold(summary)) STORED,
    sources jsonb NOT NULL DEFAULT '{}',
    locks text[] NOT NULL DEFAULT '{}',
    -- By the name of a set: keys that users removed, the last one first, which machines do not add again, and how often a user has replaced all entries.
    set_edits jsonb NOT NULL DEFAULT '{}',
    -- What the file contains beside the fields of the book: genres, tags, links, and metadata of its series, which is aggregated from this.
    embedded jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE FUNCTION carrel_book_released() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE books b SET released = v.released
        FROM (SELECT book_id, CASE WHEN year BETWEEN -4000 AND 9999 AND year <> 0
          THEN make_date(year, CASE WHEN month BETWEEN 1 AND 12 THEN month ELSE 1 END, 1) + (coalesce(day, 1) - 1) END AS released FROM changed) AS v
        WHERE b.id = v.book_id AND b.released IS DISTINCT FROM v.released;
      RETURN NULL;
    END $$;
  CREATE TRIGGER book_metadata_released_added AFTER INSERT ON book_metadata REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_book_released();
  CREATE TRIGGER book_metadata_released_changed AFTER UPDATE ON book_metadata REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_book_released();
  CREATE INDEX book_metadata_publisher_text ON book_metadata USING gin (publisher_fold gin_trgm_ops);
  CREATE INDEX book_metadata_summary_text ON book_metadata USING gin (summary_fold gin_trgm_ops);

  -- Title, sort title and reading direction are columns of "series".
  CREATE TABLE series_metadata (
    series_id uuid PRIMARY KEY REFERENCES series ON DELETE CASCADE,
    age_rating smallint, authors jsonb, custom_metadata json, imprint text, language text, publisher text, status text, summary text,
    total_chapter_count double precision, total_volume_count integer, year smallint,
    publisher_fold text GENERATED ALWAYS AS (carrel_fold(publisher)) STORED,
    summary_fold text GENERATED ALWAYS AS (carrel_fold(summary)) STORED,
    sources jsonb NOT NULL DEFAULT '{}',
    locks text[] NOT NULL DEFAULT '{}',
    -- As in "book_metadata".
    set_edits jsonb NOT NULL DEFAULT '{}',
    -- Entries of sets that the aggregation from books has added once, whether or not they still exist: those that a user removed are not added again.
    aggregated jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX series_metadata_year ON series_metadata (year, series_id) WHERE year IS NOT NULL;
  CREATE INDEX series_metadata_publisher_text ON series_metadata USING gin (publisher_fold gin_trgm_ops);
  CREATE INDEX series_metadata_summary_text ON series_metadata USING gin (summary_fold gin_trgm_ops);
  ${namesTable('genres')}${namesTable('tags')}
  ${namesOf('series', 'genre')}${namesOf('series', 'tag')}${namesOf('book', 'genre')}${namesOf('book', 'tag')}

  CREATE TABLE series_alternate_titles (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
    label text NOT NULL,
    title text NOT NULL,
    ${GIVEN_BY},
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX series_alternate_titles_series ON series_alternate_titles (series_id, created_at, id);
  ${externalOf('series')}${externalOf('book')}

  -- "rating" from 0 to 100.
  CREATE TABLE series_external_ratings (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    series_id uuid NOT NULL REFERENCES series ON DELETE CASCADE,
    source text NOT NULL,
    rating double precision NOT NULL CHECK (rating BETWEEN 0 AND 100),
    vote_count integer,
    fetched_at timestamptz NOT NULL DEFAULT now(),
    ${GIVEN_BY},
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (series_id, source)
  );
`

const peopleOf = (owner: 'book' | 'series') => `
  CREATE TABLE ${owner}_people (
    ${owner}_id uuid NOT NULL REFERENCES ${owner === 'book' ? 'books' : 'series'} ON DELETE CASCADE,
    -- In the list of the record, from 0.
    position smallint NOT NULL,
    person_id bigint NOT NULL REFERENCES people,
    role text NOT NULL,
    PRIMARY KEY (${owner}_id, position)
  );
  CREATE INDEX ${owner}_people_person ON ${owner}_people (person_id, role, ${owner}_id);`

/**
 * The people of books and series as rows, for lists and filters. The record itself stays the list "authors" of the metadata: it has the spelling and the
 * sort name from the file or the user, and is read and compared as a whole. core/metadata/people-store.ts writes these rows whenever it changes.
 */
export const PEOPLE = `
  CREATE TABLE people (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The first spelling that was stored.
    name text NOT NULL,
    -- The name in lower case with single spaces: two spellings of it are one person.
    name_key text NOT NULL UNIQUE,
    -- For filters.
    name_fold text NOT NULL GENERATED ALWAYS AS (carrel_fold(name_key)) STORED
  );
  CREATE INDEX people_order ON people (name COLLATE carrel_natural, id);
  CREATE INDEX people_fold ON people (name_fold);
  CREATE INDEX people_text ON people USING gin (name_fold gin_trgm_ops);
  ${peopleOf('book')}${peopleOf('series')}
`

/** Covers besides the extracted cover of a book; the pictures are files of the data folder, named by their ids. */
export const COVERS = `
  CREATE TABLE covers (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    -- Exactly one owner.
    book_id uuid REFERENCES books ON DELETE CASCADE,
    series_id uuid REFERENCES series ON DELETE CASCADE,
    collection_id uuid REFERENCES collections ON DELETE CASCADE,
    read_list_id uuid REFERENCES read_lists ON DELETE CASCADE,
    -- 'custom', 'book:<id>' or 'plugin:<name>'.
    source text NOT NULL,
    hash text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    is_selected boolean NOT NULL DEFAULT false,
    -- A plugin neither deletes nor replaces a cover that a user uploaded or selected.
    given_by text NOT NULL DEFAULT 'user' CHECK (given_by IN ('user', 'plugin')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CHECK (num_nonnulls(book_id, series_id, collection_id, read_list_id) = 1)
  );
  CREATE INDEX covers_book ON covers (book_id, created_at);
  CREATE INDEX covers_series ON covers (series_id, created_at);
  CREATE INDEX covers_collection ON covers (collection_id, created_at);
  CREATE INDEX covers_read_list ON covers (read_list_id, created_at);
  CREATE UNIQUE INDEX covers_one_book ON covers (book_id) WHERE is_selected;
  CREATE UNIQUE INDEX covers_one_series ON covers (series_id) WHERE is_selected;
  CREATE UNIQUE INDEX covers_one_collection ON covers (collection_id) WHERE is_selected;
  CREATE UNIQUE INDEX covers_one_read_list ON covers (read_list_id) WHERE is_selected;

  -- Covers whose files are to be deleted, written in the transaction that deletes their owner: a server that is killed before it has deleted
  -- the files finds them again. Without "cover_id": all files of the owner.
  CREATE TABLE cover_orphans (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('book', 'series', 'collection', 'read_list')),
    owner_id uuid NOT NULL,
    cover_id uuid UNIQUE,
    due_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE FUNCTION carrel_add_cover_orphans() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO cover_orphans (kind, owner_id) SELECT TG_ARGV[0], id FROM gone; RETURN NULL; END $$;
  CREATE TRIGGER books_cover_orphans AFTER DELETE ON books REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_add_cover_orphans('book');
  CREATE TRIGGER series_cover_orphans AFTER DELETE ON series REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_add_cover_orphans('series');
  CREATE TRIGGER collections_cover_orphans AFTER DELETE ON collections REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_add_cover_orphans('collection');
  CREATE TRIGGER read_lists_cover_orphans AFTER DELETE ON read_lists REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_add_cover_orphans('read_list');
`
