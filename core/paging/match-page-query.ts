import type { Knex } from 'knex'
import { type IdList, type IdPage, pageOfIds } from '#core/paging/id-page-query.ts'
import { anchorsOf, type ListAnchors } from '#core/paging/list-anchors.ts'
import { type ListPart, orderOf, seek, splitTerm, type Terms } from '#core/paging/list-order.ts'

/**
 * Rows of the order that are tried before all matches are found: the first matches of most lists are among them, and trying them takes some ten
 * milliseconds. Matches far from the begin of the order would otherwise cost a visit of each row before them.
 */
const TRIED_MAX = 1_000

/** A list of the rows that match a condition, which may be few of many or nearly all. */
interface MatchList {
  table: 'books' | 'series'
  /** Selects `id` of all matches, for trying rows in their order. */
  matching: Knex.QueryBuilder
  /** The same, written for finding all of them. */
  whole: Knex.QueryBuilder
  /** How many match. See core/catalog/list-total-query.ts. */
  total: {
    readonly known: number | null
    count(): Promise<number>
    counted<Row extends { total: string | number }>(others: string, select: (versions: Knex.Raw) => Knex.Raw): Promise<Row>
  }
  /** The begin of the list, for trying rows. */
  part: ListPart
  /** The whole order, with the tables that it needs joined to `whole`. */
  terms: Terms
  offset: number
  limit: number
  key: string
}

/** Where a page is found: among the matches of a condition, or in an order that has an index. */
export type FoundPage = { matches: MatchList } | { page: IdList }

/** One page of ids from wherever it is found, and the total. */
export const idsOfPage = async (database: Knex, found: FoundPage): Promise<IdPage> =>
  'matches' in found ? await pageOfMatches(database, found.matches) : await pageOfIds(database, found.page)

/** One page of the ids of the matches, and the total. */
export async function pageOfMatches(database: Knex, list: MatchList): Promise<IdPage> {
  const { total, offset } = list
  if (total.known !== null && offset >= total.known) return { ids: [], total: total.known }
  const anchors = anchorsOf(`${list.key} matches`, 1)
  const tried = await tryRows(database, list, anchors)
  if (tried !== null) return { ids: tried, total: total.known ?? (await total.count()) }
  const found = await findAll(database, list)
  if (found.ids[0] !== undefined) anchors.note({ at: offset, id: found.ids[0] })
  return found
}

/** The page, if it begins at a known row and its matches are near; else null. */
async function tryRows(database: Knex, list: MatchList, anchors: ListAnchors): Promise<string[] | null> {
  const { offset, limit, part, table, total } = list
  const { before } = anchors.around(offset)
  const isKnown = before?.at === offset
  if (offset > 0 && !isKnown) return null
  const rows = database(table).select(`${table}.*`).limit(TRIED_MAX).orderByRaw(orderOf(part, false))
  part.narrow?.(rows)
  if (isKnown) rows.modify(seek(part, before.id, false))
  const query = list.matching
    .clone()
    .from(rows.as(table))
    .orderByRaw(orderOf(part, false))
    .limit(limit + 1)
  part.narrow?.(query)
  const found = ((await query) as { id: string }[]).map(({ id }) => id)
  const next = found[limit]
  if (next !== undefined) anchors.note({ at: offset + limit, id: next })
  if (found.length >= limit) return found.slice(0, limit)
  return offset + found.length === total.known ? found : null
}

/** Finds all matches once, and orders them: an order that PostgreSQL follows row by row may have no match for long. */
async function findAll(database: Knex, { whole, terms, offset, limit, total, key }: MatchList): Promise<IdPage> {
  const keys = terms.terms.map(splitTerm)
  const all = whole
    .clone()
    .select(database.raw(keys.map(({ expression }, index) => `${expression} AS k${index}`).join(', '), [...(terms.bindings ?? [])]))
  const order = keys.map(({ turn }, index) => `k${index} ${turn}`).join(', ')
  const row = await total.counted<{ total: string | number; ids: string[] | null }>(`${key} ${offset} ${limit}`, (versions) =>
    database.raw(
      `WITH whole AS MATERIALIZED (?) SELECT ?, (SELECT count(*) FROM whole) AS total,
         ARRAY(SELECT id FROM whole ORDER BY ${order} OFFSET ? LIMIT ?) AS ids`,
      [all, versions, offset, limit],
    ),
  )
  return { ids: row.ids ?? [], total: Number(row.total) }
}
