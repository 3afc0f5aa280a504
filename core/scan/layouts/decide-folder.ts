import { stemOf } from '#core/fields/book-format.ts'
import { readFileName } from '#core/fields/file-name.ts'
import {
  hasCalibreId,
  isOneshotsName,
  isRun,
  isSideName,
  nameOfFolder,
  type PartMark,
  parentOf,
  partMark,
  seriesKey,
} from '#core/scan/layouts/folder-name.ts'
import type { FolderWords } from '#core/scan/layouts/folder-words.ts'

/**
 * What `auto` decides from the files of a folder, and keeps until the layout changes: a folder of one book of a Calibre library, several series in one
 * folder, one series, or the books of a person, which only the metadata of the books can tell from a series (`persons` waits for it).
 */
const FOLDER_KINDS = ['calibre', 'bundle', 'series', 'persons', 'author'] as const
type FolderKind = (typeof FOLDER_KINDS)[number]

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

export function decideFolder(facts: FolderFacts): FolderDecision {
  return { kind: kindOf(facts), isPublished: facts.isAmongRuns }
}

function kindOf({ folder, names, hasOpf, isBelowCalibre }: FolderFacts): FolderKind {
  if (folder === '') return sharedNames(names).size > 0 ? 'bundle' : 'series'
  const name = nameOfFolder(folder)
  // A series of several files may have an id or a year at its end, and a file that describes it.
  if (hasCalibreId(name) && (hasOpf || isBelowCalibre) && new Set(names.map(stemOf)).size === 1) return 'calibre'
  if (isBundle(names, name)) return 'bundle'
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

/** Whether the file names are those of several series, and none of them is that of the folder. */
function isBundle(names: readonly string[], folderName: string): boolean {
  if (names.length < 2 * NUMBERED_MIN || isOneStart(names)) return false
  const numbered = new Map<string, number>()
  const all = new Map<string, number>()
  for (const name of names) {
    const { series, number, volume, chapter } = readFileName(name)
    if (series === null) continue
    const key = seriesKey(series)
    all.set(key, (all.get(key) ?? 0) + 1)
    if (number !== null || volume !== null || chapter !== null) numbered.set(key, (numbered.get(key) ?? 0) + 1)
  }
  const own = seriesKey(folderName)
  const several = [...numbered].filter(([, count]) => count >= NUMBERED_MIN).map(([key]) => key)
  return several.length >= 2 && ![...all].some(([key, count]) => count > names.length * SHARE_MAX || isLike(key, own))
}

/** Whether nearly all names are equal up to their first number: then they are those of one series. */
function isOneStart(names: readonly string[]): boolean {
  const counts = new Map<string, number>()
  for (const name of names) {
    const start = startOf(name)
    if (start !== null) counts.set(start, (counts.get(start) ?? 0) + 1)
  }
  return [...counts.values()].some((count) => count > names.length * SHARE_MAX)
}

const isLike = (one: string, other: string): boolean => one === other || one.startsWith(`${other} `) || other.startsWith(`${one} `)

const isPersons = (names: readonly string[]): boolean =>
  names.every((name) => {
    if (!/\.(?:epub|pdf)$/i.test(name)) return false
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
}

/** The nearest folder above, or the folder itself, that is neither a part nor beside the others; a folder directly below the root always is one. */
export function ownerOf(folder: string, words: FolderWords): Owner {
  const marks: PartMark[] = []
  let isSide = false
  let at = folder
  for (;;) {
    const [name, parent] = [nameOfFolder(at), parentOf(at)]
    if (isOneshotsName(name, words)) return { folder: at, marks, isSide, isOneshots: true }
    if (parent === '') break
    const mark = partMark(name, nameOfFolder(parent), words)
    if (mark) marks.push(mark)
    else if (isSideName(name, nameOfFolder(parent), words)) isSide = true
    else break
    at = parent
  }
  return { folder: at, marks, isSide, isOneshots: false }
}

/** Whether a folder above it is a publisher, by the names of the folders in that one. */
export const isAmongRuns = (names: readonly string[]): boolean => names.filter(isRun).length >= 2
