import type { Knex } from 'knex'

/** Books whose paths other books have taken. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- While the row has the path of another file, whose content is not known to be its own: the path that its own content had.
    ALTER TABLE books ADD COLUMN displaced_from text;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE books DROP COLUMN displaced_from')
}
