import type { Knex } from 'knex'

/** The pages of a book by the list of its archive, as workers/formats/pages-hash.ts computes them: CBZ files have them in their rows. */
const PAGES = `
  SELECT book_id, encode(sha256(convert_to(string_agg(line, chr(10) ORDER BY n), 'UTF8')), 'hex') AS hash
  FROM (SELECT p.book_id, n, (page ->> 'bytes') || ':' || (page -> 'zip' ->> 'crc32') AS line, (page ->> 'bytes')::bigint AS bytes
    FROM book_pages p JOIN books b ON b.id = p.book_id AND b.file_format = 'cbz' AND b.file_hash IS NOT NULL
    CROSS JOIN LATERAL jsonb_array_elements(p.pages) WITH ORDINALITY AS e (page, n)) AS listed
  GROUP BY book_id HAVING bool_and(line IS NOT NULL) AND max(bytes) >= 64`

/** Files that move between libraries, and with other files: whose content is where. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE books
      -- Identifies the pages, whatever else is in the file; null where the list of its archive says too little.
      ADD COLUMN pages_hash text,
      -- While the book waits because its file has changed: the size of the file with "file_hash", in bytes.
      ADD COLUMN hashed_size bigint;
    -- A statement that finds no row counts as a change of the catalog, too.
    DO $$ BEGIN IF EXISTS (SELECT FROM books) THEN
      UPDATE books b SET pages_hash = p.hash FROM (${PAGES}) AS p WHERE p.book_id = b.id;
    END IF; END $$;
    CREATE INDEX books_pages_hash ON books (pages_hash) WHERE pages_hash IS NOT NULL;

    -- What was in the file of a book before another one took its path. If it turns up elsewhere, the book follows it, with the progress that was cut.
    CREATE TABLE replaced_contents (
      book_id uuid PRIMARY KEY REFERENCES books ON DELETE CASCADE,
      file_hash text NOT NULL,
      pages_hash text,
      -- Rows of "read_progress" as they were.
      progress jsonb NOT NULL,
      replaced_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX replaced_contents_file ON replaced_contents (file_hash);
    CREATE INDEX replaced_contents_pages ON replaced_contents (pages_hash) WHERE pages_hash IS NOT NULL;

    -- Positions that the server changes because a file has fewer pages now were not read by anybody.
    DROP TRIGGER read_progress_reading ON read_progress;
    CREATE TRIGGER read_progress_reading AFTER INSERT OR UPDATE ON read_progress FOR EACH ROW
      WHEN (coalesce(current_setting('carrel.cuts_progress', true), '') <> 'on') EXECUTE FUNCTION carrel_position_recorded();

    -- The hash of a group is that of the files, or that of the pages of different files.
    ALTER TABLE duplicate_groups ADD COLUMN same text NOT NULL DEFAULT 'content' CHECK (same IN ('content', 'pages')),
      DROP CONSTRAINT duplicate_groups_file_hash_key, ADD CONSTRAINT duplicate_groups_hash UNIQUE (same, file_hash);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM duplicate_groups WHERE same = 'pages';
    ALTER TABLE duplicate_groups DROP CONSTRAINT duplicate_groups_hash, DROP COLUMN same,
      ADD CONSTRAINT duplicate_groups_file_hash_key UNIQUE (file_hash);
    DROP TRIGGER read_progress_reading ON read_progress;
    CREATE TRIGGER read_progress_reading AFTER INSERT OR UPDATE ON read_progress FOR EACH ROW EXECUTE FUNCTION carrel_position_recorded();
    DROP TABLE replaced_contents;
    ALTER TABLE books DROP COLUMN pages_hash, DROP COLUMN hashed_size;
  `)
}
