import type { Knex } from 'knex'

/** One term of an ORDER BY, such as `books.number ASC NULLS LAST`. The last of a list must be unique, so that no page repeats or misses a row. */
export type OrderTerm = string

/** A random order that stays the same for a day, so that the pages of a list are consistent. @param id column of the ids */
export const SHUFFLED = (id: string): string => `md5(${id}::text || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'))`

/** The reversed order. */
function reversed(terms: readonly OrderTerm[]): OrderTerm[] {
  return terms.map((term) => {
    const [, expression = term, direction = 'ASC', nulls] = /^(.*?)(?: (ASC|DESC))?(?: NULLS (FIRST|LAST))?$/s.exec(term) ?? []
    const reversedNulls = nulls === undefined ? '' : ` NULLS ${nulls === 'LAST' ? 'FIRST' : 'LAST'}`
    return `${expression} ${direction === 'DESC' ? 'ASC' : 'DESC'}${reversedNulls}`
  })
}

/** Bindings belong to the terms in their order. */
export interface Order {
  terms: readonly OrderTerm[]
  bindings?: readonly Knex.RawBinding[]
}

export interface IdPage {
  /** The ids on the page, in order. */
  ids: string[]
  /** How many match in total. */
  total: number
}

/**
 * One page of the ids of a list, and the total. A page after the middle is read from the end, so that the last page costs as much as the first.
 * @param list.matching selects `id` of all matches, without an order
 * @param list.counting selects as many rows as `matching`, if that can be cheaper
 * @param list.order may depend on how many match
 */
export async function pageOfIds(
  database: Knex,
  list: {
    matching: Knex.QueryBuilder
    counting?: Knex.QueryBuilder | undefined
    order: Order | ((total: number) => Order)
    offset: number
    limit: number
  },
): Promise<IdPage> {
  const { matching, offset, limit } = list
  const { rows } = (await database.raw('SELECT count(*) AS total FROM (?) AS matching', [list.counting ?? matching])) as {
    rows: { total: string | number }[]
  }
  const total = Number(rows[0]?.total ?? 0)
  if (offset >= total) return { ids: [], total }
  const order = typeof list.order === 'function' ? list.order(total) : list.order
  const backward = offset > total / 2
  const size = Math.min(limit, total - offset)
  const terms = backward ? reversed(order.terms) : order.terms
  const found = (await matching
    .clone()
    .orderByRaw(terms.join(', '), [...(order.bindings ?? [])])
    .offset(backward ? total - offset - size : offset)
    .limit(size)) as { id: string }[]
  const ids = found.map(({ id }) => id)
  return { ids: backward ? ids.reverse() : ids, total }
}
