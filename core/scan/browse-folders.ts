import type { Dirent } from 'node:fs'
import { access, constants, opendir, realpath, stat } from 'node:fs/promises'
import os from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import type { Knex } from 'knex'
import type { Static } from 'typebox'
import Type from 'typebox'
import type { Viewer } from '#core/account/visibility.ts'
import { listLibraryPaths } from '#core/catalog/library-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { isHiddenName } from '#core/foundation/foreign-folder.ts'
import { askDiskOf, isSilence, mountOf } from '#core/foundation/mounts.ts'
import { closeInside, isAtOrBelow, OutsideError, openFolderInside } from '#core/foundation/open-inside.ts'
import { Nullable } from '#core/foundation/schema.ts'
import { compareNames } from '#core/scan/walk-folders.ts'
import type { Settings } from '#core/settings/settings.ts'

/** Where people usually keep books, besides the folders of the libraries and the home folder. */
const USUAL_ROOTS = ['/media', '/mnt', '/srv']
/** More than anybody looks through; with more entries, a user types the path. */
const ENTRIES_MAX = 2_000
/** A folder with hundreds of thousands of files takes a second to read; folders beyond this are not listed. */
const READ_MAX = 200_000
/** Entries that are read concurrently: each is a call in the thread pool, which others need too. */
const AT_ONCE = 8

export const FileSystemEntry = Type.Object(
  { name: Type.String(), path: Type.String(), isDirectory: Type.Boolean(), isReadable: Type.Boolean() },
  { title: 'FileSystemEntry' },
)
export type FileSystemEntry = Static<typeof FileSystemEntry>

export const BrowsedFolder = Type.Object(
  {
    currentPath: Type.String(),
    parentPath: Nullable(Type.String(), { description: 'Null if the parent folder may not be browsed.' }),
    entries: Type.Array(FileSystemEntry, {
      description: `Folders first, by name; without hidden ones, devices and links that lead out of the allowed folders. At most ${ENTRIES_MAX}.`,
    }),
  },
  { title: 'BrowsedFolder' },
)
export type BrowsedFolder = Static<typeof BrowsedFolder>

/** What decides which folders the server uses; without roots, as by default, the usual ones. */
export type FolderSettings = Pick<Settings, 'dataFolder'> & Partial<Pick<Settings, 'filesystemRoots'>>

interface Dependencies {
  database: Knex
  settings: FolderSettings
}

/** The folders that may be browsed. */
interface AllowedFolders {
  /** As given, if they exist. */
  roots: string[]
  /** Whether a path without links may be browsed. */
  allows(realPath: string): boolean
}

async function readAllowedFolders({ database, settings }: Dependencies, caller: Viewer | null): Promise<AllowedFolders> {
  const usual = async () => [...(await listLibraryPaths(database, caller)).map(({ path }) => path), os.homedir(), ...USUAL_ROOTS]
  const { filesystemRoots = [] } = settings
  const named = filesystemRoots.length > 0 ? filesystemRoots : await usual()
  const data = await realpath(settings.dataFolder).catch(() => resolve(settings.dataFolder))
  const found = await Promise.all([...new Set(named)].map(async (root) => ({ root, real: await realRoot(root) })))
  const roots = found.flatMap(({ root, real }) => (real !== null && !isAtOrBelow(real, data) ? [{ root, real }] : []))
  return {
    roots: roots.map(({ root }) => root),
    allows: (path) => roots.some(({ real }) => isAtOrBelow(path, real)) && !isAtOrBelow(path, data),
  }
}

/** Null when it is not a folder. One whose disk does not answer may be browsed as well: then the answer says so. */
async function realRoot(root: string): Promise<string | null> {
  const looking = askDiskOf(root, async () => ((await stat(root)).isDirectory() ? await realpath(root) : null))
  return await looking.catch((error) => (isSilence(error) ? root : null))
}

/** Whether a path without links may be browsed. @param caller null for the operator at the command line */
export async function mayBrowse(dependencies: Dependencies, caller: Viewer | null, realPath: string): Promise<boolean> {
  return (await readAllowedFolders(dependencies, caller)).allows(realPath)
}

/** The folders where the search for a library begins. */
export async function listRootFolders(dependencies: Dependencies, caller: Viewer): Promise<FileSystemEntry[]> {
  const { roots } = await readAllowedFolders(dependencies, caller)
  const entries = await Promise.all(
    roots.map(async (path) => ({
      name: path,
      path,
      isDirectory: true,
      isReadable: await askDiskOf(path, () => isReadable(path, true)).catch(() => false),
    })),
  )
  return entries.sort((a, b) => compareNames(a.path, b.path))
}

/**
 * The entries of a folder.
 * @param wanted absolute; by default the home folder, or the first folder that may be browsed
 * @throws invalid_request for a path that is not absolute; forbidden outside of the roots; not_found; unavailable when it cannot be read
 */
export async function browseFolder(dependencies: Dependencies, caller: Viewer, wanted: string | undefined): Promise<BrowsedFolder> {
  const allowed = await readAllowedFolders(dependencies, caller)
  const home = os.homedir()
  const path = resolve(wanted ?? (allowed.allows(home) ? home : (allowed.roots[0] ?? home)))
  if (wanted !== undefined && (!isAbsolute(wanted) || wanted.includes('\0')))
    refuse('invalid_request', 'The path must be absolute, such as /srv/media.', {
      details: [{ path: '/path', message: 'is not absolute' }],
    })
  const isNamed = (one: string) => allowed.allows(one) || allowed.roots.some((root) => isAtOrBelow(one, root))
  // Before any access to the disk: a caller must not learn whether other paths exist.
  if (!isNamed(path))
    refuse('forbidden', `"${path}" is outside of the folders that may be browsed: ${allowed.roots.join(', ') || 'there are none'}.`)
  const opening = askDiskOf(
    path,
    () => openFolderInside(path, allowed.allows),
    (opened) => opened.close(),
  )
  const folder = await opening.catch((error: unknown) => refuseFolder(path, error))
  try {
    const entries = await readEntries(folder.path, path, allowed)
    const parent = dirname(path)
    return { currentPath: path, parentPath: parent !== path && isNamed(parent) ? parent : null, entries }
  } catch (error) {
    return refuseFolder(path, error)
  } finally {
    await closeInside(await mountOf(path), folder)
  }
}

function refuseFolder(path: string, error: unknown): never {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (
    error instanceof OutsideError ||
    code === 'ENOENT' ||
    code === 'ENOTDIR' ||
    code === 'ELOOP' ||
    code === 'ENAMETOOLONG' ||
    code === 'ENXIO'
  )
    refuse('not_found', `There is no folder "${path}" that may be browsed.`, { cause: error })
  if (code === 'EACCES' || code === 'EPERM')
    refuse('forbidden', `The server may not read "${path}": check its permissions.`, { cause: error })
  refuse('unavailable', isSilence(error) ? error.message : `The server cannot read "${path}" at the moment.`, { cause: error })
}

/** @param openPath the path of the open folder @param path its path for messages */
async function readEntries(openPath: string, path: string, allowed: AllowedFolders): Promise<FileSystemEntry[]> {
  const listed = await askDiskOf(path, () => listEntries(openPath))
  const entries: FileSystemEntry[] = []
  for (let start = 0; start < listed.length; start += AT_ONCE) {
    const next = listed.slice(start, start + AT_ONCE)
    const some = await askDiskOf(path, () =>
      Promise.all(next.map((entry) => describeEntry(join(openPath, entry.name), join(path, entry.name), entry, allowed))),
    )
    entries.push(...some.filter((entry) => entry !== null))
  }
  return entries.sort((a, b) => Number(b.isDirectory) - Number(a.isDirectory) || compareNames(a.name, b.name))
}

async function listEntries(openPath: string): Promise<Dirent[]> {
  const folders: Dirent[] = []
  const others: Dirent[] = []
  let read = 0
  for await (const entry of await opendir(openPath)) {
    if (++read > READ_MAX) break
    if (isHiddenName(entry.name)) continue
    const list = entry.isDirectory() ? folders : entry.isFile() || entry.isSymbolicLink() ? others : null
    if (list !== null && list.length < ENTRIES_MAX) list.push(entry)
  }
  return [...folders, ...others].slice(0, ENTRIES_MAX)
}

/** Null for entries that are not listed: a link to elsewhere or to nothing, and the data folder. */
async function describeEntry(openPath: string, path: string, entry: Dirent, allowed: AllowedFolders): Promise<FileSystemEntry | null> {
  const realPath = await realpath(openPath).catch(() => null)
  if (realPath === null || !allowed.allows(realPath)) return null
  const facts = entry.isSymbolicLink() ? await stat(realPath).catch(() => null) : entry
  if (facts === null || !(facts.isDirectory() || facts.isFile())) return null
  const isDirectory = facts.isDirectory()
  return { name: entry.name, path, isDirectory, isReadable: await isReadable(realPath, isDirectory) }
}

async function isReadable(path: string, isDirectory: boolean): Promise<boolean> {
  return await access(path, isDirectory ? constants.R_OK | constants.X_OK : constants.R_OK).then(
    () => true,
    () => false,
  )
}
