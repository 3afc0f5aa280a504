import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'

/**
 * Makes a folder, and those above it that are missing, each by one call: where nothing can be made, as in /proc, the `recursive` of Node tries
 * again for ever.
 * @param mode of the folder itself; those above it are ordinary ones
 * @throws what the file system says; ENOTDIR where a file is in the way
 */
export async function makeFolders(folder: string, mode: number): Promise<void> {
  const missing: string[] = []
  // The root is always there.
  for (let at = path.resolve(folder); await isMissing(at); at = path.dirname(at)) missing.push(at)
  for (const each of missing.reverse())
    await mkdir(each, each === missing.at(-1) ? { mode } : {}).catch((cause: NodeJS.ErrnoException) => {
      // Somebody else was faster.
      if (cause.code !== 'EEXIST') throw cause
    })
}

async function isMissing(folder: string): Promise<boolean> {
  try {
    if ((await stat(folder)).isDirectory()) return false
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return true
    throw cause
  }
  throw Object.assign(new Error(`${folder} is not a folder`), { code: 'ENOTDIR' })
}
