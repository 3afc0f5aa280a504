import type { LibraryEntry } from '../../../plugin-sdk/types.ts'
import { eachWord, WORD_BUCKETS } from './words.ts'

/** What is kept of a series while it is compared: its words are in the vectors, and its description is not kept. */
export interface Series {
  id: string
  title: string
  year: number | null
  status: string | null
  genres: string[]
  tags: string[]
  authors: string[]
  bookCount: number
  booksRead: number
  booksStarted: number
  /** Of the reader, 1 to 100. */
  rating: number | null
  /** Milliseconds; 0 for never. */
  lastReadAt: number
  addedAt: number
  /** 0 to 100. */
  communityRating: number | null
  readers: number
}

/** A library as vectors: of each series the terms in `terms` and `weights` from `starts[n]` to `starts[n + 1]`. None is longer than 1. */
export interface Catalogue {
  series: Series[]
  starts: Uint32Array
  terms: Uint32Array
  weights: Float32Array
  /** One more than the largest term: those that join nothing have no number. */
  termsEnd: number
  isPerson(term: number): boolean
  /** How many series have a name. */
  countOf(field: Field, name: string): number
}

/**
 * How much each kind of term says. People weigh most by themselves, and there are few of them; words are many and each is little.
 * Every kind is divided by the root of how many terms a series has of it, so that forty tags do not drown its author.
 */
const FIELDS = { person: 1, genre: 0.9, tag: 1, word: 0.9, language: 0.5 } as const
type Field = keyof typeof FIELDS

/** Of one series; more than these belong to whoever fills fields with rubbish, and rubbish costs time. */
const COUNT_MAX = { person: 12, genre: 24, tag: 48, word: 100, language: 1 } as const
const TERMS_MAX = Object.values(COUNT_MAX).reduce((sum: number, most) => sum + most, 0)
/** Of the words those that say most. */
const WORDS_KEPT = 40
const NAME_LENGTH_MAX = 200
const TITLE_LENGTH_MAX = 200
/** Of a description: what it is about stands in front, and reading is most of the work. */
const TEXT_LENGTH_MAX = 600
/** A term in more of the library than this tells nothing apart. */
const SHARE_MAX = 0.4
const SMALL = 10
/** What is not known of a series, as if it had a term that nobody shares: bare ones are like nothing instead of like each other. */
const UNKNOWN = 0.7
/** A word in the title counts as often as this many in the description. */
const TITLE_WORD = 2
/** Of hostile libraries: names beyond these are no terms. */
const NAMES_MAX = 200_000

/** Old and new space are there at a time, and together they must fit. */
const GROWTH = 1.5

/** Terms of all series one after the other, with how often each stands there, in a space that grows. */
function openTerms(): { add(term: number, times: number): void; terms(): Uint32Array; times(): Uint8Array; length(): number } {
  let terms = new Uint32Array(1 << 16)
  let times = new Uint8Array(1 << 16)
  let length = 0
  return {
    add(term, often) {
      if (length === terms.length) {
        const [moreTerms, moreTimes] = [new Uint32Array(length * GROWTH), new Uint8Array(length * GROWTH)]
        moreTerms.set(terms)
        moreTimes.set(times)
        terms = moreTerms
        times = moreTimes
      }
      terms[length] = term
      times[length++] = Math.min(often, 255)
    },
    terms: () => terms,
    times: () => times,
    length: () => length,
  }
}

const texts = (value: unknown, countMax: number): string[] =>
  Array.isArray(value)
    ? value
        .filter((entry): entry is string => typeof entry === 'string' && entry.trim() !== '' && entry.length <= NAME_LENGTH_MAX)
        .slice(0, countMax)
    : []
const count = (value: unknown): number => (typeof value === 'number' && value > 0 ? Math.floor(value) : 0)
const percent = (value: unknown): number | null => (typeof value === 'number' ? Math.min(Math.max(value, 0), 100) : null)
const moment = (value: unknown): number => (typeof value === 'string' ? Date.parse(value) || 0 : 0)

function seriesOf(entry: LibraryEntry): Series {
  const { seriesId, title = '', year, status, bookCount, booksRead, booksStarted, rating } = entry
  return {
    id: seriesId,
    title: title.replace(/\s+/g, ' ').trim().slice(0, TITLE_LENGTH_MAX).toWellFormed(),
    year: typeof year === 'number' ? year : null,
    status: status ?? null,
    genres: texts(entry.genres, COUNT_MAX.genre),
    tags: texts(entry.tags, COUNT_MAX.tag),
    authors: texts(entry.authors, COUNT_MAX.person),
    bookCount: count(bookCount),
    booksRead: count(booksRead),
    booksStarted: Math.max(count(booksStarted), count(booksRead)),
    rating: percent(rating),
    lastReadAt: moment(entry.lastReadAt),
    addedAt: moment(entry.addedAt),
    communityRating: percent(entry.communityRating),
    readers: count(entry.readers),
  }
}

/** The same name however it is written; a tag is no genre. */
const keyOf = (field: Field, name: string) => `${field}:${name.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()}`

/** What a word must weigh to be among the ones that are kept. */
function leastWord(terms: Uint32Array, weights: Float32Array): number {
  const words = weights.slice(0, terms.length).filter((weight, at) => weight > 0 && terms[at]! < WORD_BUCKETS)
  return words.length <= WORDS_KEPT ? 0 : words.sort()[words.length - WORDS_KEPT]!
}

/** Takes a library in, page by page, and weighs its terms when all are known. */
export function openCatalogue(): { add(entries: readonly LibraryEntry[]): void; close(): Catalogue } {
  const series: Series[] = []
  const names = new Map<string, number>()
  const fieldOfName: Field[] = []
  const found = openTerms()
  const starts: number[] = [0]

  const termOf = (field: Field, name: string): number | null => {
    const key = keyOf(field, name)
    const known = names.get(key)
    if (known !== undefined) return known
    if (names.size >= NAMES_MAX) return null
    names.set(key, WORD_BUCKETS + fieldOfName.length)
    fieldOfName.push(field)
    return WORD_BUCKETS + fieldOfName.length - 1
  }

  return {
    add(entries) {
      for (const entry of entries) {
        const one = seriesOf(entry)
        series.push(one)
        const own = new Map<number, number>()
        const name = (field: Field, given: readonly string[]) => {
          for (const text of given) {
            const term = termOf(field, text)
            if (term !== null) own.set(term, 1)
          }
        }
        name('person', one.authors)
        name('genre', one.genres)
        name('tag', one.tags)
        if (typeof entry.language === 'string') name('language', [entry.language.split('-')[0]!.slice(0, 8)])
        const named = own.size
        const word = (times: number) => (bucket: number) => {
          const before = own.get(bucket)
          if (before !== undefined || own.size - named < COUNT_MAX.word) own.set(bucket, (before ?? 0) + times)
        }
        eachWord(one.title, TITLE_LENGTH_MAX, word(TITLE_WORD))
        if (typeof entry.summary === 'string') eachWord(entry.summary, TEXT_LENGTH_MAX, word(1))
        for (const [term, times] of own) found.add(term, times)
        starts.push(found.length())
      }
    },

    close() {
      const terms = found.terms()
      const times = found.times()
      const length = found.length()
      const termsFound = WORD_BUCKETS + fieldOfName.length
      const fieldOf = (term: number): Field => (term < WORD_BUCKETS ? 'word' : fieldOfName[term - WORD_BUCKETS]!)
      const spread = new Uint32Array(termsFound)
      for (let at = 0; at < length; at++) spread[terms[at]!]! += 1
      const size = series.length
      const rarest = Math.log(size + 1)
      // What only one series has joins it with nothing. In a library of a handful everything is frequent.
      const spreadMax = size > SMALL ? size * SHARE_MAX : size
      const weigh = (term: number, often: number): number => {
        const has = spread[term]!
        return has < 2 || has > spreadMax ? 0 : (Math.log((size + 1) / has) / rarest) * (1 + Math.log(often))
      }

      // The vectors are written over what they are made from, for they are never longer: a large library has no room for both.
      const weights = new Float32Array(length)
      const ends = new Uint32Array(size + 1)
      /** Terms anew, without gaps: a row of all of them is what vectors are compared in. */
      const numbers = new Uint32Array(termsFound)
      const isPerson: boolean[] = []
      const own = new Float32Array(TERMS_MAX)
      let to = 0
      for (let index = 0; index < size; index++) {
        const from = starts[index]!
        const many = starts[index + 1]! - from
        const counts: Record<Field, number> = { person: 0, genre: 0, tag: 0, word: 0, language: 0 }
        for (let at = 0; at < many; at++) {
          own[at] = weigh(terms[from + at]!, times[from + at]!)
          if (own[at]! > 0) counts[fieldOf(terms[from + at]!)] += 1
        }
        const least = leastWord(terms.subarray(from, from + many), own)
        counts.word = Math.min(counts.word, WORDS_KEPT)
        let wordsLeft = counts.word
        let square = UNKNOWN ** 2
        const begin = to
        for (let at = 0; at < many; at++) {
          const term = terms[from + at]!
          const field = fieldOf(term)
          if (own[at] === 0 || (field === 'word' && (own[at]! < least || wordsLeft-- <= 0))) continue
          if (numbers[term] === 0) numbers[term] = isPerson.push(field === 'person')
          terms[to] = numbers[term]! - 1
          weights[to] = (own[at]! * FIELDS[field]) / Math.sqrt(counts[field])
          square += weights[to]! ** 2
          to += 1
        }
        const whole = Math.sqrt(square)
        for (let at = begin; at < to; at++) weights[at]! /= whole
        ends[index + 1] = to
      }
      return {
        ...{ series, starts: ends, terms, weights, termsEnd: isPerson.length },
        isPerson: (term) => isPerson[term] === true,
        countOf: (field, name) => spread[names.get(keyOf(field, name)) ?? termsFound] ?? 0,
      }
    },
  }
}
