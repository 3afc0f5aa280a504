import type { SeriesHints } from '#core/metadata/embedded.ts'
import type { Author, Field } from '#core/metadata/field.ts'
import { NAME_LENGTH_MAX, NAMES_MAX, nameKey } from '#core/metadata/name.ts'
import type { BookHints } from '#core/metadata/series-aggregate-store.ts'
import { SERIES_FIELDS } from '#core/metadata/series-metadata.ts'

const fields: readonly Field[] = SERIES_FIELDS
/** Two books that differ are a pair; from three on a folder is a heap. */
const UNRELATED_MIN = 3

/** What the books of a series say of it together. */
interface Aggregate {
  said: SeriesHints
  /** The folder holds many titles that have nothing to do with each other. */
  unrelated: boolean
}

/** More than half: what one book of two says is not what they say together. */
const isMost = (count: number, total: number): boolean => count * 2 > total

/**
 * What the books say together. A file beside them knows best. Else a field is taken when more than half of all books that could say something give
 * the same value; a book that could name its series, and does not, counts against those that do. Where books name series and no name stands in more
 * than half of them, the folder holds unrelated titles and nothing is taken at all.
 * What differs from book to book by its nature (summary, year, genres, tags, further titles, links) is taken from books that belong together: most
 * name one series, or, where none names any, most have a person in common. Of other books only what most of them have.
 * @param books those that say something, in reading order
 * @param total those that could: all that are there and can be read, or will be
 */
export function aggregateBooks(books: readonly BookHints[], total: number): Aggregate {
  const sidecar = books.map(({ embedded }) => embedded?.seriesSidecar).find((hint) => hint !== undefined)
  const names = books.flatMap(({ embedded }) => embedded?.series?.fields?.title ?? []) as string[]
  const named = mostCommon(names, nameKey)
  const authors = commonAuthors(books, total)
  const agrees = total === 1 || (named ? isMost(named.count, total) : authors.length > 0)
  if (named && !isMost(named.count, total))
    return { said: sidecar ? { ...NOTHING_SAID, ...sidecar } : NOTHING_SAID, unrelated: !sidecar && total >= UNRELATED_MIN }
  const havePeople = isMost(books.filter((book) => book.authors && book.authors.length > 0).length, total)
  return {
    said: sayTogether(books, { total, agrees: agrees || sidecar !== undefined, sidecar, title: named?.value, authors }),
    unrelated: !sidecar && !agrees && havePeople && total >= UNRELATED_MIN,
  }
}

const NOTHING_SAID: SeriesHints = { fields: {}, genres: [], tags: [], alternateTitles: [], links: [] }

interface Together {
  total: number
  /** Whether the books belong together. */
  agrees: boolean
  sidecar: SeriesHints | undefined
  title: string | undefined
  authors: Author[]
}

function sayTogether(books: readonly BookHints[], { total, agrees, sidecar, title, authors }: Together): SeriesHints {
  const hints = books.flatMap(({ embedded }) => embedded?.series ?? [])
  const own = <Name extends 'publisher' | 'imprint' | 'languageIso' | 'summary' | 'year'>(name: Name) =>
    books.filter(({ sources }) => sources[name] === 'embedded').flatMap((book) => book[name] ?? [])
  const agreed = <Value>(values: readonly Value[]): Value | undefined => {
    const found = mostCommon(values, (value) => JSON.stringify(value))
    return found && isMost(found.count, total) ? found.value : undefined
  }
  const hinted = fields.map(({ name }) => [name, agreed(hints.flatMap((hint) => hint.fields?.[name as keyof typeof hint.fields] ?? []))])
  const years = own('year')
  const told = {
    publisher: agreed(own('publisher')),
    imprint: agreed(own('imprint')),
    language: agreed(own('languageIso')),
    // The first book introduces the series, and the series began with the earliest.
    summary: agrees ? own('summary')[0] : undefined,
    year: agrees && years.length > 0 ? Math.min(...years) : undefined,
    authors: authors.length > 0 ? authors : undefined,
  }
  const known = (values: object) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
  /** All entries of books that belong together, of others those that most of them have. */
  const listed = <Entry>(listOf: (book: BookHints) => readonly Entry[], keyOf: (entry: Entry) => string): Entry[] => {
    const lists = books.map(listOf)
    return agrees ? lists.flat() : saidByMost(lists, keyOf, total)
  }
  const namesOf = (what: 'genres' | 'tags') =>
    uniqueNames([
      ...(sidecar?.[what] ?? []),
      ...listed(({ embedded }) => [...(embedded?.series?.[what] ?? []), ...(embedded?.[what] ?? [])], nameKey),
    ])
  const titleKey = ({ label, title }: { label: string; title: string }) => JSON.stringify([label, title])
  const linkKey = ({ source }: { source: string }) => source
  return {
    // Of the spellings of one name the one that is there most often.
    fields: { ...known(told), ...known(Object.fromEntries(hinted)), ...known({ title }), ...sidecar?.fields },
    genres: namesOf('genres'),
    tags: namesOf('tags'),
    alternateTitles: firstOf(
      [...(sidecar?.alternateTitles ?? []), ...listed(({ embedded }) => embedded?.series?.alternateTitles ?? [], titleKey)],
      titleKey,
    ),
    links: firstOf([...(sidecar?.links ?? []), ...listed(({ embedded }) => embedded?.series?.links ?? [], linkKey)], linkKey),
  }
}

function saidByMost<Entry>(lists: readonly (readonly Entry[])[], keyOf: (entry: Entry) => string, total: number): Entry[] {
  const counts = new Map<string, number>()
  for (const list of lists) for (const key of new Set(list.map(keyOf))) counts.set(key, (counts.get(key) ?? 0) + 1)
  return lists.flat().filter((entry) => isMost(counts.get(keyOf(entry)) ?? 0, total))
}

const uniqueNames = (names: readonly string[]): string[] =>
  [...new Set(names)].slice(0, NAMES_MAX).filter((name) => name.length <= NAME_LENGTH_MAX)

/** The value that is given most often, of equals the first, and how often; of its forms the one that is there most often. */
function mostCommon<Value>(values: readonly Value[], keyOf: (value: Value) => string): { value: Value; count: number } | null {
  const groups = [...Map.groupBy(values, keyOf).values()].sort((a, b) => b.length - a.length)
  const [group] = groups
  if (!group) return null
  const forms = [...Map.groupBy(group, (value) => JSON.stringify(value)).values()].sort((a, b) => b.length - a.length)
  return { value: forms[0]?.[0] as Value, count: group.length }
}

/** People whom most of the books name in the same role: a guest of one issue did not make the series. */
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
