import { stemOf } from '#core/fields/book-format.ts'

/** Describes the series of its folder. */
export const SERIES_FILE = 'series.json'
/** Describe the only book of a folder, in any number of formats. */
export const FOLDER_FILES = { comicInfo: 'ComicInfo.xml', opf: 'metadata.opf', cover: 'cover.jpg' } as const
const FOLDER_NAMES = new Set<string>(Object.values(FOLDER_FILES))

/** The files that describe one book. */
export const bookFiles = (stem: string) => ({ comicInfo: `${stem}.xml`, opf: `${stem}.opf` })

/** Whether a file may describe a book or a series; whether it does depends on the books beside it. */
export const isSidecarName = (name: string): boolean =>
  name.endsWith('.opf') || name.endsWith('.xml') || name === FOLDER_FILES.cover || name === SERIES_FILE

/** Which of these files describe what: the only book of the folder, or the one of that name; the others are left out. */
export function describedBy(sidecars: readonly string[], books: readonly string[]): { name: string; stem: string | null }[] {
  const stems = new Set(books.map(stemOf))
  const [only] = stems.size === 1 ? stems : []
  return sidecars.flatMap((name) => {
    if (name === SERIES_FILE) return { name, stem: null }
    if (FOLDER_NAMES.has(name)) return only === undefined ? [] : { name, stem: only }
    const stem = stemOf(name)
    return stems.has(stem) ? { name, stem } : []
  })
}
