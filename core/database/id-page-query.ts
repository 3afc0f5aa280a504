import type { Knex } from 'knex'

/** One term of an ORDER BY, such as `books.number ASC NULLS LAST`. The last of a list is unique, so no page repeats or misses a row. */
export type OrderTerm = string

/** An order without sense that lasts a day, so that the pages of a list fit together. @param id column of the ids */
export const SHUFFLED = (id: string): string => `md5(${id}::text || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'))`

/** The same order from its end. */
export function turned(terms: readonly OrderTerm[]): OrderTerm[] {
  return terms.map((term) => {
    const [, expression = term, direction = 'ASC', nulls] = /^(.*?)(?: (ASC|DESC))?(?: NULLS (FIRST|LAST))?$/s.exec(term) ?? []
    const turnedNulls = nulls === undefined ? '' : ` NULLS ${nulls === 'LAST' ? 'FIRST' : 'LAST'}`
    return `${expression} ${direction === 'DESC' ? 'ASC' : 'DESC'}${turnedNulls}`
  })
}

/** Bindings are for the terms in their order. */
export interface Order {
  terms: readonly OrderTerm[]
  bindings?: readonly Knex.RawBinding[]
}

export interface IdPage {
  /** Of the records on the page, in order. */
  ids: string[]
  /** Of all that match. */
  total: number
}

/**
 * One page of the ids of a list, and how many there are. A page behind the middle is read from the end, so the last costs what the first does.
 * @param list.matching selects `id` of what matches, without an order
 * @param list.counting selects as many rows as `matching`, where it can for less
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
  const terms = backward ? turned(order.terms) : order.terms
  const found = (await matching
    .clone()
    .orderByRaw(terms.join(', '), [...(order.bindings ?? [])])
    .offset(backward ? total - offset - size : offset)
    .limit(size)) as { id: string }[]
  const ids = found.map(({ id }) => id)
  return { ids: backward ? ids.reverse() : ids, total }
}
