import { setImmediate as pause } from 'node:timers/promises'
import type { SearchResult } from '#core/matching/provider-answers.ts'
import { likeness, likenessMax, openTitles } from '#core/matching/title-likeness.ts'
import { readIsbns } from '#core/metadata/isbn.ts'

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
/** Nothing is known by more names than that, and more results are for nobody; all beyond are not looked at. */
const OWN_TITLES_MAX = 20
const RESULTS_MAX = 200
const OFFERED_TITLES_MAX = 50
/** What a wrong year takes away, and a right one gives. */
const WRONG_YEAR = 0.15
const RIGHT_YEAR = 0.05
/** Of the plugin's own word, beside the titles: it has seen more than the title. */
const OWN_WEIGHT = 0.3

/**
 * Ranks what a search found by what this house knows itself: the titles alike, the year, and the plugin's own word for a part of it, so that a
 * plugin that is sure of everything matches nothing wrong. Between two results it lets others have the thread: each is some milliseconds of work at
 * most.
 */
export async function rankResults(wanted: Wanted, results: readonly SearchResult[]): Promise<Scored[]> {
  const prepare = openTitles()
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

/** @param seen how alike the titles are, and whether there is an ISBN that the plugin could know it by */
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
