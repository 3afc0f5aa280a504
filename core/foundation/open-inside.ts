import * as sync from 'node:fs'
import { constants, existsSync } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'

/** A path that led to something else than an ordinary file inside the folder it must lie in. */
export class OutsideError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'OutsideError'
  }
}

/** A pipe never makes us wait for a writer, and a link in the place of the file is not followed. */
const FILE_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** Linux tells there where an open descriptor lies, whatever happens to the path meanwhile. */
const DESCRIPTORS = existsSync('/proc/self/fd') ? '/proc/self/fd' : null

/**
 * Opens an ordinary file for reading that really lies inside `root`. What was opened is asked where it lies, not the path: whoever exchanges a
 * folder for a link in between gains nothing. Links inside the root that stay inside it are fine, as is a root that is a link itself.
 * @throws OutsideError for a link, a device, a pipe, or a file elsewhere; the system's error when it cannot be opened
 */
export async function openInside(root: string, path: string, descriptors = DESCRIPTORS): Promise<FileHandle> {
  const file = await open(path, FILE_FLAGS).catch((error) => refuseOpening(path, error))
  try {
    const opened = await file.stat()
    const [realRoot, realPath] = await Promise.all([realpath(root), descriptors ? readlink(`${descriptors}/${file.fd}`) : realpath(path)])
    checkPlace({ root, path, opened, realRoot, realPath, found: descriptors ? opened : await lstat(realPath) })
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** The same at once, for threads that have nothing else to do; answers the descriptor, which the caller closes. */
export function openInsideSync(root: string, path: string, descriptors = DESCRIPTORS): number {
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
    checkPlace({ root, path, opened, realRoot, realPath, found: descriptors ? opened : sync.lstatSync(realPath) })
    return fd
  } catch (error) {
    sync.closeSync(fd)
    throw error
  }
}

function refuseOpening(path: string, error: unknown): never {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ELOOP' || code === 'ENXIO') {
    throw new OutsideError(`"${path}" is a link or a device, not an ordinary file: links in the place of files are not followed.`)
  }
  throw error
}

/** `found` is what lies at `realPath`: where the system does not say where a descriptor lies, the two may have become different files. */
function checkPlace(at: { root: string; path: string; opened: sync.Stats; realRoot: string; realPath: string; found: sync.Stats }): void {
  const { root, path, opened, realRoot, realPath, found } = at
  if (!opened.isFile()) throw new OutsideError(`"${path}" is not an ordinary file.`)
  const isInside = realPath.startsWith(realRoot === '/' ? '/' : `${realRoot}/`)
  if (!isInside || opened.dev !== found.dev || opened.ino !== found.ino) throw new OutsideError(`"${path}" leads out of "${root}".`)
}

/** Follows links: where they lead to is looked at afterwards. A pipe or device in the place of a folder is not opened. */
const LINKED_FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK

/** A folder that lies where it may. What is read by way of `path` belongs to it, even when another one has taken its place. */
export interface InsideFolder {
  path: string
  /** Where it really lies. */
  realPath: string
  close(): Promise<void>
}

/**
 * Opens a folder that `isAllowed` lets be looked at. What was opened is asked where it lies, not the path.
 * @throws OutsideError where it is not allowed; the system's error when it cannot be opened
 */
export async function openFolderInside(
  path: string,
  isAllowed: (realPath: string) => boolean,
  descriptors = DESCRIPTORS,
): Promise<InsideFolder> {
  const folder = await open(path, LINKED_FOLDER_FLAGS)
  try {
    const realPath = descriptors ? await readlink(`${descriptors}/${folder.fd}`) : await realpath(path)
    if (!isAllowed(realPath)) throw new OutsideError(`"${path}" leads out of the folders that may be looked at.`)
    return { path: descriptors ? `${descriptors}/${folder.fd}` : realPath, realPath, close: () => folder.close() }
  } catch (error) {
    await folder.close()
    throw error
  }
}

/** An open folder. What is read by way of `path` belongs to it, even when another one has taken its place. */
export interface OpenFolder {
  path: string
  close(): void
}

/**
 * Opens the folder that really lies at `realPath`, a path without links.
 * @throws OutsideError when a link leads there or elsewhere; the system's error when it cannot be opened
 */
export function openFolderSync(realPath: string, descriptors = DESCRIPTORS): OpenFolder {
  const fd = sync.openSync(realPath, FOLDER_FLAGS)
  const close = () => sync.closeSync(fd)
  try {
    const found = descriptors ? sync.readlinkSync(`${descriptors}/${fd}`) : sync.realpathSync.native(realPath)
    if (found !== realPath) throw new OutsideError(`"${realPath}" was exchanged for a link.`)
    return { path: descriptors ? `${descriptors}/${fd}` : realPath, close }
  } catch (error) {
    close()
    throw error
  }
}
