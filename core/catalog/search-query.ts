import type { Knex } from 'knex'
import type { Order, OrderTerm } from '#core/database/id-page-query.ts'
import { refuse } from '#core/foundation/errors.ts'

/** Longer than any title with its author; every word costs a look into the index. */
export const SEARCH_LENGTH_MAX = 500
/** More matches than this are not put in order of rank: whoever sees thousands looks for another word. */
const RANKED_MAX = 2_000
/** Of summary, people, series and the title itself. */
const WEIGHTS = '{0.05, 0.2, 0.5, 1}'

type Searched = 'book' | 'series'

/** What is looked for; null when there is nothing but blanks. @throws invalid_value for a text beyond all reason */
export function readSearch(text: string | null | undefined): string | null {
  const search = text?.trim()
  if (!search) return null
  if (search.length > SEARCH_LENGTH_MAX)
    refuse('invalid_value', `The member fullTextSearch is longer than ${SEARCH_LENGTH_MAX} characters.`, {
      details: [{ path: '/fullTextSearch', message: `must not have more than ${SEARCH_LENGTH_MAX} characters` }],
    })
  return search
}

/** Adds "is found by this text" to a query of books or series: all words in any order, case and accents aside, the beginning of a word will do. */
export function found(kind: Searched, search: string): (query: Knex.QueryBuilder) => void {
  return (query) => {
    query.joinRaw(
      `JOIN ${kind}_search ON ${kind}_search.${kind}_id = ${kind === 'book' ? 'books' : 'series'}.id AND ${kind}_search.document @@ carrel_search_query(?)`,
      [search],
    )
  }
}

/**
 * The best match first, then the given order. Where thousands match, their rank is not worth what it costs to tell: then the given order alone.
 * For a query that {@link found} was applied to.
 */
export function rankedOrder(kind: Searched, search: string, terms: readonly OrderTerm[]): (total: number) => Order {
  const rank = `ts_rank('${WEIGHTS}', ${kind}_search.document, carrel_search_query(?)) DESC`
  return (total) => (total > RANKED_MAX ? { terms } : { terms: [rank, ...terms], bindings: [search] })
}
