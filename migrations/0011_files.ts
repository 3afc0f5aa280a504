import type { Knex } from 'knex'

/** What is remembered of files that did harm, and what keeps a disk that is away from taking its books with it. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Files that were at work when the server stood still or an analysis thread died; the row goes when an analysis comes through,
    -- or when a scan finds the file changed.
    CREATE TABLE book_suspects (
      book_id uuid PRIMARY KEY REFERENCES books ON DELETE CASCADE,
      -- How often it was named; 3 only when nothing else was at work beside it.
      times int NOT NULL,
      reason text NOT NULL,
      -- The task that analyzed it alone.
      alone_task uuid,
      noted_at timestamptz NOT NULL DEFAULT now()
    );

    -- "confirmed_root": device and inode of the library's folder when a person said that its books may be gone; what holds for another folder
    -- is not what was confirmed. "complete": every folder was read, and nothing was held back. "guard": what was held back, as JSON.
    -- "boot_id", "boot_seconds": the clock of the machine that nobody sets, for the time between two scans.
    ALTER TABLE scans ADD COLUMN confirmed_root text, ADD COLUMN complete boolean NOT NULL DEFAULT false, ADD COLUMN guard jsonb,
      ADD COLUMN boot_id text, ADD COLUMN boot_seconds double precision;
    -- "missed_by": the first complete scan that found the file gone, of those without a break; its row may be gone by now. "provisional": found
    -- since the last scan that was accepted; such books do not count as known, or a few on a bare mount point would make up for a lost disk.
    ALTER TABLE books ADD COLUMN missed_by uuid, ADD COLUMN provisional boolean NOT NULL DEFAULT false;
    CREATE INDEX books_provisional ON books (library_id) WHERE provisional;
    CREATE INDEX books_gone ON books (library_id) WHERE deleted_at IS NOT NULL;
    CREATE FUNCTION carrel_book_is_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.missed_by := NULL; RETURN NEW; END $$;
    CREATE TRIGGER books_back BEFORE UPDATE OF deleted_at ON books FOR EACH ROW
      WHEN (NEW.deleted_at IS NULL AND NEW.missed_by IS NOT NULL) EXECUTE FUNCTION carrel_book_is_back();
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE IF EXISTS book_suspects;
    DROP TRIGGER IF EXISTS books_back ON books;
    DROP FUNCTION IF EXISTS carrel_book_is_back;
    ALTER TABLE books DROP COLUMN IF EXISTS missed_by, DROP COLUMN IF EXISTS provisional;
    DROP INDEX IF EXISTS books_provisional, books_gone;
    ALTER TABLE scans DROP COLUMN IF EXISTS confirmed_root, DROP COLUMN IF EXISTS complete, DROP COLUMN IF EXISTS guard,
      DROP COLUMN IF EXISTS boot_id, DROP COLUMN IF EXISTS boot_seconds;
  `)
}
