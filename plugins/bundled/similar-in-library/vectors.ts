import { WORD_BUCKETS } from './words.ts'

/** Kinds of terms, by number. */
export const FIELDS = ['word', 'person', 'genre', 'tag', 'language'] as const
export type Field = (typeof FIELDS)[number]
const WORD = FIELDS.indexOf('word')
const PERSON = FIELDS.indexOf('person')
/**
 * The weight of each kind of term. People weigh most, and there are few of them; words are many and each weighs little.
 * Every kind is divided by the square root of its number of terms in a series, so that forty tags do not outweigh its author.
 */
const FIELD_WEIGHTS: Readonly<Record<Field, number>> = { word: 0.9, person: 1, genre: 0.9, tag: 1, language: 0.5 }

/** The most significant words of a series. */
const WORDS_KEPT = 40
/** A term in a larger share of the library does not distinguish anything. */
const SHARE_MAX = 0.4
/** In a library smaller than this, two tastes may be half of everything each, so frequent terms still distinguish; rarity lowers their weight anyway. */
const SMALL = 100
/** The weight of missing metadata, as a term that nothing shares: series without metadata are similar to nothing instead of to each other. */
const UNKNOWN = 0.7
const TIMES_MAX = 255

/** The terms of all series in sequence: below WORD_BUCKETS words, from there on names, whose kinds are in `fieldOfName`. */
interface CountedTerms {
  terms: Uint32Array
  /** How often each occurs in its series. */
  times: Uint8Array
  /** The start of each series, and the end of the last. */
  starts: Uint32Array
  fieldOfName: Uint8Array
}

/** The terms of series n are from `starts[n]` to `starts[n + 1]`; the length of its weights is at most 1. */
export interface Vectors {
  starts: Uint32Array
  terms: Uint32Array
  weights: Float32Array
  /** One more than the largest term: terms of a single series have no number. */
  termsEnd: number
  isPerson(term: number): boolean
}

/** The number of series that have each term. */
export function countSpread({ terms, starts, fieldOfName }: CountedTerms): Uint32Array {
  const spread = new Uint32Array(WORD_BUCKETS + fieldOfName.length)
  const end = starts[starts.length - 1]!
  for (let at = 0; at < end; at++) spread[terms[at]!]! += 1
  return spread
}

/** The rarity of each term, up to 1; 0 for terms without information: a term of a single series connects it with nothing. */
function raritiesOf(spread: Uint32Array, size: number): Float32Array {
  const most = size > SMALL ? size * SHARE_MAX : size
  const rarest = Math.log(size + 1)
  const rarities = new Float32Array(spread.length)
  for (let term = 0; term < spread.length; term++) {
    const has = spread[term]!
    if (has > 1 && has <= most) rarities[term] = Math.log((size + 1) / has) / rarest
  }
  return rarities
}

/** Weighs terms by rarity. Overwrites its input, which is never shorter: a large library has no room for both. */
export function weighTerms(counted: CountedTerms, spread: Uint32Array): Vectors {
  const { terms, times, starts, fieldOfName } = counted
  const size = starts.length - 1
  const rarities = raritiesOf(spread, size)
  const often = Float32Array.from({ length: TIMES_MAX + 1 }, (_, count) => 1 + Math.log(Math.max(count, 1)))
  const weights = new Float32Array(starts[size]!)
  const ends = new Uint32Array(size + 1)
  /** Renumbers the terms without gaps: comparing needs a dense array of all of them. */
  const numbers = new Uint32Array(spread.length)
  const isPerson: boolean[] = []
  const counts = new Uint32Array(FIELDS.length)
  const scales = new Float32Array(FIELDS.length)
  const words = new Float32Array(starts.reduce((longest, start, index) => Math.max(longest, (starts[index + 1] ?? start) - start), 0))
  let to = 0
  for (let index = 0; index < size; index++) {
    const [from, end] = [starts[index]!, starts[index + 1]!]
    counts.fill(0)
    for (let at = from; at < end; at++) {
      const term = terms[at]!
      const weight = rarities[term]! * often[times[at]!]!
      weights[at] = weight
      if (weight === 0) continue
      const field = term < WORD_BUCKETS ? WORD : fieldOfName[term - WORD_BUCKETS]!
      if (field === WORD) words[counts[WORD]!] = weight
      counts[field]! += 1
    }
    // Keeps the terms above the least, and as many equal to it as there is room for.
    let least = 0
    let room = counts[WORD]!
    if (room > WORDS_KEPT) {
      const sorted = words.subarray(0, room).sort()
      least = sorted[room - WORDS_KEPT]!
      room = WORDS_KEPT
      for (let at = sorted.length - 1; sorted[at]! > least; at--) room -= 1
      counts[WORD] = WORDS_KEPT
    }
    for (const [field, name] of FIELDS.entries()) scales[field] = FIELD_WEIGHTS[name] / Math.sqrt(counts[field]!)
    let square = UNKNOWN ** 2
    const begin = to
    for (let at = from; at < end; at++) {
      const weight = weights[at]!
      if (weight === 0) continue
      const term = terms[at]!
      const field = term < WORD_BUCKETS ? WORD : fieldOfName[term - WORD_BUCKETS]!
      if (field === WORD && (weight < least || (weight === least && room-- <= 0))) continue
      if (numbers[term] === 0) numbers[term] = isPerson.push(field === PERSON)
      terms[to] = numbers[term]! - 1
      weights[to] = weight * scales[field]!
      square += weights[to]! ** 2
      to += 1
    }
    const length = Math.sqrt(square)
    for (let at = begin; at < to; at++) weights[at]! /= length
    ends[index + 1] = to
  }
  return { starts: ends, terms, weights, termsEnd: isPerson.length, isPerson: (term) => isPerson[term] === true }
}
