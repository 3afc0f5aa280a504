import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises'

/** A path that led to something else than an ordinary file inside the folder it must lie in. */
export class OutsideError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'OutsideError'
  }
}

/** A pipe never makes us wait for a writer, and a link in the place of the file is not followed. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW

/**
 * Opens an ordinary file for reading that really lies inside `root`. What was opened is asked where it lies, not the path: whoever exchanges a
 * folder for a link in between gains nothing. Links inside the root that stay inside it are fine, as is a root that is a link itself.
 * @throws OutsideError for a link, a device, a pipe, or a file elsewhere; the system's error when it cannot be opened
 */
export async function openInside(root: string, path: string): Promise<FileHandle> {
  const file = await open(path, FLAGS).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ELOOP' || error.code === 'ENXIO') throw new OutsideError(`"${path}" is a link or a device, not a file.`)
    throw error
  })
  try {
    if (!(await file.stat()).isFile()) throw new OutsideError(`"${path}" is not an ordinary file.`)
    const [realRoot, realPath] = await Promise.all([realpath(root), readlink(`/proc/self/fd/${file.fd}`)])
    if (!realPath.startsWith(realRoot === '/' ? '/' : `${realRoot}/`)) throw new OutsideError(`"${path}" leads out of "${root}".`)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
