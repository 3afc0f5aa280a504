import type { Knex } from 'knex'

/** Longer than anybody rests over a page, shorter than what people call a break. */
const REST = `interval '30 minutes'`
/** Of one book by one user; who marks a book as read and as unread again and again keeps the latest. */
const READINGS_MAX = 100

/** Marks and highlights of users, and what they have read when: also what they read again or marked as unread. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The app or device that recorded the position.
    ALTER TABLE read_progress ADD COLUMN app text;

    CREATE TABLE annotations (
      user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
      book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
      -- Chosen by the client.
      id uuid NOT NULL,
      kind text NOT NULL CHECK (kind IN ('bookmark', 'highlight')),
      -- A Readium locator.
      locator jsonb NOT NULL,
      -- Its fraction of the book, for the order; null when unknown.
      progression double precision,
      color text,
      note text,
      -- Of the file to which the locator belongs.
      file_hash text,
      created_at timestamptz NOT NULL DEFAULT now(),
      updated_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (user_id, book_id, id)
    );
    CREATE INDEX annotations_book ON annotations (book_id);

    CREATE TABLE readings (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
      user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
      book_id uuid NOT NULL REFERENCES books ON DELETE CASCADE,
      begun_at timestamptz NOT NULL DEFAULT now(),
      last_at timestamptz NOT NULL DEFAULT now(),
      finished_at timestamptz,
      -- Whether the next position belongs to it: it is not finished, and the book was not marked as unread.
      is_open boolean NOT NULL
    );
    CREATE UNIQUE INDEX readings_open ON readings (user_id, book_id) WHERE is_open;
    CREATE INDEX readings_of_user ON readings (user_id, book_id, begun_at) INCLUDE (finished_at, last_at);
    CREATE INDEX readings_book ON readings (book_id);
    -- What was read without a break.
    CREATE TABLE reading_sittings (
      reading_id uuid NOT NULL REFERENCES readings ON DELETE CASCADE,
      user_id uuid NOT NULL,
      begun_at timestamptz NOT NULL DEFAULT now(),
      ended_at timestamptz NOT NULL DEFAULT now(),
      first_page integer NOT NULL,
      last_page integer NOT NULL,
      app text,
      PRIMARY KEY (reading_id, begun_at)
    );
    CREATE INDEX reading_sittings_latest ON reading_sittings (user_id, begun_at);

    -- By the server's clock: a client could report any times, and make any number of sittings.
    CREATE FUNCTION carrel_position_recorded() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE reading uuid;
      BEGIN
        IF TG_OP = 'UPDATE' AND OLD.completed AND NEW.completed THEN RETURN NULL; END IF;
        UPDATE readings SET last_at = now(), finished_at = CASE WHEN NEW.completed THEN now() END, is_open = NOT NEW.completed
          WHERE user_id = NEW.user_id AND book_id = NEW.book_id AND is_open RETURNING id INTO reading;
        IF reading IS NULL THEN
          INSERT INTO readings (user_id, book_id, finished_at, is_open)
            VALUES (NEW.user_id, NEW.book_id, CASE WHEN NEW.completed THEN now() END, NOT NEW.completed) RETURNING id INTO reading;
          DELETE FROM readings WHERE id IN (SELECT id FROM readings WHERE user_id = NEW.user_id AND book_id = NEW.book_id
            ORDER BY begun_at DESC, id OFFSET ${READINGS_MAX});
        END IF;
        UPDATE reading_sittings SET ended_at = now(), first_page = least(first_page, NEW.current_page),
            last_page = greatest(last_page, NEW.current_page), app = coalesce(NEW.app, app)
          WHERE reading_id = reading AND ended_at > now() - ${REST};
        IF NOT FOUND THEN
          INSERT INTO reading_sittings (reading_id, user_id, first_page, last_page, app)
            VALUES (reading, NEW.user_id, NEW.current_page, NEW.current_page, NEW.app);
        END IF;
        RETURN NULL;
      END $$;
    CREATE FUNCTION carrel_position_removed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE readings SET is_open = false WHERE user_id = OLD.user_id AND book_id = OLD.book_id AND is_open;
        RETURN NULL;
      END $$;
    CREATE TRIGGER read_progress_reading AFTER INSERT OR UPDATE ON read_progress FOR EACH ROW EXECUTE FUNCTION carrel_position_recorded();
    CREATE TRIGGER read_progress_reading_ends AFTER DELETE ON read_progress FOR EACH ROW EXECUTE FUNCTION carrel_position_removed();
    -- Records of books contain numbers of readings, and answers are remembered. Positions, which change the others, do the same.
    CREATE TRIGGER readings_user_removed AFTER DELETE ON readings REFERENCING OLD TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION carrel_user_changed();

    INSERT INTO readings (user_id, book_id, begun_at, last_at, finished_at, is_open)
      SELECT user_id, book_id, started_at, updated_at, CASE WHEN completed THEN coalesce(completed_at, updated_at) END, NOT completed
      FROM read_progress;
    INSERT INTO reading_sittings (reading_id, user_id, begun_at, ended_at, first_page, last_page)
      SELECT r.id, r.user_id, r.last_at, r.last_at, p.current_page, p.current_page
      FROM readings r JOIN read_progress p ON p.user_id = r.user_id AND p.book_id = r.book_id;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER read_progress_reading ON read_progress;
    DROP TRIGGER read_progress_reading_ends ON read_progress;
    DROP TABLE reading_sittings, readings, annotations;
    DROP FUNCTION carrel_position_recorded, carrel_position_removed;
    ALTER TABLE read_progress DROP COLUMN app;
  `)
}
