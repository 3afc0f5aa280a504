import { readFileName } from '#core/fields/file-name.ts'
import { fieldsOfPlaced, type PlacedValues } from '#core/fields/placed-values.ts'
import { nameOfFolder, parentOf } from '#core/scan/layouts/folder-name.ts'

/** A book of a series, without those beside the numbered ones. */
export interface FileInSeries {
  /** Relative to the library. */
  path: string
  layoutValues: PlacedValues | null
}

/** One number that stands in two folders may be a book in two editions. */
const AGAIN_IN_FOLDER_MIN = 2
/** In two years it is two books. */
const AGAIN_IN_YEAR_MIN = 1

/**
 * Whether the numbers in the names of a series begin anew: in its folders with numbers ("Season 2", "2020"), or in the years that the names in its own folder
 * give ("2020-01"). By number, the first books of all parts would come before the second ones.
 * @param files in the natural order of their paths @param home the folder of the series
 */
export function hasRestarts(files: readonly FileInSeries[], home: string): boolean {
  const numbered = files.flatMap(({ path, layoutValues }) => {
    const fileName = nameOfFolder(path)
    const { restarts: _, ...values } = layoutValues ?? {}
    const { number } = fieldsOfPlaced(fileName, { layoutValues: values, isSide: false })
    return number === null ? [] : { number, folder: parentOf(path), year: readFileName(fileName).year }
  })
  const inParts = numbered.filter(({ folder }) => folder !== home && /\p{N}/u.test(nameOfFolder(folder)))
  const inYears = numbered.filter(({ folder, year }) => folder === home && year !== null)
  return (
    beginsAnew(
      inParts.map(({ folder, number }) => ({ part: folder, number })),
      AGAIN_IN_FOLDER_MIN,
    ) ||
    beginsAnew(
      inYears.map(({ year, number }) => ({ part: String(year), number })),
      AGAIN_IN_YEAR_MIN,
    )
  )
}

/** Whether more than half of the numbers of a part stand in earlier ones. Not where the order of the files mixes the parts. */
function beginsAnew(files: readonly { part: string; number: number }[], againMin: number): boolean {
  const parts: { part: string; numbers: number[] }[] = []
  for (const { part, number } of files) {
    const last = parts.at(-1)
    if (last?.part === part) last.numbers.push(number)
    else parts.push({ part, numbers: [number] })
  }
  if (new Set(parts.map(({ part }) => part)).size < parts.length) return false
  const before = new Set<number>()
  for (const { numbers } of parts) {
    const again = numbers.filter((number) => before.has(number)).length
    if (again >= againMin && again * 2 > numbers.length) return true
    for (const number of numbers) before.add(number)
  }
  return false
}
