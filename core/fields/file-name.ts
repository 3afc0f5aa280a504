import { stemOf } from '#core/fields/book-format.ts'
import { numbersInName } from '#core/fields/name-numbers.ts'
import { toNameText } from '#core/foundation/name-text.ts'

/** What the name of a file says about a book. */
export interface NamedBook {
  title: string
  /** Null when the name holds only numbers and markers. */
  series: string | null
  /** May be fractional, as in "v1.5"; rows store whole volumes only. */
  volume: number | null
  chapter: number | null
  /** Place in the series. */
  number: number | null
  /** A special, an annual or a side story, which stands beside the numbered books. */
  isSpecial: boolean
  /** Four digits. */
  year: number | null
}

/** The title from a file's name: a text that users may enter too; never empty. */
export const titleOfFileName = (fileName: string): string => toNameText(stemOf(fileName))

/**
 * Reads a file name with its extension.
 * @param where.folder name of the folder that is known to be the series: digits in it are none of the book
 */
export function readFileName(fileName: string, _where: { folder?: string } = {}): NamedBook {
  const { number, volume, chapter } = numbersInName(stemOf(fileName))
  const series = stemOf(fileName)
    .split(/ ?[([#]| - |\d/)[0]
    ?.trim()
  return { title: titleOfFileName(fileName), series: series || null, volume, chapter, number, isSpecial: false, year: null }
}

/** The fields of a book that its file name gives. */
export function fieldsOfFileName(fileName: string): Pick<NamedBook, 'title' | 'number' | 'volume' | 'chapter'> {
  const { title, number, volume, chapter } = readFileName(fileName)
  return { title, number, volume: Number.isInteger(volume) ? volume : null, chapter }
}
