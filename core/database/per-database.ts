import type { Knex } from 'knex'

/** Makes a thing of each database when it is first asked for. */
export function perDatabase<Thing>(make: (database: Knex) => Thing): (database: Knex) => Thing {
  const made = new WeakMap<Knex, Thing>()
  return (database) => {
    const thing = made.get(database) ?? make(database)
    made.set(database, thing)
    return thing
  }
}
