import { basename } from 'node:path'
import type { Caller } from '#core/account/caller.ts'

/** Who reads books need not know how the disks of the server are laid out; who edits them looks for the files there. */
export const seesWholePaths = ({ permissions }: Pick<Caller, 'permissions'>): boolean => permissions.has('books-write')

/**
 * The path of a book's file as the caller may see it: absolute, or without the folder of its library.
 * @param place.path absolute, below `libraryPath`
 */
export function shownFilePath(caller: Pick<Caller, 'permissions'>, { libraryPath, path }: { libraryPath: string; path: string }): string {
  if (seesWholePaths(caller)) return path
  const root = libraryPath.endsWith('/') ? libraryPath : `${libraryPath}/`
  return path.startsWith(root) ? path.slice(root.length) : basename(path)
}

/** The folder of a library as the caller may see it: absolute, or its name alone. */
export const shownLibraryPath = (caller: Pick<Caller, 'permissions'>, path: string): string =>
  seesWholePaths(caller) ? path : basename(path)

/** As messages of ours and of the system quote them; a name may hold the other quotation mark. */
const QUOTED_PATH = /"\/([^"\n]*)"|'\/([^'\n]*)'/g

/** What went wrong, as the caller may read it: of absolute paths the last part alone. */
export const shownMessage = (caller: Pick<Caller, 'permissions'>, message: string): string =>
  seesWholePaths(caller)
    ? message
    : message.replace(
        QUOTED_PATH,
        (quoted, inner: string = '', other: string = '') => `${quoted[0]}${basename(inner || other)}${quoted[0]}`,
      )

/** {@link shownFilePath} of books, for statements; the alias `books` is in scope. */
export const shownFilePathSql = (isWhole: boolean): string =>
  isWhole
    ? 'books.path'
    : `(SELECT CASE WHEN starts_with(books.path, rtrim(place.path, '/') || '/') THEN substr(books.path, length(rtrim(place.path, '/')) + 2)
         ELSE books.file_name END FROM libraries place WHERE place.id = books.library_id)`

/** What stands in schemas for {@link shownFilePath}. */
export const FILE_PATH_NOTE =
  'Absolute path on the server for callers with the permission books-write; for everybody else relative to the folder of the library.'
