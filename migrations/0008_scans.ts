import type { Knex } from 'knex'

/** Triggers count a statement as a change of the catalog even if it finds no row, and a new database has none. */
const whenAny = (table: string, statement: string): string =>
  `DO $$ BEGIN IF EXISTS (SELECT FROM ${table}) THEN ${statement}; END IF; END $$;`

/** Schedules of scans, why books are missing, and what a scan did not mark as deleted. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The next scan by the schedule. Schedules that were stored before this version are due at once; then their next time is computed.
    ALTER TABLE libraries ADD COLUMN next_scan_at timestamptz;
    ${whenAny('libraries', `UPDATE libraries SET next_scan_at = now() WHERE scanning_config ->> 'enabled' = 'true' AND scanning_config ->> 'cronSchedule' IS NOT NULL`)}

    -- Device numbers by folder, relative to the root: of the root itself, and of each folder on another device than the one above it.
    ALTER TABLE libraries ADD COLUMN devices jsonb;
    -- Since when a book is missing, and why: its file is gone, or its folder; or it is not marked as deleted, because the disk is probably missing.
    -- "loss_confirmed": a user has said that it is gone for good.
    ALTER TABLE books ADD COLUMN missing_since timestamptz,
      ADD COLUMN missing_why text CHECK (missing_why IN ('file', 'folder', 'withheld')),
      ADD COLUMN loss_confirmed boolean NOT NULL DEFAULT false;
    ${whenAny(
      'books',
      `UPDATE books SET missing_since = deleted_at, missing_why = 'file',
        loss_confirmed = coalesce(missed_by IN (SELECT id FROM scans WHERE confirmed_root IS NOT NULL), false) WHERE deleted_at IS NOT NULL`,
    )}
    CREATE INDEX books_missing ON books (library_id) WHERE deleted_at IS NOT NULL OR missing_why IS NOT NULL;
    CREATE OR REPLACE FUNCTION carrel_book_is_back() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.missed_by := NULL; NEW.missing_since := NULL; NEW.missing_why := NULL; NEW.loss_confirmed := false; RETURN NEW; END $$;
    DROP TRIGGER books_back ON books;
    CREATE TRIGGER books_back BEFORE UPDATE OF deleted_at ON books FOR EACH ROW
      WHEN (NEW.deleted_at IS NULL AND (NEW.missed_by IS NOT NULL OR NEW.missing_why IS NOT NULL)) EXECUTE FUNCTION carrel_book_is_back();
    -- Folders whose missing books were not marked as deleted; and those that a user has confirmed for the scan, null for all.
    ALTER TABLE scans ADD COLUMN withheld jsonb, ADD COLUMN confirmed_folders text[];
    -- The folder of a scan of a part, relative to the library; null for all of it.
    ALTER TABLE scans ADD COLUMN path text;
    -- Files that are parts of books: how many, and some of their paths; null for none.
    ALTER TABLE scans ADD COLUMN left_out jsonb;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE scans DROP COLUMN withheld, DROP COLUMN confirmed_folders, DROP COLUMN path, DROP COLUMN left_out;
    DROP TRIGGER books_back ON books;
    CREATE OR REPLACE FUNCTION carrel_book_is_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.missed_by := NULL; RETURN NEW; END $$;
    CREATE TRIGGER books_back BEFORE UPDATE OF deleted_at ON books FOR EACH ROW
      WHEN (NEW.deleted_at IS NULL AND NEW.missed_by IS NOT NULL) EXECUTE FUNCTION carrel_book_is_back();
    ALTER TABLE books DROP COLUMN missing_since, DROP COLUMN missing_why, DROP COLUMN loss_confirmed;
    ALTER TABLE libraries DROP COLUMN next_scan_at, DROP COLUMN devices;
  `)
}
