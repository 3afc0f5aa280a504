import { chmod, readdir, stat } from 'node:fs/promises'
import path from 'node:path'

/** PostgreSQL's own folders: it closes them itself, and its user must reach the programs. */
const FOREIGN = /^(postgres|postgres\.new|run|postgres-programs-.*)$/
/** Covers, pages and exports are three folders deep; nothing of ours is deeper than this. */
const DEPTH_MAX = 8

/**
 * Closes the folders in the data folder to everybody but their owner: an earlier version, or a restored backup, may have left them open.
 * Returns how many were open.
 */
export async function closeFolders(dataFolder: string): Promise<number> {
  let closed = 0
  const walk = async (folder: string, depth: number): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (!entry.isDirectory() || (depth === 0 && FOREIGN.test(entry.name))) continue
      const inner = path.join(folder, entry.name)
      if (((await stat(inner)).mode & 0o077) !== 0) {
        await chmod(inner, 0o700)
        closed++
      }
      if (depth < DEPTH_MAX) await walk(inner, depth + 1)
    }
  }
  await walk(dataFolder, 0)
  return closed
}
