import type { Dirent } from 'node:fs'
import { formatOfName } from '#core/fields/book-format.ts'
import { isSidecarName } from '#core/fields/sidecar.ts'
import { isForeignFolder, isHiddenName, isIncompleteName } from '#core/foundation/foreign-folder.ts'
import type { Excludes } from '#core/scan/glob.ts'
import { CALIBRE_DATABASE } from '#core/scan/layouts/place-tree.ts'

/** Why a file or folder is no book of the library. */
export const LEFT_OUT_REASONS = ['excluded', 'format', 'hidden', 'link', 'set', 'incomplete', 'not_utf8'] as const
export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number]

/** Whether a link with this name may lead to a book or a folder of books: it has no extension of another file. */
export const isBookOrFolder = (name: string): boolean => formatOfName(name) !== null || !/\.[a-z][a-z0-9]{0,4}$/i.test(name)

/** Null for books, and for files that describe books. */
export function reasonToLeaveOut(
  prefix: string,
  entry: Pick<Dirent, 'name' | 'isDirectory' | 'isSymbolicLink'>,
  { allowed, isExcluded }: { allowed: ReadonlySet<string> | null; isExcluded: Excludes },
): LeftOutReason | null {
  const { name } = entry
  const format = formatOfName(name)
  if (name.includes('\uFFFD')) return 'not_utf8'
  if (!entry.isDirectory() && isIncompleteName(name)) return 'incomplete'
  if (isHiddenName(name)) return 'hidden'
  if (entry.isSymbolicLink()) return isBookOrFolder(name) ? 'link' : null
  if (entry.isDirectory() ? isForeignFolder(name) || isExcluded(prefix, name) : format !== null && isExcluded(prefix, name))
    return 'excluded'
  if (entry.isDirectory() || isSidecarName(name) || name === CALIBRE_DATABASE) return null
  return format === null || (allowed !== null && !allowed.has(format)) ? 'format' : null
}
