import type { Knex } from 'knex'

/** Each scan looks for the last renaming of its library, among the tasks of all its books. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE INDEX tasks_renamings ON tasks (library_id, created_at) WHERE type = 'renumber_library'`)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX tasks_renamings')
}
