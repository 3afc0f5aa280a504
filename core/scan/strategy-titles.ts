import type { LibraryRow } from '#core/catalog/library-store.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { titleOfFileName } from '#core/fields/file-name.ts'
import type { fieldsOfPlaced } from '#core/fields/placed-values.ts'
import { toNameText } from '#core/foundation/name-text.ts'
import { matchGroups } from '#core/scan/layouts/match-patterns.ts'
import { type CustomTitleConfig, fillTemplate, type SeriesNameConfig } from '#core/scan/naming-config.ts'

/** Digits of volumes and chapters in titles that are made of them. */
const VOLUME_DIGITS = 2
const CHAPTER_DIGITS = 3

interface NamedBook {
  fileName: string
  seriesTitle: string
  fields: Pick<ReturnType<typeof fieldsOfPlaced>, 'volume' | 'chapter' | 'number'>
}

/** Titles by the strategy of a library, in the order of the books; null for those that the strategy names by their file or its metadata. */
export async function strategyTitles(
  rules: Rules,
  { book_strategy: strategy, book_config: config }: Pick<LibraryRow, 'book_strategy' | 'book_config'>,
  books: readonly NamedBook[],
): Promise<(string | null)[]> {
  if (strategy === 'series_name') return books.map((book) => titleBySeries(book, config as SeriesNameConfig | null))
  if (strategy !== 'custom' || config === null) return books.map(() => null)
  const { pattern, titleTemplate, fallback } = config as CustomTitleConfig
  const names = books.map(({ fileName }) => titleOfFileName(fileName))
  const matches = await matchGroups(rules, pattern, names)
  return books.map((book, index) => {
    const groups = matches[index]
    const title = groups ? toNameText(fillTemplate(titleTemplate, groups)) : 'Untitled'
    if (title !== 'Untitled') return title
    return fallback === 'series_name' ? titleBySeries(book, null) : null
  })
}

/** "Saga v.01 c.001"; null for a book without any number. */
function titleBySeries({ seriesTitle, fields }: NamedBook, config: SeriesNameConfig | null): string | null {
  const { volume, chapter, number } = fields
  const parts = [
    volume === null ? null : `v.${padded(volume, config?.volumePadding ?? VOLUME_DIGITS)}`,
    chapter === null ? null : `c.${padded(chapter, config?.chapterPadding ?? CHAPTER_DIGITS)}`,
    volume === null && chapter === null && number !== null ? `#${number}` : null,
  ].filter((part) => part !== null)
  return parts.length === 0 ? null : [seriesTitle, ...parts].join(' ')
}

/** Pads the whole part: 1.5 becomes 001.5. */
const padded = (number: number, digits: number): string => String(number).replace(/^\d+/, (whole) => whole.padStart(digits, '0'))
