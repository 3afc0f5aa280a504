import { stemOf } from '#core/fields/book-format.ts'
import { numbersInName, ownNumber } from '#core/fields/name-numbers.ts'
import { seriesInName, specialAt } from '#core/fields/name-series.ts'
import { type PlainName, toPlainName, YEAR_MARK } from '#core/fields/plain-name.ts'
import { toNameText } from '#core/foundation/name-text.ts'

/** What the name of a file says about a book. */
interface NamedBook {
  title: string
  /** Null when the name holds only numbers and markers. */
  series: string | null
  /** May be fractional, as in "v1.5"; rows store whole volumes only. */
  volume: number | null
  chapter: number | null
  /** Place in the series. */
  number: number | null
  /** A special, an annual or a side story, which is not one of the numbered books. */
  isSpecial: boolean
  /** Whether it is one that no number before the word places among the others, as in "v05 Extra". */
  isBeside: boolean
  /** Four digits. */
  year: number | null
}

/** The title from a file's name: a text that users may enter too; never empty. */
export const titleOfFileName = (fileName: string): string => toNameText(stemOf(fileName))

/**
 * Reads a file name with its extension.
 * @param where.folder name of the folder when it is the series: its digits, as in "Zom 100", are none of the book, and those behind it, as in
 * "Tintin 10 Title", are its number
 */
export function readFileName(fileName: string, { folder }: { folder?: string } = {}): NamedBook {
  const plain = toPlainName(stemOf(fileName))
  const name = folder === undefined ? '' : nameOf(folder)
  const prefix = prefixLength(plain.free, name)
  const [start, rest] = [plain.free.slice(0, prefix), plain.free.slice(prefix)]
  const behind = { ...plain, free: start.replace(/[^ ]/gu, 'x') + rest }
  // Words such as "Book" stay, because only with them the number of "Book 3" is a volume.
  const numbers = numbersInName(/\p{N}/u.test(start) ? behind : plain, ownNumber(plain.free, name))
  const series = prefix > 0 ? plain.free.slice(0, prefix).trim() : seriesInName(plain, numbers)
  const { number, volume, chapter, at } = numbers
  const special = specialAt(behind)
  return {
    title: titleOfFileName(fileName),
    series: series === null ? null : toNameText(series),
    volume,
    chapter,
    number,
    isSpecial: special !== null,
    isBeside: special !== null && (at === null || special <= at),
    year: yearIn(plain, at),
  }
}

/** The fields of a book that its file name gives. @param folder as of {@link readFileName} */
export function fieldsOfFileName(fileName: string, folder?: string): Pick<NamedBook, 'title' | 'number' | 'volume' | 'chapter'> {
  const { title, number, volume, chapter } = readFileName(fileName, { ...(folder !== undefined && { folder }) })
  return { title, number, volume: Number.isInteger(volume) ? volume : null, chapter }
}

/** The name of a folder without its brackets. */
function nameOf(folder: string): string {
  const parts = toPlainName(folder).free.split(YEAR_MARK)
  return (parts.find((part) => part.trim() !== '') ?? '').trim().toLowerCase()
}

/** Of the beginning that is the name of the folder; 0 when the file is named otherwise. */
function prefixLength(free: string, name: string): number {
  const at = free.search(/[^ \u0001]/)
  const end = at + name.length
  const isPrefix = name !== '' && at !== -1 && free.slice(at, end).toLowerCase() === name && !/^[\p{L}\d.]/u.test(free.slice(end, end + 2))
  return isPrefix ? end : 0
}

const YEAR = /(?<!\d)(?:19[3-9]\d|20[0-3]\d)(?!\d)/

/** A year in brackets behind the number is that of the book; one before it that of the series. */
function yearIn({ free, groups, dateYear }: PlainName, at: number | null): number | null {
  const dated = groups.filter(({ text }) => YEAR.test(text))
  const group = dated.find((one) => one.at > (at ?? 0)) ?? dated[0]
  const bare = /(?<=[^ ] (?:[-–—] )?|\d-)(?:19[3-9]\d|20[0-3]\d)(?=$| |年|-|\.(?!\d))/.exec(free)
  const found = (group ? YEAR.exec(group.text) : null) ?? bare
  return found && (group || found.index !== at) ? Number(found[0]) : dateYear
}
