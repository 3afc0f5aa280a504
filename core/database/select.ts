import type { Knex } from 'knex'

/** The rows of a statement that is written by hand. The caller says what they have, because the compiler does not read SQL. */
export async function select<Row>(statement: Knex.Raw): Promise<Row[]> {
  return (await statement).rows
}

/** How many rows match. */
export async function countRows(matching: Knex.QueryBuilder): Promise<number> {
  const [row] = await matching.count({ count: '*' })
  return Number(row?.['count'])
}
