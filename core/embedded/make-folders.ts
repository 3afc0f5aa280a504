import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'

/**
 * Creates a folder and its missing parents, each with one call: where nothing can be created, as in /proc, the `recursive` option of Node retries
 * forever.
 * @param mode of the folder itself; parents get the default mode
 * @throws the file system's error; ENOTDIR when a file is in the way
 */
export async function makeFolders(folder: string, mode: number): Promise<void> {
  const missing: string[] = []
  // The root always exists.
  for (let at = path.resolve(folder); await isMissing(at); at = path.dirname(at)) missing.push(at)
  for (const each of missing.reverse())
    await mkdir(each, each === missing.at(-1) ? { mode } : {}).catch((cause: NodeJS.ErrnoException) => {
      // Another process was faster.
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
