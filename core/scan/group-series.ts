import { titleOfFileName } from '#core/fields/file-name.ts'
import { toNameText } from '#core/foundation/name-text.ts'

/** The series of a file. `path`, relative to the library's root, is its identity: two folders with the same name are two series. */
interface SeriesFolder {
  path: string
  title: string
  oneshot: boolean
}

/**
 * The default strategy: a folder with books is a series, and a file in the root is a series by itself.
 * @param relativePath path of the file below the library's root, with `/`
 */
export function seriesOf(relativePath: string): SeriesFolder {
  const slash = relativePath.lastIndexOf('/')
  if (slash === -1) return { path: relativePath, title: titleOfFileName(relativePath), oneshot: true }
  const path = relativePath.slice(0, slash)
  return { path, title: toNameText(path.slice(path.lastIndexOf('/') + 1)), oneshot: false }
}

/** The title of a series from its path alone, before any rule of the library. */
export const titleOfFolder = ({ path, oneshot }: Pick<SeriesFolder, 'path' | 'oneshot'>): string =>
  seriesOf(oneshot ? path : `${path}/`).title
