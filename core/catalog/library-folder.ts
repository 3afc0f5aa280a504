import { realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { askDisk } from '#core/foundation/disk-calls.ts'
import { isAtOrBelow } from '#core/foundation/open-inside.ts'

/** System folders: their files are not books, and reading some of them reveals secrets or has side effects. */
const SYSTEM_FOLDERS = ['/proc', '/sys', '/dev']

/**
 * Why a folder must not be a library; null when it may be one. Many users read a library, so it may not be the server's own data folder,
 * which contains its keys, nor a system folder, nor be inside one or contain one. Folders are also compared by identity: a link or a
 * bind mount of one of them is recognized by its parent folders.
 * @param path absolute; it must exist
 */
export async function findFolderProblem(path: string, dataFolder: string): Promise<string | null> {
  const folder = await foldersAbove(path)
  const data = await foldersAbove(dataFolder).catch(() => null)
  if (data && overlaps(folder, data)) {
    return `"${path}" is the data folder of the server (${dataFolder}), contains it or is inside it: its keys and its database must not be in a library.`
  }
  for (const system of SYSTEM_FOLDERS) {
    const found = await foldersAbove(system).catch(() => null)
    if (isAtOrBelow(path, system) || (found && (overlaps(folder, found) || isSameSystem(folder, found)))) {
      return `"${path}" is, contains or is inside ${system}, which belongs to the system and has no books.`
    }
  }
  return null
}

/** The real path of a folder, and the identity of the folder and its parents, up to the root: the folder itself first. */
interface Folders {
  realPath: string
  chain: { device: bigint; inode: bigint }[]
}

async function foldersAbove(path: string): Promise<Folders> {
  const realPath = await realpath(path)
  const chain: Folders['chain'] = []
  for (let at = realPath; ; at = dirname(at)) {
    const { dev, ino } = await stat(at, { bigint: true })
    chain.push({ device: dev, inode: ino })
    if (at === '/') return { realPath, chain }
  }
}

function overlaps(one: Folders, other: Folders): boolean {
  if (isAtOrBelow(one.realPath, other.realPath) || isAtOrBelow(other.realPath, one.realPath)) return true
  return contains(one, other) || contains(other, one)
}

/** Whether `inner` is `outer` or is inside it, through any mounts. */
function contains(outer: Folders, inner: Folders): boolean {
  const [top] = outer.chain
  return inner.chain.some(({ device, inode }) => device === top?.device && inode === top.inode)
}

/** Whether the folder is on the file system of the system folder, mounted again; only if that has a file system of its own. */
function isSameSystem(folder: Folders, system: Folders): boolean {
  const device = system.chain[0]?.device
  return device !== system.chain.at(-1)?.device && folder.chain[0]?.device === device
}

/** The path of a library without links; as it is given while its disk is missing or does not answer. */
export const realLibraryPath = (path: string): Promise<string> => askDisk(path, () => realpath(path)).catch(() => path)

/** Folder of a file relative to the library's root, '' for the root itself. */
export function folderOf(root: string, path: string): string {
  const relative = path.slice(root.length + 1)
  const slash = relative.lastIndexOf('/')
  return slash === -1 ? '' : relative.slice(0, slash)
}

/** Ends the path of a missing book whose place another one has: two rows never have one path, and no file of a book ends like that. */
export const missingSuffix = (bookId: string): string => ` (missing ${bookId})`
