import { opendir, stat } from 'node:fs/promises'
import { findFolderProblem } from '#core/catalog/library-folder.ts'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { FinalFailure } from '#core/tasks/task.ts'

/** The identity of a folder, independent of its name. */
export const rootKey = ({ dev, ino }: { dev: number; ino: number }): string => `${dev}:${ino}`

/** @throws FinalFailure also when the folder must not be a library, or no longer may be */
export async function checkPlacedRoot(path: string, dataFolder: string): Promise<{ dev: number; ino: number }> {
  const looking = askDisk(path, async () => ({ facts: await checkRoot(path), problem: await findFolderProblem(path, dataFolder) }))
  const { facts, problem } = await looking.catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ETIMEDOUT' ? new FinalFailure(`${error.message} Nothing was changed.`, { cause: error }) : error
  })
  if (problem) throw new FinalFailure(`${problem} Nothing was changed.`)
  return facts
}

/** @throws FinalFailure when there is no readable folder */
async function checkRoot(path: string): Promise<{ dev: number; ino: number }> {
  try {
    const facts = await stat(path)
    if (!facts.isDirectory()) throw new FinalFailure(`"${path}" is a file, not a folder. Nothing was changed.`)
    await (await opendir(path)).close()
    return facts
  } catch (error) {
    if (error instanceof FinalFailure) throw error
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'does not exist' : code === 'EACCES' ? 'may not be read by the server' : `cannot be read (${code})`
    throw new FinalFailure(`"${path}" ${reason}. Is its disk mounted, and are its permissions correct? Nothing was changed.`, {
      cause: error,
    })
  }
}
