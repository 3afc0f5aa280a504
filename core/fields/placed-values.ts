import { fieldsOfFileName } from '#core/fields/file-name.ts'

/** What the names of folders, or the pattern of its library, say about a book. */
export interface PlacedValues {
  /** The name of the folder of its series, where that changes how the name of the file is read: "Zom 100 05" is the fifth book. */
  folder?: string
  volume?: number
  chapter?: number
  number?: number
  title?: string
  /** The title by the strategy of its library, where that does not take it from the file. */
  strategyTitle?: string
  /** The numbers of the names begin anew in the series, so that only its metadata or its position can number the book. */
  restarts?: true
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
  const { strategyTitle, folder, restarts, ...values } = layoutValues ?? {}
  const fields = { ...fieldsOfFileName(fileName, folder), ...values, ...(strategyTitle !== undefined && { title: strategyTitle }) }
  return isSide || restarts ? { ...fields, number: null } : fields
}

/** Folders give what the name of the file does not; like there, the most exact number is the place in the series. */
export function missingValues(fileName: string, { folder, ...placed }: PlacedValues): PlacedValues | null {
  const given = folder === undefined ? null : { folder }
  if (placed.volume === undefined && placed.chapter === undefined) return given
  const named = fieldsOfFileName(fileName, folder)
  const values: PlacedValues = {
    ...given,
    ...(named.volume === null && placed.volume !== undefined && { volume: placed.volume }),
    ...(named.chapter === null && placed.chapter !== undefined && { chapter: placed.chapter }),
  }
  const number = values.chapter ?? values.volume
  if (number === undefined) return given
  return named.number === null ? { ...values, number } : values
}
