import { stemOf } from '#core/fields/book-format.ts'

/** Describes the series of its folder. */
export const SERIES_FILE = 'series.json'
/** Describe the only book of a folder, in any number of formats. */
export const FOLDER_FILES = { comicInfo: 'ComicInfo.xml', opf: 'metadata.opf', cover: 'cover.jpg' } as const

/** The files that describe one book. */
export const bookFiles = (stem: string) => ({ comicInfo: `${stem}.xml`, opf: `${stem}.opf` })

/** Whether a file may describe a book or a series; whether it does depends on the books beside it. */
export const isSidecarName = (name: string): boolean => /\.(?:opf|xml)$|^(?:cover\.jpg|series\.json)$/i.test(name)

/**
 * Finds the file of a name among those of a folder; without it one that differs in case alone, as in archives.
 * @param stems of the books of the folder: a file of exactly that name describes one of them and no other
 */
export function fileFinder(names: readonly string[], stems: ReadonlySet<string>): (wanted: string) => string | undefined {
  const alike = Map.groupBy(names, (name) => name.toLowerCase())
  return (wanted) => {
    const same = alike.get(wanted.toLowerCase()) ?? []
    return same.find((name) => name === wanted) ?? same.find((name) => stemOf(name) === stemOf(wanted) || !stems.has(stemOf(name)))
  }
}

/**
 * Which of these files describe what: the book of that name, else the only one of the folder, or the series; the others are left out. In the order of
 * the files, which the recorded versions of several depend on.
 */
export function describedBy(sidecars: readonly string[], books: readonly string[]): { name: string; stem: string | null }[] {
  const stems = new Set(books.map(stemOf))
  const find = fileFinder(sidecars, stems)
  const ofFolder = (name: string) => (stems.size === 1 ? find(name) : undefined)
  const found = [...stems].flatMap((stem) => {
    const own = bookFiles(stem)
    const names = [
      find(own.comicInfo) ?? ofFolder(FOLDER_FILES.comicInfo),
      find(own.opf) ?? ofFolder(FOLDER_FILES.opf),
      ofFolder(FOLDER_FILES.cover),
    ]
    return names.flatMap((name) => (name === undefined ? [] : { name, stem }))
  })
  const series = find(SERIES_FILE)
  const order = new Map(sidecars.map((name, index) => [name, index]))
  const placeOf = ({ name }: { name: string }) => order.get(name) as number
  return [...found, ...(series === undefined ? [] : [{ name: series, stem: null }])].sort((a, b) => placeOf(a) - placeOf(b))
}
