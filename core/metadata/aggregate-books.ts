import type { SeriesHints } from '#core/fields/embedded.ts'
import type { Author, Field } from '#core/fields/field.ts'
import { SERIES_FIELDS } from '#core/fields/series-metadata.ts'
import { NAMES_MAX, nameKey, TAXONOMY_NAME_LENGTH_MAX } from '#core/metadata/name.ts'
import type { BookHints } from '#core/metadata/series-aggregate-store.ts'

const fields: readonly Field[] = SERIES_FIELDS
/** Two different books may be a pair; three or more count as a folder of unrelated titles. */
const UNRELATED_MIN = 3

/** The metadata that the books of a series share. */
interface Aggregate {
  /** Values for the series. */
  hints: SeriesHints
  /** The folder contains many unrelated titles. */
  unrelated: boolean
}

/** More than half: one of two books is not a majority. */
const isMost = (count: number, total: number): boolean => count * 2 > total

/**
 * Aggregates the metadata of books. A sidecar file for the series has priority. Otherwise a value counts if more than half of all books that could have
 * one agree; a book without a series name counts against those with one. If books name series, but no name has a majority, the folder has
 * unrelated titles and only the age rating is aggregated, which is the highest of all books in every case: it decides who sees them. Fields that naturally differ between books (summary, year, genres, tags, alternate titles,
 * links) are aggregated from all books that belong together: most name one series or, if no book names a series, most share a person. From
 * other books, only the values of a majority count.
 * @param books those with metadata, in reading order
 * @param sidecar the metadata of the series in a file beside them
 * @param total all books that exist and can be read, or have not been analyzed yet
 */
export function aggregateBooks(books: readonly BookHints[], { total, sidecar }: { total: number; sidecar: SeriesHints | null }): Aggregate {
  const names = books.flatMap(({ embedded }) => embedded?.series?.fields?.title ?? []) as string[]
  const named = mostCommon(names, nameKey)
  const authors = commonAuthors(books, total)
  const agrees = total === 1 || (named ? isMost(named.count, total) : authors.length > 0)
  const ageRating = highestAge(books)
  if (named && !isMost(named.count, total)) {
    const fields = { ...(ageRating !== undefined && { ageRating }), ...sidecar?.fields }
    return { hints: { ...NO_HINTS, ...sidecar, fields }, unrelated: !sidecar && total >= UNRELATED_MIN }
  }
  const havePeople = isMost(books.filter((book) => book.authors && book.authors.length > 0).length, total)
  return {
    hints: mergeHints(books, { total, agrees: agrees || sidecar !== null, sidecar, title: named?.value, authors, ageRating }),
    unrelated: !sidecar && !agrees && havePeople && total >= UNRELATED_MIN,
  }
}

const NO_HINTS: SeriesHints = { fields: {}, genres: [], tags: [], alternateTitles: [], links: [] }

interface Agreement {
  total: number
  /** Whether the books belong together. */
  agrees: boolean
  sidecar: SeriesHints | null
  title: string | undefined
  authors: Author[]
  ageRating: number | undefined
}

const highestAge = (books: readonly BookHints[]): number | undefined =>
  books.flatMap(({ embedded }) => embedded?.series?.fields?.ageRating ?? []).sort((a, b) => b - a)[0]

function mergeHints(books: readonly BookHints[], { total, agrees, sidecar, title, authors, ageRating }: Agreement): SeriesHints {
  const hints = books.flatMap(({ embedded }) => embedded?.series ?? [])
  const own = <Name extends 'publisher' | 'imprint' | 'languageIso' | 'summary' | 'year'>(name: Name) =>
    books.filter(({ sources }) => sources[name] === 'embedded').flatMap((book) => book[name] ?? [])
  const agreed = <Value>(values: readonly Value[]): Value | undefined => {
    const found = mostCommon(values, (value) => JSON.stringify(value))
    return found && isMost(found.count, total) ? found.value : undefined
  }
  const hinted = fields.map(({ name }) => [name, agreed(hints.flatMap((hint) => hint.fields?.[name as keyof typeof hint.fields] ?? []))])
  const years = own('year')
  const agreedFields = {
    publisher: agreed(own('publisher')),
    imprint: agreed(own('imprint')),
    language: agreed(own('languageIso')),
    // The first book introduces the series, and the earliest year is its beginning.
    summary: agrees ? own('summary')[0] : undefined,
    year: agrees && years.length > 0 ? Math.min(...years) : undefined,
    authors: authors.length > 0 ? authors : undefined,
  }
  const known = (values: object) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
  /** All entries of books that belong together; from other books, only the entries of a majority. */
  const listed = <Entry>(listOf: (book: BookHints) => readonly Entry[], keyOf: (entry: Entry) => string): Entry[] => {
    const lists = books.map(listOf)
    return agrees ? lists.flat() : entriesOfMost(lists, keyOf, total)
  }
  const namesOf = (what: 'genres' | 'tags') =>
    uniqueNames([
      ...(sidecar?.[what] ?? []),
      ...listed(({ embedded }) => [...(embedded?.series?.[what] ?? []), ...(embedded?.[what] ?? [])], nameKey),
    ])
  const titleKey = ({ label, title }: { label: string; title: string }) => JSON.stringify([label, title])
  const linkKey = ({ source }: { source: string }) => source
  return {
    // The most frequent spelling of each name.
    fields: { ...known(agreedFields), ...known(Object.fromEntries(hinted)), ...known({ title, ageRating }), ...sidecar?.fields },
    genres: namesOf('genres'),
    tags: namesOf('tags'),
    alternateTitles: firstOf(
      [...(sidecar?.alternateTitles ?? []), ...listed(({ embedded }) => embedded?.series?.alternateTitles ?? [], titleKey)],
      titleKey,
    ),
    links: firstOf([...(sidecar?.links ?? []), ...listed(({ embedded }) => embedded?.series?.links ?? [], linkKey)], linkKey),
  }
}

function entriesOfMost<Entry>(lists: readonly (readonly Entry[])[], keyOf: (entry: Entry) => string, total: number): Entry[] {
  const counts = new Map<string, number>()
  for (const list of lists) for (const key of new Set(list.map(keyOf))) counts.set(key, (counts.get(key) ?? 0) + 1)
  return lists.flat().filter((entry) => isMost(counts.get(keyOf(entry)) ?? 0, total))
}

const uniqueNames = (names: readonly string[]): string[] =>
  [...new Set(names)].slice(0, NAMES_MAX).filter((name) => name.length <= TAXONOMY_NAME_LENGTH_MAX)

/** The most frequent value with its count; the first one if several are equally frequent. In its most frequent spelling. */
function mostCommon<Value>(values: readonly Value[], keyOf: (value: Value) => string): { value: Value; count: number } | null {
  const groups = [...Map.groupBy(values, keyOf).values()].sort((a, b) => b.length - a.length)
  const [group] = groups
  if (!group) return null
  const forms = [...Map.groupBy(group, (value) => JSON.stringify(value)).values()].sort((a, b) => b.length - a.length)
  return { value: forms[0]?.[0] as Value, count: group.length }
}

/** People whom most books name in the same role; guests of single issues do not count. */
function commonAuthors(books: readonly BookHints[], total: number): Author[] {
  const counts = new Map<string, { author: Author; count: number }>()
  for (const { authors } of books) {
    for (const author of authors ?? []) {
      const key = `${author.role}\0${author.name}`
      counts.set(key, { author, count: (counts.get(key)?.count ?? 0) + 1 })
    }
  }
  return [...counts.values()].filter(({ count }) => isMost(count, total)).map(({ author }) => author)
}

function firstOf<Entry>(entries: readonly Entry[], keyOf: (entry: Entry) => string): Entry[] {
  const seen = new Map<string, Entry>()
  for (const entry of entries) if (!seen.has(keyOf(entry))) seen.set(keyOf(entry), entry)
  return [...seen.values()]
}
