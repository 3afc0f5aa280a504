import { realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import type { Knex } from 'knex'
import { folderOf, realLibraryPath } from '#core/catalog/library-folder.ts'
import type { LibraryRow } from '#core/catalog/library-store.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { refuseValue } from '#core/foundation/errors.ts'
import { isForeignFolder } from '#core/foundation/foreign-folder.ts'
import { isInTargets } from '#core/foundation/open-inside.ts'
import { compileExcludes } from '#core/scan/glob.ts'
import { findBelow } from '#core/scan/missing-book-query.ts'

/** As long as the paths of books, see core/scan/scan-library.ts. */
export const SCAN_PATH_LENGTH_MAX = 2_500

/** Errors of a path at which no file is, or can be. */
const GONE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'])

/**
 * The folder of a scan of a part, relative to the library; '' for all of it. A path of a file is its folder; one that does not exist any more is allowed
 * if books are recorded there.
 * @throws invalid_value for a path that leads out of the library, through a link, or to nothing
 */
export async function checkScanPath(database: Knex, library: LibraryRow, given: string): Promise<string> {
  const fail = (message: string): never => refuseValue('/path', message)
  if (given === '.') return ''
  if (given.includes('\0')) fail('A path cannot contain a NUL character.')
  if (isAbsolute(given)) fail('The path must be relative to the folder of the library, such as "Manga/Saga".')
  const parts = given.replace(/\/$/, '').split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) fail('The path may not contain empty parts, "." or "..".')
  const path = parts.join('/')
  const place = `${library.path}/${path}`
  const root = await realLibraryPath(library.path)
  const real = await askDisk(library.path, () => realpath(place)).catch((error: NodeJS.ErrnoException) => error)
  if (real instanceof Error) {
    if (real.code === 'ELOOP') return fail(`"${path}" is a link, or leads through one, that leads back to itself.`)
    // Of what the server may not read, the scan says so.
    if (!GONE.has(String(real.code))) return path
    const found = await findBelow(database, library.id, place)
    if (found === null) return fail(`There is no "${path}" in the library, and no book is recorded there.`)
    return found === place ? folderOf(library.path, place) : path
  }
  if (real !== `${root}/${path}` && !isInTargets(real, library.link_targets))
    fail(`"${path}" is a link, or leads through one; it does not lead to a link target of the library.`)
  const isFolder = await askDisk(library.path, () => stat(place)).then(
    (facts) => facts.isDirectory(),
    // It is gone again: what was a file is in its folder, which the scan looks at.
    () => false,
  )
  const folder = isFolder ? path : dirname(path).replace(/^\.$/, '')
  const isExcluded = compileExcludes(library.excluded_patterns)
  const folders = folder === '' ? [] : folder.split('/')
  folders.forEach((name, index) => {
    const prefix = folders.slice(0, index).map((above) => `${above}/`)
    if (isForeignFolder(name) || isExcluded(prefix.join(''), name))
      fail(`Scans of this library leave out "${folders.slice(0, index + 1).join('/')}".`)
  })
  return folder
}

/** Whether the folder is the part or is in it. @param part '' for the whole library */
export const isInPart = (part: string, folder: string): boolean => part === '' || folder === part || folder.startsWith(`${part}/`)
