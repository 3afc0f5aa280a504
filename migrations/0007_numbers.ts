import type { Knex } from 'knex'

/** Strategies for numbers. Until now every library took them from metadata, then from names of files, whatever was stored. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE libraries ALTER COLUMN number_strategy SET DEFAULT 'smart';
    -- Settings of strategies were stored unchecked, and none had a meaning.
    -- A statement that finds no row counts as a change of the catalog, too.
    DO $$ BEGIN IF EXISTS (SELECT FROM libraries) THEN
      UPDATE libraries SET number_strategy = 'smart', number_config = NULL, book_config = NULL,
        book_strategy = CASE WHEN book_strategy IN ('filename', 'metadata_first', 'smart') THEN book_strategy ELSE 'filename' END;
    END IF; END $$;
    -- The number that a book got by its position in the series: as long as both are equal, another position changes them.
    ALTER TABLE books ADD COLUMN position double precision;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    UPDATE books SET number = NULL WHERE number = position;
    ALTER TABLE books DROP COLUMN position;
    UPDATE libraries SET number_strategy = 'filename', number_config = NULL;
    ALTER TABLE libraries ALTER COLUMN number_strategy SET DEFAULT 'filename';
  `)
}
