import type { Knex } from 'knex'

/** What the question writes whether the database takes changes. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE health_probe (
      id smallint PRIMARY KEY CHECK (id = 1),
      written_at timestamptz NOT NULL
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE IF EXISTS health_probe;
  `)
}
