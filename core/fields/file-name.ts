import { stemOf } from '#core/fields/book-format.ts'
import { numbersInName } from '#core/fields/name-numbers.ts'
import { toNameText } from '#core/foundation/name-text.ts'

/** The metadata of a book in the name of its file. */
type NamedBook = { title: string } & ReturnType<typeof numbersInName>

/** The title from a file's name: a text that users may enter too; never empty. */
export const titleOfFileName = (fileName: string): string => toNameText(stemOf(fileName))

/** Reads title, number, volume and chapter from a file name with its extension. */
export function readFileName(fileName: string): NamedBook {
  return { title: titleOfFileName(fileName), ...numbersInName(stemOf(fileName)) }
}
