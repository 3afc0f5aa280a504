import type { Catalog, Series } from './catalog.ts'
import { isKnown, type Liking } from './taste.ts'

/** A series that may be recommended, with the reasons for it. */
interface Candidate {
  index: number
  /** Its worth independent of the user, from 0 to 1: the opinion of others. */
  merit: number
  /** Its match with the user's taste: positive where it is similar to what they liked. */
  affinity: number
  /** The contribution of each series of the user, the largest first; only positive ones. */
  causes: { liking: Liking; share: number }[]
}

export interface Picked extends Candidate {
  /** From 0 to 1, decreasing from pick to pick. */
  score: number
}

/** Candidates to compare closely: the rest is too far from the user's taste to be among the first hundred. */
const SHORTLIST = 500
/** The user's strongest likings; each of them is compared with the whole shortlist. */
const LIKINGS_MAX = 1_000
/** One strong similarity counts more than three weak ones. */
const LIKENESS_POWER = 1.4
/** The factor for each further cause: one series that the user loved is enough, and a hundred weak similarities add up to little. */
const NEXT_CAUSE = 0.85
const CAUSES_MAX = 40
/** Merit decides where taste is neutral, and between candidates of equal affinity. */
const MERIT_WEIGHT = 0.3
/** The share of worth that an identical earlier pick removes. */
const SAMENESS = 0.4
/** The share of worth that each earlier pick by the same person removes. */
const SAME_PERSON = 0.15
/** Maps worth to a score: 0.1 is a fair guess, 0.5 is excellent. */
const SCORE_STEEPNESS = 2.5
const NO_RATING = 0.5

/** Ranks everything that the user could start, by taste and merit, the best first. */
export function rank(catalog: Catalog, likings: readonly Liking[], isExcluded: (id: string) => boolean): Candidate[] {
  const { series, starts, terms, weights, termsEnd } = catalog
  const profile = new Float32Array(termsEnd)
  for (const { index, strength } of likings)
    for (let at = starts[index]!; at < starts[index + 1]!; at++) profile[terms[at]!]! += strength * weights[at]!
  const meritOf = merits(catalog)

  const rough: { index: number; merit: number; worth: number }[] = []
  for (const [index, one] of series.entries()) {
    if (isKnown(one) || one.bookCount === 0 || isExcluded(one.id)) continue
    let affinity = 0
    for (let at = starts[index]!; at < starts[index + 1]!; at++) affinity += profile[terms[at]!]! * weights[at]!
    const merit = meritOf(index)
    rough.push({ index, merit, worth: affinity + merit * MERIT_WEIGHT })
  }
  const byId = (a: { index: number }, b: { index: number }) => (series[a.index]!.id < series[b.index]!.id ? -1 : 1)
  rough.sort((a, b) => b.worth - a.worth || byId(a, b))

  const considered = likings.slice(0, LIKINGS_MAX)
  const own = new Float32Array(termsEnd)
  const close = rough.slice(0, SHORTLIST).map(({ index, merit }): Candidate => {
    spread(catalog, index, own)
    const causes: Candidate['causes'] = []
    let against = 0
    for (const liking of considered) {
      const share = liking.strength * likeness(catalog, liking.index, own) ** LIKENESS_POWER
      if (share > 0) causes.push({ liking, share })
      else against += share
    }
    unspread(catalog, index, own)
    causes.sort((a, b) => b.share - a.share || a.liking.index - b.liking.index)
    let affinity = against
    let weight = 1
    for (const cause of causes.slice(0, CAUSES_MAX)) {
      affinity += cause.share * weight
      weight *= NEXT_CAUSE
    }
    return { index, merit, affinity, causes }
  })
  return close.sort((a, b) => worthOf(b) - worthOf(a) || byId(a, b))
}

/** The sort key of the ranking. */
export const worthOf = ({ affinity, merit }: Pick<Candidate, 'affinity' | 'merit'>): number => Math.max(affinity, 0) + merit * MERIT_WEIGHT

/**
 * Picks the best candidate repeatedly; each candidate loses worth by its similarity to earlier picks (maximal marginal relevance), so that
 * ten volumes by one author are one recommendation. Worth never rises again, so the scores decrease.
 */
export function pick(catalog: Catalog, ranked: readonly Candidate[], countMax: number): Picked[] {
  const { series, termsEnd } = catalog
  const left = ranked.map((candidate) => {
    const worth = worthOf(candidate)
    return { candidate, worth, value: worth, sameness: 0, people: 0 }
  })
  const own = new Float32Array(termsEnd)
  const picks: Picked[] = []
  while (picks.length < countMax && left.length > 0) {
    let best = 0
    for (let at = 1; at < left.length; at++) if (left[at]!.value > left[best]!.value) best = at
    const { candidate, value } = left[best]!
    left.splice(best, 1)
    picks.push({ ...candidate, score: 1 - Math.exp(-SCORE_STEEPNESS * value) })
    spread(catalog, candidate.index, own)
    const people = new Set(series[candidate.index]!.authors)
    for (const one of left) {
      one.sameness = Math.max(one.sameness, likeness(catalog, one.candidate.index, own))
      if (series[one.candidate.index]!.authors.some((name) => people.has(name))) one.people += 1
      one.value = (one.worth * (1 - SAMENESS * one.sameness)) / (1 + SAME_PERSON * one.people)
    }
    unspread(catalog, candidate.index, own)
  }
  return picks
}

/** The merit of a series: ratings, number of users who read it, how typical it is of the library, and how new it is. */
function merits({ series, countOf }: Catalog): (index: number) => number {
  const readersMax = series.reduce((most, { readers }) => Math.max(most, readers), 0)
  const namesOf = ({ genres, tags }: Series) => [
    ...genres.map((name) => countOf('genre', name)),
    ...tags.map((name) => countOf('tag', name)),
  ]
  const added = series.reduce(({ first, last }, { addedAt }) => ({ first: Math.min(first, addedAt), last: Math.max(last, addedAt) }), {
    first: Number.POSITIVE_INFINITY,
    last: 0,
  })
  return (index) => {
    const one = series[index]!
    const rated = one.communityRating === null ? NO_RATING : one.communityRating / 100
    const read = readersMax === 0 ? 0 : Math.log1p(one.readers) / Math.log1p(readersMax)
    const counts = namesOf(one)
    const typical = counts.length === 0 ? 0 : Math.max(...counts) / series.length
    const fresh = added.last > added.first ? (one.addedAt - added.first) / (added.last - added.first) : 0
    return 0.2 * rated + 0.65 * read + 0.1 * typical + 0.05 * fresh
  }
}

export function spread({ starts, terms, weights }: Catalog, index: number, into: Float32Array): void {
  for (let at = starts[index]!; at < starts[index + 1]!; at++) into[terms[at]!] = weights[at]!
}

export function unspread({ starts, terms }: Catalog, index: number, into: Float32Array): void {
  for (let at = starts[index]!; at < starts[index + 1]!; at++) into[terms[at]!] = 0
}

/** Similarity of a series to the dense vector, from 0 to 1. @param only terms that count */
export function likeness(
  { starts, terms, weights }: Catalog,
  index: number,
  other: Float32Array,
  only?: (term: number) => boolean,
): number {
  let sum = 0
  for (let at = starts[index]!; at < starts[index + 1]!; at++) {
    const term = terms[at]!
    if (only === undefined || only(term)) sum += weights[at]! * other[term]!
  }
  return Math.min(sum, 1)
}
