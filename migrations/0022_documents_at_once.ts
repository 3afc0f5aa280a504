import type { Knex } from 'knex'

/** @param ids what stands for the array of ids in the statement */
const refreshOf = (ids: string) => `
      WITH titled AS MATERIALIZED (
        SELECT s.id, carrel_document(concat_ws(' ', s.title,
          (SELECT string_agg(t.title, ' ') FROM series_alternate_titles t WHERE t.series_id = s.id)), 'B') AS document
        FROM series s WHERE s.id IN (SELECT series_id FROM books WHERE id = ANY(${ids}))
      )
      INSERT INTO book_search (book_id, library_id, series_id, deleted_at, document)
      SELECT b.id, b.library_id, b.series_id, b.deleted_at, carrel_document(concat_ws(' ', b.title, b.title_sort, m.original_title, m.subtitle), 'A')
        || titled.document
        || carrel_document(concat_ws(' ', carrel_people(m.authors), m.isbns, m.publisher), 'C')
        || carrel_document(m.summary, 'D')
      FROM books b JOIN titled ON titled.id = b.series_id LEFT JOIN book_metadata m ON m.book_id = b.id WHERE b.id = ANY(${ids}) ORDER BY b.id
      ON CONFLICT (book_id) DO UPDATE
        SET library_id = excluded.library_id, series_id = excluded.series_id, deleted_at = excluded.deleted_at, document = excluded.document
        WHERE (book_search.library_id, book_search.series_id, book_search.deleted_at, book_search.document)
          IS DISTINCT FROM (excluded.library_id, excluded.series_id, excluded.deleted_at, excluded.document)
    `

/**
 * The documents of many books take a time that grows with their number alone. A function in SQL is planned for some ten books, however many it is given:
 * each of 100,000 was then compared with each of their 5,000 series. A statement that is executed is planned for the ids at hand.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE OR REPLACE FUNCTION carrel_refresh_books(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $function$
      BEGIN EXECUTE $statement$${refreshOf('$1')}$statement$ USING ids; END
    $function$;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE OR REPLACE FUNCTION carrel_refresh_books(ids uuid[]) RETURNS void LANGUAGE sql AS $$${refreshOf('ids')}$$;
  `)
}
