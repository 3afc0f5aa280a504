import { type Dirent, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { isSidecarName } from '#core/fields/sidecar.ts'
import { isForeignFolder } from '#core/foundation/foreign-folder.ts'
import { type OpenFolder, openFolderSync } from '#core/foundation/open-inside.ts'
import { readSidecars, versionOf } from '#core/scan/folder-digest.ts'
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
export function isFirstAmongRuns(first: FirstFolder, filter: NameFilter): boolean {
  if (first.start === '') return false
  const above = parentOf(first.start)
  const { folders, hasBooks } = namesIn(listEntries(first, above), prefixOf(above), filter)
  return !hasBooks && isAmongRuns(folders)
}

interface SeriesFileStep {
  kind: 'seriesFiles'
  item: { path: string; seriesFile: string | null }
}
/** Folders of series that a file described at the last scan. */
interface Described {
  described?: ReadonlySet<string> | undefined
}

/**
 * Yields the file for the series of a folder without books, or that there is none any more. Without a digest, because the series may be newer than the
 * file. In a folder that is empty, a disk may not be mounted.
 */
export function* seriesFileIn(
  { folder, real, sidecars, isEmpty }: { folder: string; real: string; sidecars: readonly string[]; isEmpty: boolean },
  { described, onCall }: Described & Pick<FirstFolder, 'onCall'>,
): Generator<SeriesFileStep, void> {
  const seriesFile = versionOf(readSidecars(real, sidecars, { books: [], onCall }))
  if (seriesFile !== null || (!isEmpty && described?.has(folder))) yield { kind: 'seriesFiles', item: { path: folder, seriesFile } }
}

/**
 * The files for series in folders above the first one that hold no books: with the first folder such a series may get its first book. A folder with books
 * is known with its file.
 */
export function* seriesFilesAbove(first: FirstFolder, known: NameFilter & Described): Generator<SeriesFileStep, void> {
  const { root, onCall } = first
  for (let folder = parentOf(first.start); folder !== ''; folder = parentOf(folder)) {
    const entries = listEntries(first, folder)
    if (namesIn(entries, prefixOf(folder), known).hasBooks) continue
    const sidecars = entries.filter((entry) => entry.isFile() && isSidecarName(entry.name)).map(({ name }) => name)
    const listed = { folder, real: join(root, folder), sidecars, isEmpty: entries.length === 0 }
    yield* seriesFileIn(listed, { described: known.described, onCall })
  }
}

/** What is in a folder above the first one; nothing if it may be entered, but not listed: then only what it says is not known. */
function listEntries({ root, onCall }: FirstFolder, folder: string): Dirent[] {
  let opened: OpenFolder | null = null
  onCall()
  try {
    opened = openFolderSync(realpathSync.native(join(root, folder)))
    return readdirSync(opened.path, { withFileTypes: true })
  } catch {
    return []
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
