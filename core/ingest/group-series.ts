import { stemOf } from '#core/metadata/file-name.ts'

/** The series that a file belongs to. `path`, relative to the library's root, is its identity: two folders of one name are two series. */
export interface SeriesPlace {
  path: string
  title: string
  oneshot: boolean
}

/**
 * The default strategy: a folder that holds books is a series, and a file in the root is one by itself.
 * @param relativePath path of the file below the library's root, with `/`
 */
export function seriesOf(relativePath: string): SeriesPlace {
  const slash = relativePath.lastIndexOf('/')
  if (slash === -1) return { path: relativePath, title: stemOf(relativePath), oneshot: true }
  const path = relativePath.slice(0, slash)
  return { path, title: path.slice(path.lastIndexOf('/') + 1), oneshot: false }
}

/** The title that the scan gave a series before any rule of the library, from its path alone. */
export const titleOfPlace = ({ path, oneshot }: Pick<SeriesPlace, 'path' | 'oneshot'>): string =>
  seriesOf(oneshot ? path : `${path}/`).title
