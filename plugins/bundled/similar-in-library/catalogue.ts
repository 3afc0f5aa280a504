import { normalizeText } from '../../../plugin-sdk/text.ts'
import type { LibraryEntry } from '../../../plugin-sdk/types.ts'
import { countSpread, FIELDS, type Field, type Vectors, weighTerms } from './vectors.ts'
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

/** A library as vectors. */
export interface Catalogue extends Vectors {
  series: Series[]
  /** How many series have a name. */
  countOf(field: Field, name: string): number
}

/** Of one series; more than these belong to whoever fills fields with rubbish, and rubbish costs time. */
const COUNT_MAX = { person: 12, genre: 24, tag: 48, word: 100, language: 1 } as const
const NAME_LENGTH_MAX = 200
const TITLE_LENGTH_MAX = 200
/** Of a description: what it is about stands in front, and reading is most of the work. */
const TEXT_LENGTH_MAX = 600
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
const keyOf = (field: Field, name: string) =>
  `${field}:${normalizeText(name, NAME_LENGTH_MAX, 'NFKC').toLowerCase().replace(/\s+/g, ' ').trim()}`

/** Takes a library in, page by page, and weighs its terms when all are known. */
export function openCatalogue(): { add(entries: readonly LibraryEntry[]): void; close(): Catalogue } {
  const series: Series[] = []
  const names = new Map<string, number>()
  const fieldOfName: number[] = []
  const found = openTerms()
  const starts: number[] = [0]

  const termOf = (field: Field, name: string): number | null => {
    const key = keyOf(field, name)
    const known = names.get(key)
    if (known !== undefined) return known
    if (names.size >= NAMES_MAX) return null
    names.set(key, WORD_BUCKETS + fieldOfName.length)
    fieldOfName.push(FIELDS.indexOf(field))
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
      const counted = {
        terms: found.terms(),
        times: found.times(),
        starts: Uint32Array.from(starts),
        fieldOfName: Uint8Array.from(fieldOfName),
      }
      const spread = countSpread(counted)
      return {
        ...weighTerms(counted, spread),
        series,
        countOf: (field, name) => spread[names.get(keyOf(field, name)) ?? spread.length] ?? 0,
      }
    },
  }
}
