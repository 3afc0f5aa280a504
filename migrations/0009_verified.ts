import type { Knex } from 'knex'

/** When the content of a file was last compared with its hash. A table of its own: a check changes nothing that lists of books show. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE book_checks (
      book_id uuid PRIMARY KEY REFERENCES books ON DELETE CASCADE,
      checked_at timestamptz NOT NULL DEFAULT now()
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE book_checks')
}
