import { type Dirent, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { isForeignFolder } from '#core/foundation/foreign-folder.ts'
import { type OpenFolder, openFolderSync } from '#core/foundation/open-inside.ts'
import { isAmongRuns } from '#core/scan/layouts/decide-folder.ts'
import { parentOf } from '#core/scan/layouts/folder-name.ts'
import { CALIBRE_DATABASE } from '#core/scan/layouts/place-tree.ts'
import { isBookName, type NameFilter } from '#core/scan/set-files.ts'

/** Where a walk begins. A walk lists no folder above it, and of several walks that share a library, only the first one lists its files. */
interface FirstFolder {
  root: string
  /** Relative to the root. */
  start: string
  /** Called before each look at the disk. */
  onCall: () => void
}

/** The beginning of the paths in a folder; '' for the root. */
export const prefixOf = (folder: string): string => (folder === '' ? '' : `${folder}/`)

/** By name, so that concurrent walks agree on the share of each folder even while folders appear and disappear. */
export function shareOf(name: string, of: number): number {
  let sum = 0
  for (let at = 0; at < name.length; at++) sum = (sum * 31 + name.charCodeAt(at)) % 65_521
  return sum % of
}

/** The first folder and those above it that hold the database of Calibre, with `/` at their end; '' is the root. */
export function listCalibreAbove({ root, start, onCall }: FirstFolder): string[] {
  const found: string[] = []
  for (let folder = start; ; folder = parentOf(folder)) {
    onCall()
    const database = lstatSync(join(root, folder, CALIBRE_DATABASE), { throwIfNoEntry: false })
    if (database?.isFile()) found.push(prefixOf(folder))
    if (folder === '') return found
  }
}

/** Whether the first folder is among runs of a publisher. */
export function isFirstAmongRuns({ root, start, onCall }: FirstFolder, filter: NameFilter): boolean {
  if (start === '') return false
  const above = parentOf(start)
  let opened: OpenFolder | null = null
  onCall()
  try {
    opened = openFolderSync(realpathSync.native(join(root, above)))
    const { folders, hasBooks } = namesIn(readdirSync(opened.path, { withFileTypes: true }), prefixOf(above), filter)
    return !hasBooks && isAmongRuns(folders)
  } catch {
    // It may be entered, but not listed: then only its publisher is not known.
    return false
  } finally {
    opened?.close()
  }
}

/** The names of the folders in a folder, and whether it holds books, as far as names tell. @param prefix its path with `/` at its end; '' for the root */
export function namesIn(entries: readonly Dirent[], prefix: string, filter: NameFilter): { folders: string[]; hasBooks: boolean } {
  const isKept = ({ name }: Dirent) => !isForeignFolder(name) && !filter.isExcluded(prefix, name)
  return {
    folders: entries.filter((entry) => entry.isDirectory() && isKept(entry)).map(({ name }) => name),
    hasBooks: entries.some((entry) => entry.isFile() && isBookName(prefix, entry.name, filter)),
  }
}
