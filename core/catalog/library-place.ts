import { realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Made by the system: their files are no books, and reading some of them tells secrets or does things. */
const SYSTEM_FOLDERS = ['/proc', '/sys', '/dev']

/**
 * Why a folder must not be a library; null when it may be one. A library is read by many people, so it may not be the server's own data folder,
 * which holds its keys, nor a folder of the system, nor lie in one of them or hold one. Folders are compared by what they are, too: a link or a
 * bind mount of one of them is found by the folders above it.
 * @param path absolute; it must be there
 */
export async function findPlaceProblem(path: string, dataFolder: string): Promise<string | null> {
  const folder = await foldersAbove(path)
  const data = await foldersAbove(dataFolder).catch(() => null)
  if (data && overlaps(folder, data)) {
    return `"${path}" is the data folder of the server (${dataFolder}), holds it or lies in it: its keys and its database must not be in a library.`
  }
  for (const system of SYSTEM_FOLDERS) {
    const found = await foldersAbove(system).catch(() => null)
    if (isAtOrBelow(path, system) || (found && (overlaps(folder, found) || isSameSystem(folder, found)))) {
      return `"${path}" is, holds or lies in ${system}, which belongs to the system and holds no books.`
    }
  }
  return null
}

/** A folder as it really is, and what it and the folders above it are, up to the root: the folder itself first. */
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
  return holds(one, other) || holds(other, one)
}

/** Whether `inner` is `outer` or lies in it, by whatever mounts. */
function holds(outer: Folders, inner: Folders): boolean {
  const [top] = outer.chain
  return inner.chain.some(({ device, inode }) => device === top?.device && inode === top.inode)
}

/** Whether it is part of the same file system, mounted once more; a folder of the system that has none of its own says nothing. */
function isSameSystem(folder: Folders, system: Folders): boolean {
  const device = system.chain[0]?.device
  return device !== system.chain.at(-1)?.device && folder.chain[0]?.device === device
}

const isAtOrBelow = (path: string, folder: string) => path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)
