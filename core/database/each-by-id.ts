import type { Knex } from 'knex'

/** Before every id. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** The rows of a query in the order of their `id`, some at a time. Changes meanwhile make it skip or repeat no other row. */
export async function* eachById<Row extends { id: string }>(query: Knex.QueryBuilder, limit: number): AsyncGenerator<Row[]> {
  for (let after = FIRST_ID; ; ) {
    const rows: Row[] = await query.clone().where('id', '>', after).orderBy('id').limit(limit)
    const last = rows.at(-1)
    if (last) yield rows
    if (last === undefined || rows.length < limit) return
    after = last.id
  }
}

/** The same of the ids alone. */
export async function* eachId(query: Knex.QueryBuilder, limit: number): AsyncGenerator<string[]> {
  for await (const rows of eachById(query.clone().select('id'), limit)) yield rows.map(({ id }) => id)
}
