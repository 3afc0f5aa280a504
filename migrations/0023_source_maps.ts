import type { Knex } from 'knex'

/**
 * Where the lines of a bundle come from, and where in its sources a failure arose. Versions and failures of before have neither: the packages are not
 * kept.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE plugin_versions ADD COLUMN source_map text;
    ALTER TABLE plugin_failures ADD COLUMN source text;`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE plugin_failures DROP COLUMN source;
    ALTER TABLE plugin_versions DROP COLUMN source_map;`)
}
