import type { Knex } from 'knex'

/** What is remembered of files that did harm. */
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
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE IF EXISTS book_suspects;
  `)
}
