import * as sync from 'node:fs'
import { constants, existsSync } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { askDisk } from '#core/foundation/disk-calls.ts'

/** A path that leads to something other than a regular file inside the folder. */
export class OutsideError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'OutsideError'
  }
}

/** Opening a pipe does not wait for a writer, and a symbolic link in place of the file is not followed. */
const FILE_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** On Linux, this folder gives the path of an open descriptor, even if the original path changes in the meantime. */
const DESCRIPTORS = existsSync('/proc/self/fd') ? '/proc/self/fd' : null

/** A file that must be inside a folder. */
interface InsideFile {
  root: string
  path: string
  /** Other folders that links may lead to, as paths without links. */
  linkTargets?: readonly string[] | undefined
}

/**
 * Opens a regular file for reading that really lies inside `root`. The check uses the path of the open descriptor, not the given path: replacing a
 * folder with a link in between gains nothing. Links that stay inside the root are allowed, and the root may be a link itself. A link in place of the
 * file is followed only into a link target.
 * @throws OutsideError for any other link, a device, a pipe, or a file elsewhere; the system's error when it cannot be opened
 */
export async function openInside(file: InsideFile, descriptors = DESCRIPTORS): Promise<FileHandle> {
  return await askDisk(
    file.root,
    () => openChecked(file, descriptors),
    (opened) => opened.close(),
  )
}

/**
 * Closes a file or folder of a library, whatever its disk does: while that does not answer, nobody waits for it longer than for any other call.
 * @param root the folder of the library, or what stands for its disk
 */
export async function closeInside(root: string, opened: { close(): Promise<void> }): Promise<void> {
  // At once, because a call that is refused would leave it open. What was only read loses nothing.
  const closing = opened.close().catch(() => {})
  await askDisk(root, () => closing).catch(() => {})
}

/** Opens a file of the server itself, in the folder of its path. @throws as {@link openInside} */
export const openOwnFile = (path: string): Promise<FileHandle> => openChecked({ root: dirname(path), path }, DESCRIPTORS)

async function openChecked({ root, path: given, linkTargets = [] }: InsideFile, descriptors: string | null): Promise<FileHandle> {
  const path = linkTargets.length > 0 ? followed(given, await realpath(given), linkTargets) : given
  const file = await open(path, FILE_FLAGS).catch((error) => refuseOpening(path, error))
  try {
    const opened = await file.stat()
    const [realRoot, realPath] = await Promise.all([realpath(root), descriptors ? readlink(`${descriptors}/${file.fd}`) : realpath(path)])
    const found = descriptors ? opened : await lstat(realPath)
    checkOpened({ root, path, opened, roots: [realRoot, ...linkTargets], realPath, found })
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** The synchronous version, for threads that have nothing else to do; returns the descriptor, which the caller closes. */
export function openInsideSync({ root, path: given, linkTargets = [] }: InsideFile, descriptors = DESCRIPTORS): number {
  const path = linkTargets.length > 0 ? followed(given, sync.realpathSync.native(given), linkTargets) : given
  let fd: number
  try {
    fd = sync.openSync(path, FILE_FLAGS)
  } catch (error) {
    return refuseOpening(path, error)
  }
  try {
    const opened = sync.fstatSync(fd)
    const realRoot = sync.realpathSync.native(root)
    const realPath = descriptors ? sync.readlinkSync(`${descriptors}/${fd}`) : sync.realpathSync.native(path)
    const found = descriptors ? opened : sync.lstatSync(realPath)
    checkOpened({ root, path, opened, roots: [realRoot, ...linkTargets], realPath, found })
    return fd
  } catch (error) {
    sync.closeSync(fd)
    throw error
  }
}

/** What `lstat` says of the path; of a link into a link target, what it says of the file there. */
export async function lstatInside({ root, path, linkTargets = [] }: InsideFile): Promise<sync.BigIntStats> {
  return await askDisk(root, async () => {
    const place = linkTargets.length > 0 ? followed(path, await realpath(path), linkTargets) : path
    return await lstat(place, { bigint: true })
  })
}

/** The synchronous version; undefined when there is nothing at the path. */
export function lstatInsideSync({ path, linkTargets = [] }: Omit<InsideFile, 'root'>): sync.BigIntStats | undefined {
  try {
    const place = linkTargets.length > 0 ? followed(path, sync.realpathSync.native(path), linkTargets) : path
    return sync.lstatSync(place, { bigint: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const isBelow = (path: string, folder: string) => path.startsWith(folder === '/' ? '/' : `${folder}/`)
export const isAtOrBelow = (path: string, folder: string): boolean => path === folder || isBelow(path, folder)

/** Whether a path without links is in one of the folders, or is one. */
export const isInTargets = (realPath: string, linkTargets: readonly string[]): boolean =>
  linkTargets.some((target) => isAtOrBelow(realPath, target))

const followed = (path: string, realPath: string, linkTargets: readonly string[]) => (isInTargets(realPath, linkTargets) ? realPath : path)

function refuseOpening(path: string, error: unknown): never {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ELOOP' || code === 'ENXIO') {
    throw new OutsideError(`"${path}" is a link or a device, not a regular file. Such links are not followed.`)
  }
  throw error
}

/** `found` is the file at `realPath`: on systems that do not give the path of a descriptor, the two files may have become different. */
function checkOpened(at: {
  root: string
  path: string
  opened: sync.Stats
  roots: readonly string[]
  realPath: string
  found: sync.Stats
}): void {
  const { root, path, opened, roots, realPath, found } = at
  if (!opened.isFile()) throw new OutsideError(`"${path}" is not a regular file.`)
  const isInside = roots.some((one) => isBelow(realPath, one))
  if (!isInside || opened.dev !== found.dev || opened.ino !== found.ino) throw new OutsideError(`"${path}" leads out of "${root}".`)
}

/** Follows links: their target is checked afterwards. A pipe or device in place of a folder is not opened. */
const LINKED_FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK

/** An open folder that is allowed. Paths below `path` belong to this folder, even after another one has taken its place. */
interface InsideFolder {
  path: string
  /** Its path without links. */
  realPath: string
  close(): Promise<void>
}

/**
 * Opens a folder that `isAllowed` accepts. The check uses the path of the open descriptor, not the given path.
 * @throws OutsideError when it is not allowed; the system's error when it cannot be opened
 */
export async function openFolderInside(
  path: string,
  isAllowed: (realPath: string) => boolean,
  descriptors = DESCRIPTORS,
): Promise<InsideFolder> {
  const folder = await open(path, LINKED_FOLDER_FLAGS)
  try {
    const realPath = descriptors ? await readlink(`${descriptors}/${folder.fd}`) : await realpath(path)
    if (!isAllowed(realPath)) throw new OutsideError(`"${path}" leads out of the allowed folders.`)
    return { path: descriptors ? `${descriptors}/${folder.fd}` : realPath, realPath, close: () => folder.close() }
  } catch (error) {
    await folder.close()
    throw error
  }
}

/** An open folder. Paths below `path` belong to this folder, even after another one has taken its place. */
export interface OpenFolder {
  path: string
  /** The number of its device. */
  device: number
  close(): void
}

/**
 * Opens the folder at `realPath`, a path without links.
 * @throws OutsideError when the path contains a link; the system's error when it cannot be opened
 */
export function openFolderSync(realPath: string, descriptors = DESCRIPTORS): OpenFolder {
  const fd = sync.openSync(realPath, FOLDER_FLAGS)
  const close = () => sync.closeSync(fd)
  try {
    const found = descriptors ? sync.readlinkSync(`${descriptors}/${fd}`) : sync.realpathSync.native(realPath)
    if (found !== realPath) throw new OutsideError(`"${realPath}" was replaced by a link.`)
    return { path: descriptors ? `${descriptors}/${fd}` : realPath, device: sync.fstatSync(fd).dev, close }
  } catch (error) {
    close()
    throw error
  }
}
