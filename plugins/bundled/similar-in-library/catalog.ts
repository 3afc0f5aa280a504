import { normalizeText } from '../../../plugin-sdk/text.ts'
import type { LibraryEntry } from '../../../plugin-sdk/types.ts'
import { countSpread, FIELDS, type Field, type Vectors, weighTerms } from './vectors.ts'
import { eachWord, WORD_BUCKETS } from './words.ts'

/** What is kept of a series for comparison: its words are in the vectors; its description is not kept. */
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
  /** The user's rating, 1 to 100. */
  rating: number | null
  /** Milliseconds; 0 for never. */
  lastReadAt: number
  addedAt: number
  /** 0 to 100. */
  communityRating: number | null
  readers: number
}

/** The library as vectors. */
export interface Catalog extends Vectors {
  series: Series[]
  /** The number of series with this name. */
  countOf(field: Field, name: string): number
}

/** Terms per series; more come from spam in the fields, which costs time. */
const COUNT_MAX = { person: 12, genre: 24, tag: 48, word: 100, language: 1 } as const
const NAME_LENGTH_MAX = 200
const TITLE_LENGTH_MAX = 200
/** Characters of a description: its subject comes first, and reading is most of the work. */
const TEXT_LENGTH_MAX = 600
/** A word in the title counts as many times as in the description. */
const TITLE_WORD = 2
/** Limit for hostile libraries: names beyond it are ignored. */
const NAMES_MAX = 200_000

/** The old and the new array exist at the same time, and both must fit. */
const GROWTH = 1.5

/** The terms of all series in sequence, with their counts, in growing arrays. */
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

/** A name in any spelling has one key; a tag and a genre have different ones. */
const keyOf = (field: Field, name: string) =>
  `${field}:${normalizeText(name, NAME_LENGTH_MAX, 'NFKC').toLowerCase().replace(/\s+/g, ' ').trim()}`

/** Reads a library page by page, and weighs the terms at the end. */
export class CatalogBuilder {
  readonly #series: Series[] = []
  readonly #names = new Map<string, number>()
  readonly #fieldOfName: number[] = []
  readonly #found = openTerms()
  readonly #starts: number[] = [0]

  add(entries: readonly LibraryEntry[]): void {
    for (const entry of entries) {
      const series = seriesOf(entry)
      this.#series.push(series)
      for (const [term, times] of this.#termsOf(series, entry)) this.#found.add(term, times)
      this.#starts.push(this.#found.length())
    }
  }

  close(): Catalog {
    const counted = {
      terms: this.#found.terms(),
      times: this.#found.times(),
      starts: Uint32Array.from(this.#starts),
      fieldOfName: Uint8Array.from(this.#fieldOfName),
    }
    const spread = countSpread(counted)
    return {
      ...weighTerms(counted, spread),
      series: this.#series,
      countOf: (field, name) => spread[this.#names.get(keyOf(field, name)) ?? spread.length] ?? 0,
    }
  }

  /** The terms of one series, with their counts. */
  #termsOf(series: Series, { language, summary }: LibraryEntry): Map<number, number> {
    const own = new Map<number, number>()
    const addNames = (field: Field, names: readonly string[]) => {
      for (const name of names) {
        const term = this.#termOf(field, name)
        if (term !== null) own.set(term, 1)
      }
    }
    addNames('person', series.authors)
    addNames('genre', series.genres)
    addNames('tag', series.tags)
    if (typeof language === 'string') addNames('language', [language.split('-')[0]!.slice(0, 8)])
    const named = own.size
    const word = (times: number) => (bucket: number) => {
      const before = own.get(bucket)
      if (before !== undefined || own.size - named < COUNT_MAX.word) own.set(bucket, (before ?? 0) + times)
    }
    eachWord(series.title, TITLE_LENGTH_MAX, word(TITLE_WORD))
    if (typeof summary === 'string') eachWord(summary, TEXT_LENGTH_MAX, word(1))
    return own
  }

  #termOf(field: Field, name: string): number | null {
    const key = keyOf(field, name)
    const known = this.#names.get(key)
    if (known !== undefined) return known
    if (this.#names.size >= NAMES_MAX) return null
    const term = WORD_BUCKETS + this.#fieldOfName.length
    this.#names.set(key, term)
    this.#fieldOfName.push(FIELDS.indexOf(field))
    return term
  }
}
