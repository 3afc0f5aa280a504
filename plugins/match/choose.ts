import type { Static } from 'typebox'
import type { RESULT_SCHEMAS } from '#plugins/host/results.ts'
import { readIsbn13, titleSimilarity } from '../../plugin-sdk/text.ts'

export type SearchResult = Static<(typeof RESULT_SCHEMAS)['metadata.series.search']>['results'][number]

/** What is looked for. */
export interface Wanted {
  title: string
  alternateTitles: readonly string[]
  year: number | null
  authors: readonly string[]
  isbn: string | null
}

/** How sure one may be that a result is what was looked for, from 0 to 1. */
export interface Scored {
  result: SearchResult
  confidence: number
}

/** A result this sure is taken without a person looking at it, by a call and by a task alike. */
export const CONFIDENCE_MIN = 0.8
/** A year beside makes a remake, not another edition; two are a slip. */
const YEARS_APART_MAX = 2
/** What a wrong year takes away, and a right one gives. */
const WRONG_YEAR = 0.15
const RIGHT_YEAR = 0.05
/** Of the plugin's own word, beside the titles: it has seen more than the title. */
const OWN_WEIGHT = 0.3

/**
 * Ranks what a search found by what this house knows itself: the titles alike, the year, and the plugin's own word for a part of it, so that a
 * plugin that is sure of everything matches nothing wrong.
 */
export function rankResults(wanted: Wanted, results: readonly SearchResult[]): Scored[] {
  const titles = [wanted.title, ...wanted.alternateTitles]
  return results
    .map((result) => {
      const offered = [result.title, ...(result.alternateTitles ?? [])]
      const alike = Math.max(...titles.flatMap((title) => offered.map((other) => titleSimilarity(title, other))))
      const own = result.relevance ?? alike
      const isExact = wanted.isbn !== null && readIsbn13(wanted.isbn) !== null && own === 1 && alike > 0.5
      const base = isExact ? 1 : alike * (1 - OWN_WEIGHT) + Math.min(own, alike + OWN_WEIGHT) * OWN_WEIGHT
      return { result, confidence: Math.min(Math.max(base + yearWeight(wanted.year, result.year ?? null), 0), 1) }
    })
    .sort((a, b) => b.confidence - a.confidence || (a.result.externalId < b.result.externalId ? -1 : 1))
}

function yearWeight(wanted: number | null, found: number | null): number {
  if (wanted === null || found === null) return 0
  if (wanted === found) return RIGHT_YEAR
  return Math.abs(wanted - found) <= YEARS_APART_MAX ? 0 : -WRONG_YEAR
}
