import { stemOf } from '#core/fields/book-format.ts'
import { readFileName } from '#core/fields/file-name.ts'
import {
  hasCalibreId,
  isCollection,
  isOneshotsName,
  isRun,
  isSideName,
  nameOfFolder,
  type PartMark,
  parentOf,
  partMark,
  seriesKey,
} from '#core/scan/layouts/folder-name.ts'
import { type FolderWords, wordsWith } from '#core/scan/layouts/folder-words.ts'

/**
 * What `auto` decides from the files of a folder, and keeps: a folder of one book of a Calibre library, several series in one folder, one series, or the books
 * of a person, which only the metadata of the books can tell from a series. `persons` waits for it, and for the task that moves books to their series.
 */
type FolderKind = 'calibre' | 'bundle' | 'series' | 'persons' | 'author'

export interface FolderDecision {
  kind: FolderKind
  /** The folder above is a publisher. */
  isPublished: boolean
}

/** What a walk knows of a folder with books. */
export interface FolderFacts {
  /** Relative to the root; '' is the root itself. */
  folder: string
  /** Of its books. */
  names: readonly string[]
  hasOpf: boolean
  /** Whether the folder above, or one above it, holds a `metadata.db`. */
  isBelowCalibre: boolean
  /** Whether the folder above has no books, and at least two folders with a year in brackets. */
  isAmongRuns: boolean
}

/** Of the books: a folder with one series and some guests is no bundle. */
const SHARE_MAX = 4 / 5
/** Fewer could be one series with a misspelled name. */
const NUMBERED_MIN = 2
/** A bundle has two such names. Of fewer books, nothing is decided for good. */
export const BUNDLE_MIN = 2 * NUMBERED_MIN
/** Those of all languages: a walk does not know what a library adds. */
const WORDS = wordsWith(undefined)

export function decideFolder(facts: FolderFacts): FolderDecision {
  return { kind: kindOf(facts), isPublished: facts.isAmongRuns && mayHavePublisher(facts) }
}

/** The folder above the runs of one series, or above the books of a person, is no publisher. */
function mayHavePublisher({ folder, names }: FolderFacts): boolean {
  const above = wordsOf(nameOfFolder(parentOf(folder)))
  return !`${wordsOf(nameOfFolder(folder))} `.startsWith(`${above} `) && !names.every(isEbook)
}

/** What the decision for a folder says whose books belong to a folder above: only whether they are those of several series. */
export const partDecision = ({ kind }: FolderDecision): FolderDecision => ({
  kind: kind === 'bundle' ? 'bundle' : 'series',
  isPublished: false,
})

function kindOf({ folder, names, hasOpf, isBelowCalibre }: FolderFacts): FolderKind {
  if (folder === '') return sharedNames(names).size > 0 ? 'bundle' : 'series'
  const name = nameOfFolder(folder)
  // A series of several files may have an id or a year at its end, and a file that describes it.
  if (hasCalibreId(name) && (hasOpf || isBelowCalibre) && new Set(names.map(stemOf)).size === 1) return 'calibre'
  if (isBundle(names, folder)) return 'bundle'
  return isPersons(names) ? 'persons' : 'series'
}

/** Without any of these, a name has no number; reading it takes a thousand times as long as this test. */
const NUMBERED = /[\p{N}上中下]/u

/** Reads the series in the names of files of one folder; of names that are equal up to their first number only one, because reading takes a while. */
export class SeriesNames {
  readonly #byStart = new Map<string, string | null>()

  read(name: string): string | null {
    const start = startOf(name)
    if (start === null) return readFileName(name).series
    const known = this.#byStart.get(start)
    if (known !== undefined) return known
    const { series } = readFileName(name)
    this.#byStart.set(start, series)
    return series
  }
}

/** What stands before the first number; null without a number, or without a letter before it. */
function startOf(name: string): string | null {
  const start = name.slice(0, Math.max(0, name.search(/\p{N}/u)))
  return /\p{L}/u.test(start) ? start.toLowerCase() : null
}

/** The keys of series names that at least two files have. */
export function sharedNames(names: readonly string[]): Set<string> {
  const seen = new Set<string>()
  const shared = new Set<string>()
  const reader = new SeriesNames()
  for (const name of names) {
    const series = reader.read(name)
    if (series === null) continue
    const key = seriesKey(series)
    if (seen.has(key)) shared.add(key)
    seen.add(key)
  }
  return shared
}

/** The files of one name in a folder. */
interface NamedFiles {
  key: string
  count: number
  numbered: number
  numbers: Set<number>
  /** Whether each of the numbered files is a chapter, and the name that of a group, as in "Group_Vol.1 Ch.2". */
  isOfGroup: boolean
}

/** Programs that download chapters put the group that made them in front. With underscores for all spaces, a name is that of a series. */
const GROUP = /^([^_]+)_\p{L}{2,20}[. ]/u

function listNames(names: readonly string[]): NamedFiles[] {
  const found = new Map<string, NamedFiles>()
  for (const name of names) {
    const { series, number, volume, chapter } = readFileName(name)
    if (series === null) continue
    const key = seriesKey(series)
    const files: NamedFiles = found.get(key) ?? { key, count: 0, numbered: 0, numbers: new Set(), isOfGroup: true }
    found.set(key, files)
    files.count++
    const place = chapter ?? number ?? volume
    if (place === null) continue
    files.numbered++
    files.numbers.add(place)
    files.isOfGroup &&= chapter !== null && seriesKey(GROUP.exec(name)?.[1] ?? '') === key
  }
  return [...found.values()]
}

/** Whether the file names are those of several series, and none of them is that of the folder. */
function isBundle(names: readonly string[], folder: string): boolean {
  const most = largestStart(names)
  if (names.length < 2 || most === names.length) return false
  const { folder: owner, mayHoldSeries } = ownerOf(folder, WORDS)
  if (!mayHoldSeries && (names.length < BUNDLE_MIN || most > names.length * SHARE_MAX)) return false
  const found = listNames(names)
  const own = nameOfFolder(mayHoldSeries ? owner : folder)
  if (found.some(({ key, count }) => isLike(key, own) || (!mayHoldSeries && count > names.length * SHARE_MAX))) return false
  const several = found.filter(({ numbered }) => numbered >= NUMBERED_MIN)
  // Of one series, one group goes on where another has stopped.
  if (several.length >= 2) return !several.every(({ isOfGroup }) => isOfGroup) || haveEqualNumbers(several)
  const single = found.filter(({ numbered }) => numbered > 0)
  // A folder of one week or year may hold one issue of each series.
  return mayHoldSeries && (single.length >= BUNDLE_MIN || haveEqualNumbers(single))
}

/** Whether files with different names have the same number. */
function haveEqualNumbers(named: readonly NamedFiles[]): boolean {
  const numbers = named.flatMap((files) => [...files.numbers])
  return new Set(numbers).size < numbers.length
}

/** How many of the names are equal up to their first number: those are the names of one series. */
function largestStart(names: readonly string[]): number {
  const counts = new Map<string, number>()
  for (const name of names) {
    const start = startOf(name)
    if (start !== null) counts.set(start, (counts.get(start) ?? 0) + 1)
  }
  return [...counts.values()].reduce((most, count) => Math.max(most, count), 0)
}

/** At the beginning of a name; in the languages of most file names. */
const ARTICLE = /^(?:the|an?|der|die|das|les?|la|el|los|las|il|lo|gli|os?|as|de|het) (?=.)/

/** The words of a name, without the article in front. */
const wordsOf = (name: string): string =>
  seriesKey(name)
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()
    .replace(ARTICLE, '')

/** What dashes, colons and brackets divide. */
const sectionsOf = (name: string): string[] => name.split(/[()[\]{}]| [-–—] |: /).map(wordsOf)

/**
 * Whether two names may be those of one series: one begins with the other, or has it as a section, as in "Demon Slayer - Kimetsu no Yaiba". Of several
 * words, also elsewhere; one word, as in "Comics", may be one of many.
 */
export function isLike(one: string, other: string): boolean {
  const isIn = (name: string, whole: string) => {
    const words = wordsOf(name)
    if (words === '') return false
    const at = ` ${wordsOf(whole)} `.indexOf(` ${words} `)
    return at === 0 || (at > 0 && words.includes(' ')) || sectionsOf(whole).includes(words)
  }
  return seriesKey(one) === seriesKey(other) || isIn(one, other) || isIn(other, one)
}

const isEbook = (name: string): boolean => /\.(?:epub|pdf)$/i.test(name)

const isPersons = (names: readonly string[]): boolean =>
  names.every((name) => {
    if (!isEbook(name)) return false
    if (!NUMBERED.test(name)) return true
    const { number, volume, chapter } = readFileName(name)
    return number === null && volume === null && chapter === null
  })

/** What the metadata of a book says of its series and its writers. */
export interface KnownBook {
  named: string | null
  writers: readonly string[]
}

/** Fewer books that name the person of the folder could be a coincidence. */
const WRITER_SHARE_MIN = 4 / 5

/** Of a folder that waits for the metadata of its books: whether it holds the books of a person. Books that agree on a series are never split. */
export function decidePersons(folder: string, books: readonly KnownBook[]): FolderKind {
  const named = Map.groupBy(
    books.flatMap(({ named }) => named ?? []),
    seriesKey,
  )
  if ([...named.values()].some((same) => same.length * 2 > books.length)) return 'series'
  const person = personKey(nameOfFolder(folder))
  const theirs = books.filter(({ writers }) => writers.some((writer) => personKey(writer) === person))
  return books.length > 0 && theirs.length >= books.length * WRITER_SHARE_MIN ? 'author' : 'series'
}

/** "Austen, Jane" and "Jane Austen" are one person. */
function personKey(name: string): string {
  const [last = '', first, ...rest] = seriesKey(name.replace(/[._]/g, ' ')).split(', ')
  return first === undefined || rest.length > 0 ? seriesKey(name.replace(/[._]/g, ' ')) : `${first} ${last}`
}

/** The folder whose series the books of another one belong to, by names alone. */
export interface Owner {
  folder: string
  /** From the folders between them, the innermost first. */
  marks: readonly PartMark[]
  isSide: boolean
  /** Each file is a series. */
  isOneshots: boolean
  /** All folders between them are those of years, dates and editions. */
  mayHoldSeries: boolean
}

/** What holds for the books of a folder. @param holdsSeries whether one of the folders of years and editions of the owner is a bundle: then all of them are */
export const decisionFor = (owner: Owner, own: FolderDecision | undefined, holdsSeries: boolean): FolderDecision | undefined =>
  owner.mayHoldSeries && holdsSeries ? { kind: 'bundle', isPublished: own?.isPublished ?? false } : own

/** The nearest folder above, or the folder itself, that is neither a part nor beside the others; a folder directly below the root always is one. */
export function ownerOf(folder: string, words: FolderWords): Owner {
  const marks: PartMark[] = []
  let isSide = false
  let areCollections = true
  let at = folder
  for (;;) {
    const [name, parent] = [nameOfFolder(at), parentOf(at)]
    if (isOneshotsName(name, words)) return { folder: at, marks, isSide, isOneshots: true, mayHoldSeries: false }
    if (parent === '') break
    const mark = partMark(name, nameOfFolder(parent), words)
    areCollections &&= mark === null || isCollection(name, nameOfFolder(parent), words)
    if (mark) marks.push(mark)
    else if (isSideName(name, nameOfFolder(parent), words)) isSide = true
    else break
    at = parent
  }
  return { folder: at, marks, isSide, isOneshots: false, mayHoldSeries: areCollections && !isSide && at !== folder }
}

/** Whether a folder above it is a publisher, by the names of the folders in that one. "Volume 1 (1940)" is a part of a series. */
export const isAmongRuns = (names: readonly string[]): boolean =>
  names.filter((name) => isRun(name) && !partMark(name, '', WORDS) && !isSideName(name, '', WORDS)).length >= 2
