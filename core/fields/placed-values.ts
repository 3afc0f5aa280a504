import { fieldsOfFileName } from '#core/fields/file-name.ts'

/** What the names of folders, or the pattern of its library, say about a book. */
export interface PlacedValues {
  volume?: number
  chapter?: number
  number?: number
  title?: string
  /** The title by the strategy of its library, where that does not take it from the file. */
  strategyTitle?: string
}

/** What a row of a book keeps of it. */
export interface PlacedBook {
  layoutValues: PlacedValues | null
  /** Beside the numbered books of its series, so that only its metadata can number it. */
  isSide: boolean
}

const ALONE: PlacedBook = { layoutValues: null, isSide: false }

/** The fields of a book that its names give: those of its file, and of the folders around it. */
export function fieldsOfPlaced(fileName: string, { layoutValues, isSide }: PlacedBook = ALONE): ReturnType<typeof fieldsOfFileName> {
  const { strategyTitle, ...values } = layoutValues ?? {}
  const fields = { ...fieldsOfFileName(fileName), ...values, ...(strategyTitle !== undefined && { title: strategyTitle }) }
  return isSide ? { ...fields, number: null } : fields
}

/** Folders give what the name of the file does not; like there, the most exact number is the place in the series. */
export function missingValues(fileName: string, placed: PlacedValues): PlacedValues | null {
  const named = fieldsOfFileName(fileName)
  const values: PlacedValues = {
    ...(named.volume === null && placed.volume !== undefined && { volume: placed.volume }),
    ...(named.chapter === null && placed.chapter !== undefined && { chapter: placed.chapter }),
  }
  const number = values.chapter ?? values.volume
  if (number === undefined) return null
  return named.number === null ? { ...values, number } : values
}
