import { setImmediate as pause } from 'node:timers/promises'
import { readIsbns } from '#core/fields/isbn.ts'
import type { SearchResult } from '#core/matching/provider-answers.ts'
import type { MatchQuery } from '#core/matching/provider-client.ts'
import { likeness, likenessMax, titlePreparer } from '#core/matching/title-likeness.ts'

/** The record to find. */
export type Wanted = Omit<MatchQuery, 'externalIds'>

/** The confidence that a result is the record, from 0 to 1. */
export interface Scored {
  result: SearchResult
  confidence: number
}

/** The score from which a result is accepted automatically, in requests and tasks. */
export const CONFIDENCE_MIN = 0.8
/** A year off by one may be a remake rather than another edition; off by two it is an error. */
const YEARS_APART_MAX = 2
/** No record has more names, and no user looks through more results; the rest is ignored. */
const OWN_TITLES_MAX = 20
const RESULTS_MAX = 200
const OFFERED_TITLES_MAX = 50
/** What a wrong year subtracts, and a right one adds. */
const WRONG_YEAR = 0.15
const RIGHT_YEAR = 0.05
/** Weight of the plugin's own relevance besides the titles. */
const OWN_WEIGHT = 0.3

/**
 * Ranks search results by titles, year and, with a small weight, the plugin's relevance, so that an overconfident plugin causes no wrong
 * match. Yields to the event loop between results: each takes some milliseconds at most.
 */
export async function rankResults(wanted: Wanted, results: readonly SearchResult[]): Promise<Scored[]> {
  const prepare = titlePreparer()
  const titles = [wanted.title, ...wanted.alternateTitles].slice(0, OWN_TITLES_MAX).map(prepare)
  const isKnown = wanted.isbn !== null && readIsbns(wanted.isbn).valid.length > 0
  const scored: Scored[] = []
  for (const result of results.slice(0, RESULTS_MAX)) {
    if (scored.length > 0) await pause()
    const offered = [result.title, ...(result.alternateTitles ?? [])].slice(0, OFFERED_TITLES_MAX).map(prepare)
    let alike = 0
    for (const other of offered)
      for (const title of titles) if (likenessMax(title, other) > alike) alike = Math.max(alike, likeness(title, other))
    scored.push({ result, confidence: confidenceOf(wanted, result, { alike, isKnown }) })
  }
  return scored.sort((a, b) => b.confidence - a.confidence || (a.result.externalId < b.result.externalId ? -1 : 1))
}

/** @param seen similarity of the titles, and whether there is an ISBN that the plugin could have used */
function confidenceOf(wanted: Wanted, result: SearchResult, { alike, isKnown }: { alike: number; isKnown: boolean }): number {
  const own = result.relevance ?? alike
  const isExact = isKnown && own === 1 && alike > 0.5
  const base = isExact ? 1 : alike * (1 - OWN_WEIGHT) + Math.min(own, alike + OWN_WEIGHT) * OWN_WEIGHT
  return Math.min(Math.max(base + yearWeight(wanted.year, result.year ?? null), 0), 1)
}

function yearWeight(wanted: number | null, found: number | null): number {
  if (wanted === null || found === null) return 0
  if (wanted === found) return RIGHT_YEAR
  return Math.abs(wanted - found) <= YEARS_APART_MAX ? 0 : -WRONG_YEAR
}
