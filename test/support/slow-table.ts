import type { Knex } from 'knex'

/** From now on each change of such a table takes this long in addition, so that what a test looks at in between is not over at once. */
export async function slowDown(
  database: Knex,
  change: { after: 'INSERT' | 'UPDATE' | 'DELETE'; table: string; each: 'ROW' | 'STATEMENT'; ms: number },
): Promise<void> {
  await database.raw(`
    CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(${change.ms / 1000}); RETURN NULL; END $$;
    CREATE TRIGGER slow AFTER ${change.after} ON ${change.table} FOR EACH ${change.each} EXECUTE FUNCTION take_time()`)
}
