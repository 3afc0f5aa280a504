import type { Knex } from 'knex'

/** Indexes of the lists: one per sort order, and a narrow one that counts books without touching the table. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX books_present ON books (library_id, series_id) WHERE deleted_at IS NULL;
    CREATE INDEX books_number ON books (number, id);
    CREATE INDEX books_size ON books (file_size, id);
    CREATE INDEX books_file_name ON books (file_name COLLATE carrel_natural, id);
    CREATE INDEX books_pages ON books (page_count, id);
    CREATE INDEX series_updated ON series (updated_at, id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX IF EXISTS books_present, books_number, books_size, books_file_name, books_pages, series_updated')
}
