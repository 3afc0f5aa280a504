import type { Knex } from 'knex'

/** How many entries of a list begin with a letter, in lower case; those that begin with anything else are under "#". */
export interface InitialGroup {
  group: string
  count: number
}

/** Counts sort keys by what they begin with. Sort keys have no accents. Groups come in order, "#" first. @param keys selects `sort_key` of each entry */
export async function countByInitial(database: Knex, keys: Knex.QueryBuilder): Promise<InitialGroup[]> {
  // Counted by character first: a hundred thousand keys have few.
  const initials = database
    .from(keys.as('listed'))
    .select(database.raw('substr(sort_key, 1, 1) COLLATE "und-x-icu" AS initial, count(*) AS count'))
    .groupByRaw('1')
  const rows: InitialGroup[] = await database
    .from(initials.as('initials'))
    .select(database.raw(`CASE WHEN initial ~ '[[:alpha:]]' THEN initial ELSE '#' END AS "group", sum(count)::int AS count`))
    .groupByRaw('1')
  return rows.sort((a, b) => (a.group === '#' ? -1 : b.group === '#' ? 1 : a.group.localeCompare(b.group)))
}
