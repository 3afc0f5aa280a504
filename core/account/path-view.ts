import { basename } from 'node:path'
import type { Caller } from '#core/account/caller.ts'

/** A user who only reads books need not know the server's folders; a user who edits books looks for the files there. */
export const seesWholePaths = ({ permissions }: Pick<Caller, 'permissions'>): boolean => permissions.has('books-write')

/**
 * The path of a book's file as the caller may see it: absolute, or without the folder of its library.
 * @param file.path absolute, below `libraryPath`
 */
export function visibleFilePath(caller: Pick<Caller, 'permissions'>, { libraryPath, path }: { libraryPath: string; path: string }): string {
  if (seesWholePaths(caller)) return path
  const root = libraryPath.endsWith('/') ? libraryPath : `${libraryPath}/`
  return path.startsWith(root) ? path.slice(root.length) : basename(path)
}

/** The folder of a library as the caller may see it: absolute, or its name alone. */
export const visibleLibraryPath = (caller: Pick<Caller, 'permissions'>, path: string): string =>
  seesWholePaths(caller) ? path : basename(path)

/** Paths as our messages and the system's quote them; a name may contain the other quotation mark. */
const QUOTED_PATH = /"\/([^"\n]*)"|'\/([^'\n]*)'/g

/** An error message as the caller may read it: only the last part of absolute paths remains. */
export const visibleMessage = (caller: Pick<Caller, 'permissions'>, message: string): string =>
  seesWholePaths(caller)
    ? message
    : message.replace(
        QUOTED_PATH,
        (quoted, inner: string = '', other: string = '') => `${quoted[0]}${basename(inner || other)}${quoted[0]}`,
      )

/** {@link visibleFilePath} of books, for statements; the alias `books` is in scope. */
export const visibleFilePathSql = (isWhole: boolean): string =>
  isWhole
    ? 'books.path'
    : `(SELECT CASE WHEN starts_with(books.path, rtrim(l.path, '/') || '/') THEN substr(books.path, length(rtrim(l.path, '/')) + 2)
         ELSE books.file_name END FROM libraries l WHERE l.id = books.library_id)`

/** The note for schemas with {@link visibleFilePath}. */
export const FILE_PATH_NOTE =
  'Absolute path on the server for callers with the permission books-write; for everybody else relative to the folder of the library.'
