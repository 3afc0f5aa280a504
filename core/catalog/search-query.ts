import type { Knex } from 'knex'
import { countRows } from '#core/database/select.ts'
import { refuse } from '#core/foundation/errors.ts'
import { normalizeText } from '#core/foundation/text.ts'
import type { OrderTerm, Terms } from '#core/paging/list-order.ts'

/** Longer than any title with its author; every word costs an index look-up. */
export const SEARCH_LENGTH_MAX = 500
/** More matches than this are not sorted by rank: a user with thousands of matches searches for another word. */
const RANKED_MAX = 2_000
/** For summary, people, series and the title itself. */
const WEIGHTS = '{0.05, 0.2, 0.5, 1}'

type Searched = 'book' | 'series'

/** The search text; null when it is empty or white space. @throws invalid_value for a text that is too long */
export function readSearch(text: string | null | undefined): string | null {
  const search = text?.trim()
  if (!search) return null
  // Characters, as the schemas of requests count them: an emoji takes two UTF-16 code units.
  if ([...search].length > SEARCH_LENGTH_MAX)
    refuse('invalid_value', `The member fullTextSearch is longer than ${SEARCH_LENGTH_MAX} characters.`, {
      details: [{ path: '/fullTextSearch', message: `must not have more than ${SEARCH_LENGTH_MAX} characters` }],
    })
  return search
}

/** Adds "matches this text" to a query of books or series: all words in any order, ignoring case and accents; the beginning of a word suffices. */
export function found(kind: Searched, search: string): (query: Knex.QueryBuilder) => void {
  return (query) => {
    query.joinRaw(
      `JOIN ${kind}_search ON ${kind}_search.${kind}_id = ${kind === 'book' ? 'books' : 'series'}.id AND ${kind}_search.document @@ carrel_search_query(?)`,
      [search],
    )
  }
}

/**
 * The best match first, then the given order. With thousands of matches, rank is not worth its cost: then only the given order.
 * For a query that {@link found} was applied to.
 */
export function rankedOrder(kind: Searched, search: string, terms: readonly OrderTerm[]): (total: number) => Terms {
  const rank = `ts_rank('${WEIGHTS}', ${kind}_search.document, carrel_search_query(?)) DESC`
  return (total) => (total > RANKED_MAX ? { terms } : { terms: [rank, ...terms], bindings: [search] })
}

/** How many rows match, counted only as far as {@link rankedOrder} asks: the first matches of a common word need not wait for the number of all. */
export const countFew = (database: Knex, matching: Knex.QueryBuilder): Promise<number> =>
  countRows(
    database.from(
      matching
        .clone()
        .limit(RANKED_MAX + 1)
        .as('few'),
    ),
  )

/** A regular expression for titles, in the syntax that {@link readTitlePattern} accepts. */
export interface TitlePattern {
  of: 'title' | 'titleSort'
  pattern: string
}

/** Apps send an initial or a range of them. */
const PATTERN_LENGTH_MAX = 200
/**
 * Classes, groups, alternatives, anchors and simple repetitions. The database matches these in time that grows with the title alone; counted repetitions,
 * references to groups and looking around would cost far more, and their syntax differs between programs.
 */
const SAFE_PATTERN = /^(?!\*)(?:\[\^?(?:[^[\]\\]|\\[dsw]|\\[^\p{L}\p{N}])+\]|\\[dswDSW]|\\[^\p{L}\p{N}]|\((?!\?)|[^[\](){}\\]|\))*$/u

/**
 * @param path of the value in the request
 * @throws invalid_request for a pattern that is too long, not valid, or beyond the supported syntax
 */
export function readTitlePattern(of: TitlePattern['of'], pattern: string, path: string): TitlePattern {
  const isRead = pattern.length <= PATTERN_LENGTH_MAX && SAFE_PATTERN.test(pattern) && isPattern(pattern)
  if (!isRead) {
    const message = `must have at most ${PATTERN_LENGTH_MAX} characters, and only classes, groups, alternatives, anchors and the repetitions * + ?`
    refuse('invalid_request', `The regular expression ${message}.`, { details: [{ path, message }] })
  }
  return { of, pattern }
}

/** One letter of an expression as folded texts have it: it may become several, or a sign. */
const FOLDED_LETTER = `coalesce(nullif(regexp_replace(carrel_fold(letter), '([][(){}.*+\\?^$|\\\\-])', '\\\\\\1', 'g'), ''), letter)`

/** SQL of an expression for folded texts, with its bindings. Ends of ranges and escaped signs stay as they are. */
export function foldedPattern({ pattern }: TitlePattern): { sql: string; bindings: (string[] | boolean[])[] } {
  const letters = [...normalizeText(pattern, PATTERN_LENGTH_MAX)]
  const isFolded = letters.map((letter, at) => letter > '\x7f' && !/[-\\]/.test(letters[at - 1] ?? '') && letters[at + 1] !== '-')
  const sql = `(SELECT string_agg(CASE WHEN is_folded THEN ${FOLDED_LETTER} ELSE letter END, '' ORDER BY at)
    FROM unnest(CAST(? AS text[]), CAST(? AS boolean[])) WITH ORDINALITY AS of_pattern(letter, is_folded, at))`
  return { sql, bindings: [letters, isFolded] }
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}
